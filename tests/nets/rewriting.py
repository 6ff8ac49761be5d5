"""Changing a bundle's files together with their hashes, as somebody could who knows how they are made."""

import json

from safetensors.torch import load_file, save_file

from donkey_aicc.files import sha256_of
from donkey_aicc.nets.manifest import Manifest


def edit_manifest(folder, **values):
    path = folder / "manifest.json"
    stored = json.loads(path.read_text()) | values
    path.write_text(json.dumps(stored | {"meaning": Manifest(**stored).fingerprint}))


def rewrite_weights(folder, file, change):
    path = folder / file
    weights = load_file(path)
    change(weights)
    save_file(weights, path)
    files = json.loads((folder / "manifest.json").read_text())["files"]
    files[file] |= {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    edit_manifest(folder, files=files)
