"""Other predictors on the drives of an experiment: three small nets together, and one that sees the past (docs/evaluation.md).

They cost as much as the net of the bundle (the ensemble) or a fifth more (history). Only their predictions are kept.
"""

from collections.abc import Mapping

import numpy as np

from donkey_aicc.calibration.base import sigmoid
from donkey_aicc.calibration.calibrating import calibration_drives
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import LAGS, NO_HISTORY
from donkey_aicc.training.exact_resume import derived_seed
from donkey_aicc.training.presets import preset_named
from donkey_aicc.tubs.drive import Drive
from studies.experiment_stages import Experiment, load, split_by_side, without_warm_up
from studies.predictor_kinds import trained_logits
from studies.predictor_rows import CALIBRATION, ENSEMBLE, HISTORY, TEST, Predictions

MEMBERS = 3
SMALL = (8, 16, 32, 144)  # channels: three such nets take as many multiplications as one of the bundle


def train_other_nets(experiment: Experiment) -> None:
    """Train both and keep what they say about every frame that was scored; what is there already is kept."""
    path = experiment.layout.other_nets
    if path.exists() or not experiment.preset.other_nets:
        return
    bundle = Bundle.load(experiment.layout.bundle)
    drives = _scored_drives(experiment, bundle)
    frames = [drive for part in drives.values() for drive in part]
    size = experiment.preset
    settings = preset_named(size.training_preset, (*size.training, *experiment.overrides))[0].safety
    split = split_by_side(load(experiment, bundle, experiment.layout.nominal))

    def probabilities(name: str, lags: tuple[int, ...], seed: int, **width: tuple[int, ...]) -> np.ndarray:
        work = experiment.layout.out / "other_nets" / name
        return sigmoid(trained_logits(split, frames, lags, work, settings, seed, **width))

    small = [
        probabilities(
            f"small_{number}", NO_HISTORY, derived_seed(experiment.model_seed, "ensemble", number) % 2**31, channels=SMALL
        )
        for number in range(MEMBERS)
    ]
    said = {ENSEMBLE: np.mean(small, axis=0), HISTORY: probabilities("history", LAGS, experiment.model_seed)}
    ends = np.cumsum([sum(map(len, part)) for part in drives.values()])[:-1]
    columns = {
        f"{kind}/{name}": piece.astype(np.float32)
        for kind, p in said.items()
        for name, piece in zip(drives, np.split(p, ends), strict=True)
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **columns)  # type: ignore[arg-type]


def _scored_drives(experiment: Experiment, bundle: Bundle) -> dict[str, list[Drive]]:
    """Table -> its drives, in the order in which they were scored."""
    nominal = load(experiment, bundle, experiment.layout.nominal)
    found = {name: calibration_drives(bundle, nominal, name) for name in (CALIBRATION, TEST)}
    for protocol in experiment.preset.runs:
        found[protocol] = without_warm_up(load(experiment, bundle, experiment.layout.protocol(protocol)), bundle)
    return found


def read_other_nets(experiment: Experiment, rows: Mapping[str, np.ndarray | slice]) -> dict[str, Predictions]:
    """Predictor -> table -> (N, K); rows: table -> which of the scored rows are wanted. Empty where none was trained."""
    path = experiment.layout.other_nets
    if not path.exists():
        return {}
    with np.load(path) as stored:
        return {kind: {name: stored[f"{kind}/{name}"][chosen] for name, chosen in rows.items()} for kind in (ENSEMBLE, HISTORY)}
