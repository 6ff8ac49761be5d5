"""docs/real_car_study.md from the study's results: no number there is typed by hand."""

import io
from pathlib import Path
from typing import Any

from PIL import Image

from donkey_aicc.evaluation.collect import OOD_MEAN
from donkey_aicc.evaluation.methods_and_conditions import methods
from donkey_aicc.files import write_atomic
from studies.real_car.natural_shift import ROWS
from studies.real_car.plan import SHIFTS

OPENING = """# A real car: the study

Made by `python -m studies real-car` (size `{size}`, predictor `{predictor}`) from its `report/real_car.json`.
Data: {data}. {source}

Scores: {samples} dropout samples, a rollout of {rollout_steps} frames every {rollout_every}, {views} views.

For your own car: `python -m studies real-car --data TUB --labels labels.csv --out run --page run/page.md`. A run that was
stopped goes on. Further tubs (`--another-day`, `--another-track` or `--another-room`, each with TUB or TUB,LABELS.csv) can be
added to a finished run, and only they are scored then. A tub that cannot be used is named with the reason.

The nets are trained on one part of the drives. Everything below is measured on other drives of the same recording, or on
other tubs. Intervals are 95 % and come from resampling whole drives.
"""
OPEN_LOOP = """Dark and Blur change the recorded camera files. Bias and Latency change only the recorded commands. All of this is
**open loop**: the car did not feel the fault, so its path, its labels, and under a command fault its pictures are those of the
nominal drive. So it is harder to detect Bias and Latency here than on the road, and their ECE shows what a needless
alarm costs.
"""
NAMES = {True: "met", False: "**missed**", None: "unknown"}
OTHER_RATE = 1.25
LARGEST_PICTURE, COLOURS = (800, 800), 96
SHOWN_PICTURES = {
    "reconstruction.png": "Validation frames and what the world model makes of them",
    "rollout.png": "Rollouts of the dynamics net beside the real frames",
}


def write_page(path: Path, results: dict[str, Any], report: Path, source: str = "") -> None:
    """The page, and the small pictures in a folder of its name beside it."""
    pictures = [name for name in SHOWN_PICTURES if (report / name).exists()]
    folder = path.with_suffix("")
    for name in pictures:
        folder.mkdir(parents=True, exist_ok=True)
        _copy_small(report / name, folder / name)
    write_atomic(path, page(results, [f"{folder.name}/{name}" for name in pictures], source))


def _copy_small(picture: Path, target: Path) -> None:
    """Frames of somebody else's recording: only small figures of them go into the docs."""
    with Image.open(picture) as image:
        small = image.convert("RGB")
    small.thumbnail(LARGEST_PICTURE)
    coded = io.BytesIO()
    small.quantize(COLOURS).save(coded, "PNG", optimize=True)
    write_atomic(target, coded.getvalue())


def page(results: dict[str, Any], pictures: list[str], source: str = "") -> str:
    about = results["about"]
    named = {"size": about["size"], "predictor": about["predictor"], "data": ", ".join(about["data"])}
    said = f"Source of the recording and of the pictures: {source}." if source else ""
    parts = [OPENING.format(**named, **results["scoring"], source=said), _goals(results), _training(results)]
    parts += [f"![{SHOWN_PICTURES[Path(name).name]}]({name})\n" for name in pictures]
    parts += [_predictors(results), _detection(results), _severity(results), _maximum(results), _calibration(results)]
    return "\n".join([*parts, _shifts(results)]).rstrip() + "\n"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]) + "\n"


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _with_interval(cell: dict[str, Any]) -> str:
    bounds = "" if cell.get("low") is None else f" [{cell['low']:.3f}, {cell['high']:.3f}]"
    return _number(cell.get("value")) + bounds


def _goals(results: dict[str, Any]) -> str:
    rows = [[goal["text"], goal["wanted"], goal["measured"], NAMES[goal["met"]]] for goal in results["goals"]]
    return "## Goals\n\n" + _table(["Goal", "wanted", "measured", ""], rows)


def _training(results: dict[str, Any]) -> str:
    training = results["training"]
    frames, split = training["data"].get("frames", {}), training["data"].get("split", {})
    counts = ", ".join(f"{side} {count}" for side, count in frames.items())
    gate = training["gate"]
    said = "passed" if gate.get("passed") else f"failed ({gate.get('reason', 'not measured')})"
    mse = training["metrics"]["test"]["vae_mse"]
    few = results["calibration_drives"]["note"]
    promise = f"{few[:1].upper()}{few[1:]}." if few else ""
    return (
        f"## Training\n\nFrames: {counts}; split by {split.get('mode', 'session')}. "
        f"Reconstruction error on test drives {mse:.4f}. The dynamics gate {said}. {promise}\n"
    )


def _predictors(results: dict[str, Any]) -> str:
    found = results["predictors"]
    rows = []
    for horizon, row in found["horizons"].items():
        gain = row["gain"]
        bounds = "–" if gain["low"] is None else f"[{gain['low']:+.3f}, {gain['high']:+.3f}]"
        rows.append(
            [horizon, _with_interval(row["direct"]), _with_interval(row["history"]), bounds, _number(row["present"]["value"])]
        )
    head = (
        f"## The safety predictor\n\nAUROC on {found['drives']} held-out drives ({found['frames']} frames). The last column "
        "shows how well the true label of the present frame alone predicts the later one. [The log](../studies/log.md) says "
        "what we tried for ten frames ahead, and why it stays hard.\n\n"
    )
    return head + _table(["k", "one frame", "with history", "gain, 95 %", "present known"], rows)


def _detection(results: dict[str, Any]) -> str:
    faults = results["faults"]
    rows = [[label, *(_with_interval(faults[fault][name]) for fault in faults)] for name, label in ROWS.items()]
    heads = ["Score", *(fault.capitalize() for fault in faults)]
    return f"## Faults on held-out drives\n\n{OPEN_LOOP}\nOOD AUROC, all severities together:\n\n" + _table(heads, rows)


def _severity(results: dict[str, Any]) -> str:
    found = results["by_severity"]
    severities = sorted({severity for row in found.values() for severity in row}, key=int)
    rows = [[fault.capitalize(), *(_number(row.get(s, {}).get("value")) for s in severities)] for fault, row in found.items()]
    return "Two-sided log rho by severity:\n\n" + _table(["Fault", *severities], rows)


def _maximum(results: dict[str, Any]) -> str:
    """Nominal and shifted frames side by side: a score at its maximum says all it can."""
    columns = {"nominal": results["nominal"]["at_maximum"]}
    columns |= {name: found["at_maximum"] for name, found in results["shifts"].items() if "at_maximum" in found}
    names = list(columns["nominal"])
    rows = [[name, *(f"{100 * column[name]:.1f} %" if name in column else "–" for column in columns.values())] for name in names]
    return "## Frames at a score's maximum\n\n" + _table(["Score", *columns], rows)


def _calibration(results: dict[str, Any]) -> str:
    found = results["evaluation"]
    conditions = ["nominal", *results["faults"]]
    said = "ECE, mean over the horizons; over all faults also smooth ECE and NLL; controls at the end."
    return f"## Calibration\n\n{_to_correct(results)}{said}\n\n" + _rows_of(found, conditions, OOD_MEAN)


def _rows_of(found: dict[str, Any], conditions: list[str], together: str) -> str:
    """A row per method: ECE under each condition, and three measures of `together`."""
    rows = []
    for name, method in methods().items():
        cells = found["calibration"].get(name, {})
        if "ece" not in cells:
            continue
        bounds = found["intervals"].get(name, {}).get("ood_ece", {})
        shown = "–" if bounds.get("low") is None else f"[{bounds['low']:.3f}, {bounds['high']:.3f}]"
        shared = [_spread(cells.get(measure, {}).get(together, {})) for measure in ("ece", "smooth_ece", "nll")]
        rows.append([method.label, *(_spread(cells["ece"].get(each, {})) for each in conditions), shared[0], shown, *shared[1:]])
    heads = [name.replace("_", " ").capitalize() for name in conditions]
    return _table(["Method", *heads, "ECE", "95 %", "Smooth ECE", "NLL"], rows)


def _spread(cell: dict[str, Any]) -> str:
    return _number(cell.get("mean", cell.get("value")))


def _to_correct(results: dict[str, Any]) -> str:
    """A fault that does not hurt the predictor leaves a calibrator nothing to gain."""
    found = results["evaluation"]
    areas, data = found.get("base_predictor", {}), found.get("data", {})
    rows = [
        [name.capitalize(), _number(areas.get(name, {}).get("mean", {}).get("value")), _number(data[name]["safe_percent"], 1)]
        for name in ("calibration", "nominal", *results["faults"])
        if name in data
    ]
    said = "How far each fault hurts the predictor (AUROC, mean over the horizons), and how many frames are safe:"
    return f"{said}\n\n" + _table(["", "AUROC", "safe, %"], rows) + "\n" if rows else ""


def _shifts(results: dict[str, Any]) -> str:
    if not results["shifts"]:
        return "## Natural shift\n\nNo further tub was given.\n"
    parts = ["## Natural shift\n\nOOD AUROC of each score against nominal held-out frames:\n", *_not_given(results["shifts"])]
    known = {name: found for name, found in results["shifts"].items() if "auroc" in found}
    parts += [f"{name}: {found['reason']}\n" for name, found in results["shifts"].items() if name not in known]
    if known:
        rows = [[label, *(_with_interval(found["auroc"][name]) for found in known.values())] for name, label in ROWS.items()]
        counted = [f"{name} ({found['drives']} drives, {found['frames']} frames)" for name, found in known.items()]
        parts.append(_table(["Score", *counted], rows))
        parts += _other_rates(results["nominal"].get("rate_hz"), known)
        parts.append("How sure each method is there (mean of max(p, 1 - p)):\n")
        labels = methods()
        said = {name: [_sure(f["confidence"][name]) for f in known.values()] for name in next(iter(known.values()))["confidence"]}
        parts.append(_table(["Method", *known], [[labels[name].label, *cells] for name, cells in said.items()]))
    for name, found in known.items():
        if found.get("evaluation"):
            parts.append(f"{name} with its own labels, as a protocol of its own:\n")
            parts.append(_rows_of(found["evaluation"], ["nominal"], name))
    return "\n".join(parts)


def _not_given(shifts: dict[str, Any]) -> list[str]:
    missing = [kind.replace("_", " ") for kind in SHIFTS if not any(name.startswith(kind) for name in shifts)]
    return [f"No tub of {' or '.join(missing)} was given.\n"] if missing else []


def _other_rates(nominal_hz: float | None, known: dict[str, Any]) -> list[str]:
    """A tub at another rate is odd for that alone: the car moves further from frame to frame."""
    rates = {name: found.get("rate_hz") for name, found in known.items()}
    return [
        f"{name} was recorded at {rate:.1f} Hz and the nominal drives at {nominal_hz:.1f} Hz; the scores see that, too.\n"
        for name, rate in rates.items()
        if rate and nominal_hz and not 1 / OTHER_RATE < rate / nominal_hz < OTHER_RATE
    ]


def _sure(cell: dict[str, Any]) -> str:
    return _number(cell.get("mean_top_confidence"))
