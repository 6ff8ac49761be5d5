"""The goals that were set before the study, each beside what was measured."""

from dataclasses import asdict, dataclass
from typing import Any

from donkey_aicc.evaluation.collect import OOD_MEAN
from donkey_aicc.evaluation.methods_and_conditions import METHODS

NEW = "aicc_r"  # restored view and hindsight
SHIFT_GOALS = {"another_track": 0.9, "another_room": 0.99}
NOMINAL_ECE = 0.05


@dataclass(frozen=True)
class Goal:
    """`met` is None where nothing could be measured."""

    text: str
    wanted: str
    measured: str
    met: bool | None


def judge(results: dict[str, Any]) -> list[dict[str, Any]]:
    goals = [_severities(results, protocol) for protocol in ("dark", "blur")]
    goals += [_shift(name, found) for name, found in results["shifts"].items() if _kind(name) in SHIFT_GOALS]
    goals += [_maximum(results), _predictor(results, 5, 0.90), _predictor(results, 10, 0.75)]
    goals.append(_calibrated("over all faults", results["evaluation"], OOD_MEAN))
    for name, found in results["shifts"].items():
        if found.get("evaluation"):
            goals.append(_calibrated(f"on {name.replace('_', ' ', 1)}", found["evaluation"], name))
    return [asdict(goal) for goal in goals]


def _severities(results: dict[str, Any], protocol: str) -> Goal:
    cells = {s: cell for s, cell in results["by_severity"].get(protocol, {}).items() if int(s) >= 2}
    known = {s: cell["value"] for s, cell in cells.items() if cell["value"] is not None}
    text = f"OOD AUROC of two-sided rho under {protocol.capitalize()}, severity 2 and more"
    said = ", ".join(f"{s}: {value:.3f}" for s, value in known.items()) or "not scored"
    return Goal(text, "at least .95", said, min(known.values()) >= 0.95 if known else None)


def _kind(name: str) -> str:
    return "_".join(name.split("_")[:2])


def _shift(name: str, found: dict[str, Any]) -> Goal:
    wanted = SHIFT_GOALS[_kind(name)]
    text = f"OOD AUROC of two-sided rho on {name.replace('_', ' ', 1).replace('_', ': ', 1)}"
    if "auroc" not in found:
        return Goal(text, f"at least {wanted}", found["reason"], None)
    cell = found["auroc"]["log_rho"]
    return Goal(text, f"at least {wanted}", _bounded(cell), None if cell["value"] is None else cell["value"] >= wanted)


def _maximum(results: dict[str, Any]) -> Goal:
    shares = results["nominal"]["at_maximum"]
    worst = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items() if share > 0.05) or "no score above 5 %"
    any_own = shares["any of our own"]
    text = "Nominal held-out frames with any of our own scores at its maximum"
    return Goal(text, "at most 5 %", f"{100 * any_own:.1f} % ({worst})", any_own <= 0.05)


def _predictor(results: dict[str, Any], horizon: int, wanted: float) -> Goal:
    cell = results["predictors"]["horizons"][str(horizon)][results["about"]["predictor"]]
    text = f"AUROC of the safety predictor on held-out drives at k = {horizon}"
    return Goal(text, f"at least {wanted:.2f}", _bounded(cell), None if cell["value"] is None else cell["value"] >= wanted)


def _calibrated(where: str, evaluation: dict[str, Any], condition: str) -> Goal:
    """The new method below every other row that needs no labels while driving, and calibrated without a fault."""
    rows = {
        name: (_cell(row, condition), _cell(row, "nominal"))
        for name, row in evaluation["calibration"].items()
        if name in METHODS and METHODS[name].group not in ("control", "labelled")
    }
    known = {name: value for name, (value, _) in rows.items() if value is not None}
    text, wanted = f"ECE of {METHODS[NEW].label} {where}", f"below every other row, nominal at most {NOMINAL_ECE}"
    others = {name: value for name, value in known.items() if name != NEW}
    mine, nominal = rows.get(NEW, (None, None))
    if mine is None or nominal is None or not others:
        return Goal(text, wanted, "not measured", None)
    best = min(others, key=lambda name: others[name])
    measured = f"{mine:.3f}, nominal {nominal:.3f}; the best other row is {METHODS[best].label} with {others[best]:.3f}"
    return Goal(text, wanted, measured, mine < others[best] and nominal <= NOMINAL_ECE)


def _cell(row: dict[str, Any], condition: str) -> float | None:
    cell = row.get("ece", {}).get(condition, {})
    found = cell.get("mean", cell.get("value"))
    return None if found is None else float(found)


def _bounded(cell: dict[str, Any]) -> str:
    if cell["value"] is None:
        return str(cell.get("reason", "not measured"))
    interval = "" if cell["low"] is None else f" [{cell['low']:.3f}, {cell['high']:.3f}]"
    return f"{cell['value']:.3f}{interval}"
