"""A bundle for the owner's safety predictor: the world model of another bundle, and that predictor by its name."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import OWN, WEIGHT_FILES, write_manifest
from donkey_aicc.nets.own_predictor import own_predictor


def use_predictor(bundle: str | Path, name: str, out: str | Path) -> Path:
    """Make a bundle in which the registered predictor `name` answers instead of ours; calibrate it before it drives.

    Score, calibrate, evaluate, replay and drive it like any bundle, wherever the predictor is registered (AICC_PLUGINS). On
    other computers it is refused. `donkey-aicc train TUBS --predictor NAME` does the same behind the training of a world model.

    Args:
        bundle: folder of the bundle that gives the world model; it stays as it is unless `out` is the same.
        name: of a predictor that `register_predictor` was told.
        out: folder to write, new or empty. Returns it.

    Example:
        >>> from donkey_aicc import register_predictor, use_predictor
        >>> register_predictor("half", lambda frames, steering: np.full((len(frames), 2), 0.5), horizons=(5, 20))
        >>> use_predictor(reference, "half", folder / "half").name
        'half'
    """
    source, folder, own = Bundle.load(bundle), Path(out), own_predictor(name)
    same = folder.exists() and folder.samefile(source.path)
    if not same and folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise AiccError(f"{folder} exists already; choose another folder for the bundle, or empty it first")
    files = {WEIGHT_FILES[net]: source.manifest.files[WEIGHT_FILES[net]] for net in ("vae", "dynamics")}
    about = {"name": name, **own.about_probes()}
    made = replace(
        source.manifest,
        predictor=OWN,
        own=about,
        horizons=list(own.horizons),
        lags=list(own.lags),
        files=files,
        metrics={},
    )
    if same:
        source.calibrator_path.unlink(missing_ok=True)  # of the predictor before
    else:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(source.path / file, folder / file)
            os.chmod(folder / file, 0o644)
    write_manifest(folder, made)  # last: without it there is no bundle
    return folder
