"""What `studies restored` has left below results/restored, as sections of the results page: one table per experiment."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from donkey_aicc.evaluation.methods_and_conditions import NOMINAL
from studies.restored_rows import FIRST

FOLDER = "restored"
INTRODUCTION = """## The restored view and hindsight

AICC-R ([what it is](calibrators.md#aicc-r)) beside every other row on the same frames, fitted once on all calibration drives;
intervals over whole drives. `python -m studies restored` makes these tables; the size of the experiment stands above each.
The idea was found on `loop`, on drives of other seeds; only the other tracks are new to it. [The log](../studies/log.md) says
which of them were not run.

"""


def read_restored(folder: Path) -> list[dict[str, Any]]:
    """Of all experiments that left one, the reference track first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / FOLDER).glob("*.json"))]
    return sorted(found, key=lambda one: (one["about"]["track"] != "loop", one["about"]["track"], one["about"]["model_seed"]))


def restored_section(folder: Path) -> str:
    """Markdown; '' without an experiment."""
    found = read_restored(folder)
    return INTRODUCTION + "\n".join(experiment_table(one) for one in found) if found else ""


def experiment_table(found: Mapping[str, Any]) -> str:
    """Methods by ECE under faults, then what the predictor sees, then the goals."""
    about, rows = found["about"], found["rows"]
    protocols = [name for name in found["sees"] if name != NOMINAL]
    lines = [f"### {about['track']}, model seed {about['model_seed']}, size {about['preset']}\n"]
    titles = [*(f"ECE {name}" for name in protocols), "mean ECE (95 %)", "nominal ECE", "mean NLL", "nominal NLL"]
    lines.append("| Method | " + " | ".join(titles) + " | ECE above AICC-R (95 %) |")
    lines.append("|---" * (len(titles) + 2) + "|")
    for name in sorted(rows, key=lambda name: rows[name]["ece"]["ood_mean"]["value"]):
        lines.append(_line(rows[name], protocols, strong=name == FIRST))
    lines += ["", "| What the predictor sees (AUROC, k = 5) | " + " | ".join(found["sees"]) + " |"]
    lines.append("|---" * (len(found["sees"]) + 1) + "|")
    for what in ("plain", "restored"):
        lines.append(f"| {what} | " + " | ".join(_number(one[what]["value"]) for one in found["sees"].values()) + " |")
    lines.append("| share of the restored view | " + " | ".join(_number(one["share"]) for one in found["sees"].values()) + " |")
    lines += ["", "| Goal | measured | |", "|---|---|---|"]
    lines += [
        f"| {one['goal']} | {one['measured']} | {'reached' if one['reached'] else '**missed**'} |" for one in found["goals"]
    ]
    return "\n".join(lines) + "\n"


def _line(row: Mapping[str, Any], protocols: list[str], strong: bool) -> str:
    low, high = (row["intervals"]["ood_ece"][bound] for bound in ("low", "high"))
    cells = [_number(row["ece"][name]["value"]) for name in protocols]
    cells.append(f"{_number(row['ece']['ood_mean']['value'])} ({_number(low)} to {_number(high)})")
    cells += [
        _number(row["ece"][NOMINAL]["value"]),
        _number(row["nll"]["ood_mean"]["value"]),
        _number(row["nll"][NOMINAL]["value"]),
    ]
    gain = row.get("gain", {}).get("ood_ece")
    above = "" if gain is None or gain["low"] is None else f"{-gain['high']:+.3f} to {-gain['low']:+.3f}"
    label = row["label"].replace("|", "\\|")
    return "| " + " | ".join([f"**{label}**" if strong else label, *cells, above]) + " |"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
