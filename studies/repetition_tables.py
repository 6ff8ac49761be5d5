"""Tables of several experiments side by side, from repetitions.json alone, and which goals each of them meets."""

from collections.abc import Callable
from typing import Any

from donkey_aicc.calibration.catalogue import BASELINES, OURS
from donkey_aicc.evaluation.methods import HEATED_TO_OURS, HEATED_TO_PLUS, METHODS, PLUS
from donkey_aicc.evaluation.tables import Column, Row, Table, Value
from studies.repetitions import REPETITIONS, SCORES_KEPT, SEEDS, TRACKS, run_label

_SHOWN = ("temperature", "dac", OURS, HEATED_TO_OURS, PLUS, HEATED_TO_PLUS, "uniform_shift")
_SPREAD_LABELS = {SEEDS: "Mean ± std over model seeds", TRACKS: "Mean ± std over tracks"}
_SCORE_LABELS = {
    "rho": "rho",
    "rho_two_sided": "|rho|",
    "delta": "delta",
    "rho_delta": "rho + delta",
    "latent": "latent distance",
}

Run = dict[str, Any]
# Met or not, and the number that says by how much; None where a number is missing.
Judgement = tuple[bool, str] | None


def repetition_tables(collected: dict[str, Any]) -> list[Table]:
    """Calibration errors, detection, goals, and how safe the drives were."""
    return [_ece_table(collected), _auroc_table(collected), _goal_table(collected), _safety_table(collected)]


def _ece_table(collected: dict[str, Any]) -> Table:
    columns = [Column("frames", "OOD drives / frames", text=True)]
    for name in _SHOWN:
        columns += [Column(f"{name}_ood", METHODS[name].label), Column(f"{name}_nominal", "nominal")]
    rows = []
    for run in collected["runs"]:
        ood = [name for name in run["frames"] if name != "nominal"]
        count = f"{sum(run['drives'][name] for name in ood)} / {sum(run['frames'][name] for name in ood)}"
        rows.append(Row(run_label(run), {"frames": Value(text=count)} | _eces(run["ece"])))
    for name, spread in collected["spreads"].items():
        rows.append(Row(_SPREAD_LABELS[name], _spread_eces(spread["ece"]), "Spreads"))
    note = (
        "Mean OOD ECE and, beside it, nominal ECE. In brackets: 95 % over whole drives drawn anew. "
        + " ".join(f"{_SPREAD_LABELS[name]}: {'; '.join(spread['runs'])}." for name, spread in collected["spreads"].items())
        + " A run 'driven on' another track uses the models, the calibration and the tau of its own."
    )
    return Table(REPETITIONS, "Repetitions: other model seeds and other tracks", columns, rows, note, "Run")


def _eces(ece: dict[str, Any]) -> dict[str, Value]:
    values = {}
    for name in _SHOWN:
        one = ece[name]
        values[f"{name}_nominal"] = Value(one["nominal"])
        values[f"{name}_ood"] = Value(one["ood"])
        if name in (OURS, PLUS) and one["ood"] is not None and one["low"] is not None:
            values[f"{name}_ood"] = Value(text=f"{one['ood']:.3f} ({one['low']:.3f} to {one['high']:.3f})")
    return values


def _spread_eces(ece: dict[str, Any]) -> dict[str, Value]:
    return {
        f"{name}_{side}": Value(ece[name][side]["mean"], ece[name][side]["std"]) for name in _SHOWN for side in ("ood", "nominal")
    }


def _auroc_table(collected: dict[str, Any]) -> Table:
    columns = [Column("predictor", "Predictor, nominal")] + [Column(name, _SCORE_LABELS[name]) for name in SCORES_KEPT]
    rows = []
    for run in collected["runs"]:
        values = {name: Value(run["auroc"][name]["ood_mean"]) for name in SCORES_KEPT}
        rows.append(Row(run_label(run), {"predictor": Value(run["predictor_auroc"]["nominal"])} | values))
    for name, spread in collected["spreads"].items():
        cells = {score: spread["auroc"][score] for score in SCORES_KEPT} | {"predictor": spread["predictor_auroc"]}
        values = {key: Value(cell["mean"], cell["std"]) for key, cell in cells.items()}
        rows.append(Row(_SPREAD_LABELS[name], values, "Spreads"))
    note = (
        "Predictor: AUROC of safe against unsafe, mean over horizons. Scores: AUROC of OOD against nominal frames, mean over "
        "protocols."
    )
    return Table("repetitions_auroc", "Repetitions: prediction and detection", columns, rows, note, "Run")


def _goal_table(collected: dict[str, Any]) -> Table:
    columns = [Column(name, label, text=True) for name, (label, _) in GOALS.items()]
    rows = []
    for run in collected["runs"]:
        judged = {name: judge(run) for name, (_, judge) in GOALS.items()}
        rows.append(Row(run_label(run), {name: Value(text=_said(judgement)) for name, judgement in judged.items()}))
    return Table("repetitions_goals", "Goals, run by run", columns, rows, "Computed from the tables above.", "Run")


def _safety_table(collected: dict[str, Any]) -> Table:
    """AICC+ presumes that half of the nominal share is left under a fault: here is what was left."""
    protocols = [name for name in collected["runs"][0]["safe_percent"] if name != "nominal"]
    columns = [Column("nominal", "Nominal, %", 0)] + [Column(name, f"{name.capitalize()}, %", 0) for name in protocols]
    columns += [Column("left", "share left, mean", 2), Column("gain", "AICC+ below the paper's method, %", 0)]
    rows = []
    for run in collected["runs"]:
        safe = run["safe_percent"]
        shares = [safe[name] / safe["nominal"] for name in protocols if safe[name] is not None and safe["nominal"]]
        left = sum(shares) / len(shares) if shares else None
        values = {name: Value(safe[name]) for name in ("nominal", *protocols)}
        rows.append(Row(run_label(run), values | {"left": Value(left), "gain": Value(_below(run, PLUS, OURS))}))
    note = (
        "Share of frames on which the car is safe. AICC+ presumes that a fault leaves half of the nominal share; where it leaves "
        "clearly more, the presumption costs instead of gaining."
    )
    return Table("repetitions_safety", "How safe the cars were, and what AICC+ gained", columns, rows, note, "Run")


def _said(judgement: Judgement) -> str:
    if judgement is None:
        return "unknown"
    return f"{'met' if judgement[0] else 'missed'} ({judgement[1]})"


def _below(run: Run, method: str, reference: str) -> float | None:
    mine, other = run["ece"][method]["ood"], run["ece"][reference]["ood"]
    return None if mine is None or not other else 100.0 * (1.0 - mine / other)


def _gain_of_ours(run: Run) -> Judgement:
    gain = _below(run, OURS, "temperature")
    return None if gain is None else (gain >= 37.0, f"{gain:.0f} %")


def _ece_of_ours(run: Run) -> Judgement:
    ece = run["ece"][OURS]["ood"]
    return None if ece is None else (ece <= 0.116, f"{ece:.3f}")


def _nominal_of_ours(run: Run) -> Judgement:
    ece = run["ece"][OURS]["nominal"]
    return None if ece is None else (ece <= 0.05, f"{ece:.3f}")


def _no_better_baseline(run: Run) -> Judgement:
    ours = run["ece"][OURS]["ood"]
    fair = {n: run["ece"][n]["ood"] for n in BASELINES if (run["ece"][n]["nominal"] or 1.0) <= 0.06 and run["ece"][n]["ood"]}
    if ours is None or not fair:
        return None
    best = min(fair, key=lambda name: fair[name])
    return ours <= fair[best], f"{METHODS[best].label} {fair[best]:.3f}"


def _detects(run: Run) -> Judgement:
    known = [value for value in (run["auroc"][name]["ood_mean"] for name in ("rho", "rho_two_sided")) if value is not None]
    return (max(known) >= 0.83, f"{max(known):.3f}") if known else None


def _fused_on_bias(run: Run) -> Judgement:
    fused, rho = (run["auroc"][name].get("bias") for name in ("rho_delta", "rho"))
    return None if fused is None or rho is None else (fused >= rho, f"{fused:.3f} and {rho:.3f}")


def _gain_of_plus(run: Run) -> Judgement:
    gain = _below(run, PLUS, OURS)
    return None if gain is None else (gain >= 20.0, f"{gain:.0f} %")


def _plus_below_heating(run: Run) -> Judgement:
    gain = _below(run, PLUS, HEATED_TO_PLUS)
    return None if gain is None else (gain > 0.0, f"{gain:.0f} %")


GOALS: dict[str, tuple[str, Callable[[Run], Judgement]]] = {
    "gain": ("Paper's method 37 % below temperature scaling", _gain_of_ours),
    "ece": ("OOD ECE at most 0.116", _ece_of_ours),
    "nominal": ("nominal ECE at most 0.05", _nominal_of_ours),
    "baselines": ("no baseline with nominal ECE up to 0.06 is better", _no_better_baseline),
    "detects": ("rho or |rho| at least 0.83", _detects),
    "bias": ("fused at least rho on Bias", _fused_on_bias),
    "plus": ("AICC+ 20 % below the paper's method", _gain_of_plus),
    "plus_heating": ("AICC+ below uniform heating", _plus_below_heating),
}
