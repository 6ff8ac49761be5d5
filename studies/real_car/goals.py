"""The goals that were set before the study, each beside what was measured."""

from dataclasses import asdict, dataclass
from typing import Any

OWN_METHODS = ("tta_rho_delta", "tta_log_rho", "tta_log_rho_delta")
SHIFT_GOALS = {"another_track": 0.9, "another_room": 0.99}
NOMINAL_ECE = 0.06


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
    goals += [_maximum(results), _predictor(results, 5, 0.92), _predictor(results, 10, 0.80)]
    return [asdict(goal) for goal in [*goals, _calibrated(results)]]


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


def _calibrated(results: dict[str, Any]) -> Goal:
    """A method of ours that is below temperature scaling under both faults and calibrated without one."""
    table = results["evaluation"]["calibration"]
    said, good = [], []
    plain = _ece(table["temperature"])
    for name in OWN_METHODS:
        if name not in table:
            continue
        mine = _ece(table[name])
        if None in (*mine.values(), *plain.values()):
            continue
        said.append(f"{name} {mine['nominal']:.3f} / {mine['dark']:.3f} / {mine['blur']:.3f}")
        good.append(mine["nominal"] <= NOMINAL_ECE and all(mine[fault] < plain[fault] for fault in ("dark", "blur")))
    shown = " / ".join("-" if plain[name] is None else f"{plain[name]:.3f}" for name in ("nominal", "dark", "blur"))
    measured = f"nominal / Dark / Blur: temperature {shown}; " + "; ".join(said) + _margin(results)
    text = "ECE of a method of ours below temperature scaling under Dark and Blur"
    return Goal(text, f"with a nominal ECE of at most {NOMINAL_ECE}", measured, any(good) if good else None)


def _margin(results: dict[str, Any]) -> str:
    """Whether the default method's gain under all faults can be told from nothing."""
    cell = results["evaluation"]["intervals"].get("temperature", {}).get("ood_ece_minus_ours", {})
    if cell.get("low") is None:
        return ""
    verdict = "" if cell["low"] > 0 or cell["high"] < 0 else ", so the gain cannot be told from none"
    return f". Over all faults temperature minus tta_rho_delta is {cell['low']:+.3f} to {cell['high']:+.3f} (95 %){verdict}"


def _ece(row: dict[str, Any]) -> dict[str, Any]:
    cells = row.get("ece", {})
    return {
        name: cells[name].get("mean", cells[name].get("value")) if name in cells else None for name in ("nominal", "dark", "blur")
    }


def _bounded(cell: dict[str, Any]) -> str:
    if cell["value"] is None:
        return str(cell.get("reason", "not measured"))
    interval = "" if cell["low"] is None else f" [{cell['low']:.3f}, {cell['high']:.3f}]"
    return f"{cell['value']:.3f}{interval}"
