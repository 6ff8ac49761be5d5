"""Changing a bundle's weights together with their hash, as whoever made the file could."""

import json

from safetensors.torch import load_file, save_file

from donkey_aicc.files import sha256_of


def rewrite_weights(folder, file, change):
    path = folder / file
    weights = load_file(path)
    change(weights)
    save_file(weights, path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][file] |= {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    (folder / "manifest.json").write_text(json.dumps(manifest))
