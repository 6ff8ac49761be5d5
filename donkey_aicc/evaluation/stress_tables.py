"""Tables about what the claims depend on: the share of safe frames, and what an oracle would still get wrong."""

from typing import Any

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.methods import GROUPS, PLUS
from donkey_aicc.evaluation.tables import LOWER, Column, Row, Table, Value

ORACLES = {
    "as_calibrated": "Ours, as calibrated",
    "knows_share": "Oracle: knows the share of safe frames",
    "recalibrated": "Oracle: recalibrated on the protocol itself",
}


def safe_share_table(results: dict[str, Any]) -> Table:
    """Mean OOD ECE and NLL of every method under other shares of safe frames."""
    stored = results.get("safe_share", {})
    settings = stored.get("settings", {})
    columns = [
        Column(f"{setting}_{metric}", f"{metric.upper()}: {label}", better=LOWER)
        for metric in ("ece", "nll")
        for setting, label in settings.items()
    ]
    columns += [
        Column(f"{setting}_{metric}_gain", f"{metric.upper()} below ours, {setting.replace('_', ' ')}: 95 %", text=True)
        for setting in ("as_driven", "worst")
        for metric in ("ece", "nll")
        if setting in settings
    ]
    rows = []
    for name, by_setting in stored.get("methods", {}).items():
        method = results["settings"]["methods"][name]
        values = {}
        for setting, one in by_setting.items():
            for metric in ("ece", "nll"):
                values[f"{setting}_{metric}"] = Value(one[metric], reason="undefined")
                values[f"{setting}_{metric}_gain"] = Value(text=bounds_text(one.get(f"{metric}_below_ours")))
        rows.append(Row(method["label"], values, GROUPS[method["group"]], strong=name in (OURS, PLUS, "aicc_robust")))
    note = (
        "The same predictions; the frames of each protocol are weighted so that the stated share of them is safe. A method that "
        "is good as driven and bad elsewhere has guessed the base rate of these drives."
    )
    return Table("safe_share", "If other shares of the frames were safe", columns, rows, note)


def bounds_text(bounds: dict[str, Any] | None) -> str:
    """A 95 % interval of a difference."""
    return "–" if not bounds or bounds["low"] is None else f"{bounds['low']:+.3f} to {bounds['high']:+.3f}"


def bounds_table(results: dict[str, Any]) -> Table:
    """What knowing the base rate, or everything but the picture, would gain."""
    stored = results.get("bounds", {})
    protocols = [*results["settings"]["protocols"], "mean"]
    columns = [Column(f"{p}_{m}", f"{p.capitalize()}: {m.upper()}") for m in ("ece", "nll") for p in protocols]
    rows = []
    for name, label in ORACLES.items():
        by_protocol = stored.get(name, {})
        values = {f"{p}_{m}": Value(by_protocol.get(p, {}).get(m), reason="undefined") for p in protocols for m in ("ece", "nll")}
        rows.append(Row(label, values, ranked=False))
    note = stored.get("reason", "") or (
        "The first oracle moves all confidences of a protocol by one step in log odds per horizon: what it gains is the price of "
        "the unknown base rate. The second is fitted on the labels it is judged by: the NLL that is left is discrimination lost."
    )
    return Table("bounds", "How much nobody could know", columns, rows, note, first="Who")
