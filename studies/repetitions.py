"""Several experiments side by side: other model seeds, other tracks, the bundle of one track on another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.calibration.catalogue import BASELINES, OURS
from donkey_aicc.evaluation.cells import number_of, rounded
from donkey_aicc.evaluation.methods import HEATED_TO_OURS, HEATED_TO_PLUS, PLUS, SHIFTED_TO_PLUS
from donkey_aicc.files import read_json

REPETITIONS = "repetitions"
METHODS_KEPT = (*BASELINES, OURS, "aicc_plus_heat", PLUS, HEATED_TO_OURS, HEATED_TO_PLUS, SHIFTED_TO_PLUS)
SCORES_KEPT = ("rho", "rho_two_sided", "delta", "rho_delta", "latent")
SEEDS, TRACKS = "seeds", "tracks"


def collect_runs(results: Sequence[dict[str, Any]], earlier: dict[str, Any] | None = None) -> dict[str, Any]:
    """The numbers that are compared over runs, and their means and spreads over model seeds and over tracks.

    earlier: what this returned before; its runs stay, in their places, unless `results` has the same run again.
    """
    by_run = {run_label(run): run for run in (earlier or {}).get("runs", [])}
    by_run |= {run_label(run): run for run in map(_run, results)}
    runs = list(by_run.values())
    groups = {SEEDS: _same_track_runs(runs), TRACKS: _one_run_per_track(runs)}
    return {"runs": runs, "spreads": {name: _spread(chosen) for name, chosen in groups.items() if len(chosen) > 1}}


def read_repetitions(folder: str | Path) -> dict[str, Any] | None:
    """repetitions.json of that folder; None where there is none."""
    path = Path(folder) / f"{REPETITIONS}.json"
    return read_json(path, "make it with: python -m studies repetitions EXP...") if path.exists() else None


def run_label(run: dict[str, Any]) -> str:
    """Track and model seed; for a transfer both tracks."""
    about = run["about"]
    where = f"{about['track']}, model seed {about['model_seed']}, {about['preset']}"
    return f"{where}, driven on {about['drives']['track']}" if "drives" in about else where


def _run(results: dict[str, Any]) -> dict[str, Any]:
    calibration, detection = results["calibration"], results["ood_detection"]
    methods = {}
    for name in METHODS_KEPT:
        row = calibration.get(name, {}).get("ece", {})
        interval = results["intervals"].get(name, {}).get("ood_ece", {})
        methods[name] = {
            "ood": number_of(row.get("ood_mean")),
            "nominal": number_of(row.get("nominal")),
            "low": interval.get("low"),
            "high": interval.get("high"),
        }
    protocols = results["settings"]["protocols"]
    return {
        "about": results["about"],
        "frames": {name: results["data"][name]["frames"] for name in ("nominal", *protocols)},
        "drives": {name: results["data"][name]["sequences"] for name in ("nominal", *protocols)},
        "safe_percent": {name: results["data"][name]["safe_percent"] for name in ("nominal", *protocols)},
        "predictor_auroc": {name: number_of(results["base_predictor"][name]["mean"]) for name in ("nominal", *protocols)},
        "ece": methods,
        "auroc": {name: {c: number_of(detection[name].get(c)) for c in ("ood_mean", *protocols)} for name in SCORES_KEPT},
        "plus_gain": results["intervals"].get(OURS, {}).get("ood_ece_minus_plus"),
    }


def _same_track_runs(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first run of every model seed, on the track that has most of them; transfers are not repetitions."""
    tracks: dict[str, dict[int, dict[str, Any]]] = {}
    for run in runs:
        if "drives" not in run["about"]:
            tracks.setdefault(run["about"]["track"], {}).setdefault(run["about"]["model_seed"], run)
    return list(max(tracks.values(), key=len).values()) if tracks else []


def _one_run_per_track(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first run of every track, of the size that has most tracks."""
    sizes: dict[str, dict[str, dict[str, Any]]] = {}
    for run in runs:
        if "drives" not in run["about"]:
            sizes.setdefault(run["about"]["preset"], {}).setdefault(run["about"]["track"], run)
    return list(max(sizes.values(), key=len).values()) if sizes else []


def _spread(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "runs": [run_label(run) for run in runs],
        "ece": {
            name: {side: _mean_std([run["ece"][name][side] for run in runs]) for side in ("ood", "nominal")}
            for name in METHODS_KEPT
        },
        "auroc": {name: _mean_std([run["auroc"][name]["ood_mean"] for run in runs]) for name in SCORES_KEPT},
        "predictor_auroc": _mean_std([run["predictor_auroc"]["nominal"] for run in runs]),
    }


def _mean_std(values: Sequence[float | None]) -> dict[str, float | None]:
    known = np.array([value for value in values if value is not None])
    if len(known) < 2:
        return {"mean": rounded(float(known.mean())) if len(known) else None, "std": None}
    return {"mean": rounded(float(known.mean())), "std": rounded(float(known.std(ddof=1)))}
