"""The two kinds of safety predictor on the same drives: AUROC per horizon on held-out ones, with intervals over drives."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.resampling import DriveDraws, DriveWins
from donkey_aicc.evaluation.tables import interval_cell
from donkey_aicc.files import read_json, write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import SAFETY_CHANNELS, SafetyCNN
from donkey_aicc.nets.manifest import CONTEXT
from donkey_aicc.nets.preprocess import LAGS, NO_HISTORY, ActionStats, input_channels
from donkey_aicc.nets.trained_nets import load_nets
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.training.exact_resume import derived_seed
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.pipeline import data_fingerprint
from donkey_aicc.training.presets import NetSettings
from donkey_aicc.training.train_camera_nets import Past, SafetyTask, pool_labels, safety_logits
from donkey_aicc.training.trainer import TrainingRun, fit
from donkey_aicc.training.warnings_and_pictures import require_labels
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.split_units import choose_method
from donkey_aicc.tubs.splits import Split, carve_validation, split_sequences

PRESENT = "present"
KINDS = {"direct": NO_HISTORY, "history": LAGS}
DRAWS = 1000
RESULT = "predictors.json"


def compare_predictors(
    drives: Sequence[Drive],
    out: Path,
    settings: NetSettings,
    seed: int = 0,
    trained: Bundle | None = None,
    another_day: Sequence[Drive] = (),
) -> dict[str, Any]:
    """Train both kinds on the same share of the drives and judge them on calibration and test drives; resumable.

    trained: a bundle of these drives and settings, whose predictor is taken as the one of its kind. another_day: they are judged
    on these, too.
    """
    if (out / RESULT).exists():
        return read_json(out / RESULT, f"remove {out} and run again")
    split = split_sequences(drives, seed, method=choose_method(drives, context=CONTEXT))
    held_out = [*split.calibration, *split.test]
    judged = [*held_out, *another_day]
    if trained is not None and trained.manifest.split["test"] != [drive.id for drive in split.test]:
        raise AiccError(f"bundle {trained.path} was trained on another split than seed {seed} makes; compare without it")
    own = None if trained is None else load_nets(trained).safety
    logits = {}
    for kind, lags in KINDS.items():
        if own is not None and trained is not None and trained.lags == lags:
            past = Past(lags, trained.action_stats)
            logits[kind] = safety_logits(own, FramePool(judged), torch.device("cpu"), past).numpy()
        else:
            logits[kind] = trained_logits(split, judged, lags, out / kind, settings, seed)
    labels = pool_labels(FramePool(judged), HORIZONS).numpy()
    # Why long horizons are hard: what somebody who knows whether the car is safe now, and no more, can say of later.
    logits[PRESENT] = np.repeat(np.concatenate([drive.safe for drive in judged])[:, None], len(HORIZONS), axis=1)
    owner = np.repeat(np.arange(len(judged)), [len(drive) for drive in judged])
    here = owner < len(held_out)
    results = {
        **_judged(logits, labels, owner, here, seed),
        "training_frames": sum(len(drive) for drive in split.train),
        "settings": asdict(settings),
    }
    if another_day:
        results["another_day"] = _judged(logits, labels, owner, ~here, seed)
    write_json(out / RESULT, results)
    return results


def trained_logits(
    split: Split,
    held_out: list[Drive],
    lags: tuple[int, ...],
    work: Path,
    settings: NetSettings,
    seed: int,
    channels: tuple[int, ...] = SAFETY_CHANNELS,
) -> np.ndarray:
    """(N, K) of the held-out frames by a net trained on the split's training share."""
    train, validation, _ = carve_validation(split.train, seed, method=split.method)
    require_labels(train)
    device = torch.device("cpu")
    torch.manual_seed(derived_seed(seed, "weights") % 2**32)
    past = Past(lags, ActionStats.fit(np.concatenate([drive.actions for drive in train])))
    net = SafetyCNN(len(HORIZONS), channels, input_channels(lags))
    task = SafetyTask(net, FramePool(train), FramePool(validation), HORIZONS, settings, device, past)
    work.mkdir(parents=True, exist_ok=True)
    made_with = {"data": data_fingerprint(train), "seed": seed, "lags": list(lags), **asdict(settings)}
    fit(task, TrainingRun(work, seed, device, resume=True, made_with=made_with))
    return safety_logits(net, FramePool(held_out), device, past).numpy()


def _judged(logits: dict[str, np.ndarray], labels: np.ndarray, owner: np.ndarray, rows: np.ndarray, seed: int) -> dict[str, Any]:
    """What both kinds are worth on some of the rows."""
    own, labels = {kind: values[rows] for kind, values in logits.items()}, labels[rows]
    owner = np.unique(owner[rows], return_inverse=True)[1]
    horizons = {str(k): _at_horizon(own, labels, owner, column, seed) for column, k in enumerate(HORIZONS)}
    return {"drives": int(owner.max()) + 1, "frames": len(labels), "horizons": horizons}


def _at_horizon(logits: dict[str, np.ndarray], labels: np.ndarray, owner: np.ndarray, column: int, seed: int) -> dict[str, Any]:
    """AUROC of each kind with its interval, and of the paired difference history - direct."""
    drives, known = int(owner.max()) + 1, np.isfinite(labels[:, column])
    known &= np.isfinite(logits[PRESENT][:, column])
    safe, unsafe = known & (labels[:, column] == 1), known & (labels[:, column] == 0)
    counts = DriveDraws.make(drives, drives, DRAWS, seed).positive
    draws = DriveDraws(counts, counts)  # a drawn drive brings both its safe and its unsafe frames
    found, drawn = {}, {}
    for kind, values in logits.items():
        score = values[:, column]
        wins = DriveWins.count(score[safe], owner[safe], score[unsafe], owner[unsafe], (drives, drives))
        drawn[kind] = draws.auroc(wins)
        area = wins.auroc()
        found[kind] = {"value": round(area, 4) if np.isfinite(area) else None, **interval_cell(drawn[kind], drives)}
    gain = drawn["history"] - drawn["direct"]
    return found | {"gain": interval_cell(gain, drives)}


def describe_kinds(results: dict[str, Any]) -> list[str]:
    """Lines for a terminal."""
    lines = _described(results, "held-out")
    return lines + _described(results["another_day"], "another day's") if "another_day" in results else lines


def _described(results: dict[str, Any], what: str) -> list[str]:
    lines = [f"{results['drives']} {what} drives, {results['frames']} frames; AUROC [95 % over drives]"]
    for horizon, row in results["horizons"].items():
        cells = [f"{kind} {_said(row[kind])}" for kind in KINDS]
        lines.append(f"  k = {horizon:>2}: " + ", ".join(cells) + f", gain {_bounds(row['gain'])}")
    return lines


def _said(cell: dict[str, Any]) -> str:
    return "undefined" if cell["value"] is None else f"{cell['value']:.3f} {_bounds(cell)}"


def _bounds(cell: dict[str, Any]) -> str:
    return f"({cell['reason']})" if cell["low"] is None else f"[{cell['low']:.3f}, {cell['high']:.3f}]"
