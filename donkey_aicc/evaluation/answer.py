"""The answer first: one sentence and four numbers, for a reader who reads nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.collect import OOD_MEAN
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL
from donkey_aicc.evaluation.tables import number_of

UNKNOWN = "–"


@dataclass(frozen=True)
class Figure:
    """One of the four numbers: what it is, and how to read it."""

    shown: str
    name: str
    reading: str


def sentence(results: Mapping[str, Any]) -> str:
    """What the calibrated confidence is worth here, in points of a hundred."""
    ours, raw = (_ece(results, name, OOD_MEAN) for name in (OURS, "none"))
    faults = _listed(results["settings"]["protocols"])
    if ours is None or raw is None:
        return f"There are too few usable frames under {faults} to say how far the confidence can be trusted."
    said = f"Under {faults} the calibrated confidence is off by {_points(ours)} of 100 on average, "
    said += f"the raw prediction by {_points(raw)}{': here calibration made it worse' if ours > raw else ''}"
    nominal = _ece(results, OURS, NOMINAL)
    return said + ("." if nominal is None else f"; on nominal drives it is off by {_points(nominal)}.")


def four_numbers(results: Mapping[str, Any]) -> tuple[Figure, Figure, Figure, Figure]:
    predictor = number_of(results["base_predictor"][NOMINAL]["mean"])
    raw, raw_nominal = (_ece(results, "none", condition) for condition in (OOD_MEAN, NOMINAL))
    return (
        Figure(
            _text(_ece(results, OURS, OOD_MEAN)), "error of the confidence under faults", f"ECE, 0 is best; raw: {_text(raw)}"
        ),
        Figure(_text(_ece(results, OURS, NOMINAL)), "error on nominal drives", f"ECE, 0 is best; raw: {_text(raw_nominal)}"),
        Figure(
            _text(predictor), "how well safe and unsafe are told apart", "AUROC on nominal drives; 0.5 is guessing, 1 is best"
        ),
        _warned(results),
    )


def _warned(results: Mapping[str, Any]) -> Figure:
    """Departures that the alarm announced; without an alarm, how well the scores see the faults."""
    rows = results.get("alarm", {}).get("conditions", {})
    departures, announced = (sum(row[key] for row in rows.values()) for key in ("departures", "announced"))
    if departures:
        return Figure(f"{announced} of {departures}", "departures announced by the alarm", "in the five seconds before")
    seen = number_of(results["ood_detection"]["rho_delta"][OOD_MEAN])
    return Figure(_text(seen), "how well the scores see the faults", "AUROC of rho and delta; 0.5 is guessing, 1 is best")


def _ece(results: Mapping[str, Any], method: str, condition: str) -> float | None:
    return number_of(results["calibration"][method]["ece"].get(condition))


def _text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _points(value: float) -> str:
    count = round(100 * value)
    return f"{count} point{'' if count == 1 else 's'}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
