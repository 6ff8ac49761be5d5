"""Tables over all runs: claims, errors of the main methods, predictors, how safe the cars were, what oracles would gain."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.tables import LOWER, Column, Row, Table, Value, number_of
from studies.all_runs import Runs
from studies.claims import judged, verdict
from studies.judged_rows import TITLES
from studies.oracle_bounds import ORACLES

MAIN_ROWS = (
    *("none", "temperature", "ets", "venn_abers", "dac", "dac_authors", "dac_fitted", OURS, "tta_log_rho_delta", "light"),
    *("uniform_heating", "pooled_temperature", "base_rate", "online"),
)
_HORIZONS = ("5", "15", "30", "50")


def run_tables(runs: Runs, tracks: Runs) -> list[Table]:
    """tracks: one run of each track."""
    return [
        claim_table(runs),
        main_table(tracks),
        every_run_table(runs),
        predictor_baselines(runs),
        safety_table(runs),
        oracle_table(tracks),
    ]


def claim_table(runs: Runs) -> Table:
    """Every claim with its gain in every run."""
    columns = [Column(name, name, text=True) for name in runs]
    rows = [
        Row(claim.text, {name: Value(text=str(gain)) for name, gain in gains.items()}, claim.group)
        for claim, gains in judged(runs)
    ]
    note = "Gain and its 95 % interval over whole drives drawn anew; above zero speaks for the claim."
    return Table("claims", "Claims, run by run", columns, rows, note, "Claim")


def main_table(tracks: Runs) -> Table:
    """Means over tracks, one run each."""
    columns = [Column("ood_ece", "ECE under faults", better=LOWER), Column("range", "smallest to largest", text=True)]
    columns += [Column("nominal_ece", "nominal", better=LOWER)]
    for metric in ("nll", "brier"):
        columns += [
            Column(f"ood_{metric}", f"{TITLES[metric]} under faults", better=LOWER),
            Column(f"nominal_{metric}", "nominal", better=LOWER),
        ]
    columns += [Column(f"worst_{m}", f"worst-share {TITLES[m]}", better=LOWER) for m in ("ece", "nll")]
    rows, stressed = [], {run: results for run, results in tracks.items() if _worst(OURS, "ece")(results) is not None}
    for name in MAIN_ROWS:
        eces = _over(tracks, _calibration(name, "ece", "ood_mean"))
        values = {"range": Value(text=f"{min(eces):.3f} to {max(eces):.3f}" if eces else "–")}
        for metric in ("ece", "nll", "brier"):
            values[f"ood_{metric}"] = _mean_value(tracks, _calibration(name, metric, "ood_mean"))
            values[f"nominal_{metric}"] = _mean_value(tracks, _calibration(name, metric, "nominal"))
        for metric in ("ece", "nll"):
            values[f"worst_{metric}"] = _mean_value(stressed, _worst(name, metric))
        label = next(iter(tracks.values()))["calibration"][name]["label"]
        rows.append(Row(label, values, strong=name == OURS, ranked=name not in ("base_rate", "online")))
    note = (
        f"Means over the tracks ({len(tracks)}). Worst share: the frames of each protocol are weighted so that from 0.2 to 0.8 "
        "of them are safe, at the share that is worst for the method. Online needs labels while driving and does not compete."
    )
    if len(stressed) < len(tracks):
        missing = ", ".join(run for run in tracks if run not in stressed)
        note += f" Worst share without {missing}: there a protocol has, at every horizon, only safe or only unsafe frames."
    return Table("main", "Main methods, means over tracks", columns, rows, note, "Method")


def every_run_table(runs: Runs) -> Table:
    """ECE, NLL and Brier under faults and on nominal drives, for the methods that matter most."""
    chosen = ("temperature", "dac_authors", OURS)
    columns = [Column("drives", "OOD drives / frames", text=True)]
    for name in chosen:
        columns += [
            Column(f"{name}_{m}", f"{name}: {TITLES[m]} under faults / nominal", text=True) for m in ("ece", "nll", "brier")
        ]
    rows = []
    for run, results in runs.items():
        protocols = results["settings"]["protocols"]
        counts = [sum(results["data"][p][key] for p in protocols) for key in ("sequences", "frames")]
        values = {"drives": Value(text=f"{counts[0]} / {counts[1]}")}
        for name in chosen:
            for metric in ("ece", "nll", "brier"):
                pair = [_calibration(name, metric, where)(results) for where in ("ood_mean", "nominal")]
                values[f"{name}_{metric}"] = Value(text=" / ".join("–" if one is None else f"{one:.3f}" for one in pair))
        rows.append(Row(run, values))
    return Table("runs", "Every run", columns, rows, "Horizon averages; mean over the four protocols.", "Run")


def seed_table(runs: Runs) -> Table:
    """ECE under faults with every model seed, on the tracks that have several: how much is the luck of one training."""
    by_track: dict[str, list[dict[str, Any]]] = {}
    for results in runs.values():
        by_track.setdefault(results["about"]["track"], []).append(results)
    several = {track: found for track, found in by_track.items() if len(found) > 1}
    columns = [
        Column(f"{track}_{metric}", f"{track}: {TITLES[metric]}", text=True) for track in several for metric in ("ece", "nll")
    ]
    rows = []
    for name in ("temperature", "dac_authors", OURS, "uniform_heating"):
        values = {}
        for track, found in several.items():
            for metric in ("ece", "nll"):
                each = [_calibration(name, metric, "ood_mean")(results) for results in found]
                values[f"{track}_{metric}"] = Value(text=" / ".join("–" if one is None else f"{one:.3f}" for one in each))
        rows.append(Row(next(iter(runs.values()))["calibration"][name]["label"], values, strong=name == OURS))
    seeds = {track: [str(results["about"]["model_seed"]) for results in found] for track, found in several.items()}
    said = "; ".join(f"{track}: {', '.join(found)}" for track, found in seeds.items())
    note = f"Under faults, one number per model seed ({said}) on the same drives."
    return Table("seeds", "The same drives, other model seeds", columns, rows, note, "Method")


def predictor_baselines(runs: Runs) -> Table:
    """Nominal AUROC of the net, of the place alone and of present |cte|."""
    kinds = {"direct": "net", "place": "place alone", "present": "present |cte|"}
    columns = [Column(f"{kind}_{k}", f"{label}, k = {k}") for kind, label in kinds.items() for k in _HORIZONS]
    rows = []
    for run, results in runs.items():
        found = results.get("predictors", {})
        values = {
            f"{kind}_{k}": Value(found[kind]["auroc"]["nominal"].get(k, {}).get("value"))
            for kind in kinds
            if kind in found
            for k in _HORIZONS
        }
        rows.append(Row(run, values))
    note = "AUROC of safe against unsafe on nominal test drives. The paper's net: 0.986, 0.966, 0.898 and 0.897."
    return Table("predictor_baselines", "Does the predictor foresee more than the place?", columns, rows, note, "Run")


def safety_table(runs: Runs) -> Table:
    """Share of safe frames, by which faults that leave the car safer and less safe can be told."""
    protocols = next(iter(runs.values()))["settings"]["protocols"]
    columns = [Column(name, f"{name.capitalize()}, %", text=True) for name in ("nominal", *protocols)]
    rows = [
        Row(run, {name: Value(text=_safe_shares(results["data"][name])) for name in ("nominal", *protocols)})
        for run, results in runs.items()
    ]
    note = "Share of frames that are safe: all severities together, in brackets severity 1 to 5 one by one."
    return Table("safety", "How safe the cars were", columns, rows, note, "Run")


def _safe_shares(data: dict[str, Any]) -> str:
    """Over all severities, then one by one where there are several and the run has stored them."""
    one_by_one = data.get("safe_percent_by_severity", {})
    shares = " / ".join("–" if share is None else f"{share:.0f}" for share in one_by_one.values())
    return f"{data['safe_percent']:.0f}" + (f" ({shares})" if len(one_by_one) > 1 else "")


def oracle_table(tracks: Runs) -> Table:
    """Mean over protocols and tracks."""
    columns = [Column("ece", "ECE under faults"), Column("nll", "NLL under faults")]
    rows = []
    for name, label in ORACLES.items():
        values = {}
        for metric in ("ece", "nll"):
            values[metric] = _mean_value(tracks, _oracle(name, metric))
        rows.append(Row(label, values, ranked=False))
    note = (
        "The first oracle is told the share of safe frames of each protocol; the second is fitted on the protocol's own labels. "
        "What the first gains is the price of the unknown base rate; what the second still has of NLL is lost discrimination."
    )
    return Table("oracles", "What oracles would gain, means over tracks", columns, rows, note, "Who")


def verdicts(tracks: Runs) -> dict[str, list[str]]:
    """Group -> one line per claim: how often it holds, and the median gain."""
    found: dict[str, list[str]] = {}
    for claim, gains in judged(tracks):
        middle = float(np.median([gain.value for gain in gains.values()]))
        if len(gains) == 1:
            ((name, gain),) = gains.items()
            said = f"{verdict(gains)} (only {name}): {gain}"
        else:
            lows, highs = min(gain.low for gain in gains.values()), max(gain.high for gain in gains.values())
            said = f"{verdict(gains)} tracks: median {middle:+.3f}, all intervals within {lows:+.3f} to {highs:+.3f}"
        found.setdefault(claim.group, []).append(f"{claim.text}: **{said.split(':', 1)[0]}**:{said.split(':', 1)[1]}")
    return found


def _calibration(name: str, metric: str, condition: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda results: number_of(results["calibration"].get(name, {}).get(metric, {}).get(condition))


def _oracle(name: str, metric: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda results: results["bounds"].get(name, {}).get("mean", {}).get(metric)


def _worst(name: str, metric: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda results: results["safe_share"]["methods"].get(name, {}).get("worst", {}).get(metric)


def _over(runs: Runs, number: Callable[[dict[str, Any]], float | None]) -> Sequence[float]:
    return [value for value in map(number, runs.values()) if value is not None]


def _mean_value(runs: Runs, number: Callable[[dict[str, Any]], float | None]) -> Value:
    values = _over(runs, number)
    return Value(float(np.mean(values)) if len(values) == len(runs) else None)
