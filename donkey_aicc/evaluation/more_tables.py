"""The smaller tables of the report: tests, frontier, weights, monotonicity, early warning and lambda."""

from typing import Any

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.calibration.heating import W_MAX
from donkey_aicc.evaluation.beside import NOBODY, Beside
from donkey_aicc.evaluation.methods import PLUS
from donkey_aicc.evaluation.tables import HIGHER, LOWER, Column, Row, Table, Value

Results = dict[str, Any]


def wilcoxon_table(results: Results, beside: Beside = NOBODY) -> Table:
    """Signed-rank tests, with the resampled difference that does not pretend splits were experiments."""
    columns = [
        Column("mean_difference", "ECE difference"),
        Column("p", "p", digits=4),
        Column("p_paper", beside.label, paper=True, text=True),
        Column("pairs", "Pairs", 0),
        Column("interval", "95 % interval, drives resampled", text=True),
    ]
    rows = []
    for reference, tests in results["wilcoxon"].items():
        suffix = "ours" if reference == OURS else "plus"
        group = f"against {results['calibration'][reference]['label']}"
        for name, test in tests.items():
            bounds = results["intervals"].get(name, {}).get(f"ood_ece_minus_{suffix}")
            values = {
                "mean_difference": Value(test["mean_difference"], reason=test.get("reason", "")),
                "p": Value(test["p"], reason=test.get("reason", "")),
                "p_paper": Value(text=beside.wilcoxon.get(name, "") if reference == OURS else ""),
                "pairs": Value(test["pairs"]),
                "interval": Value(
                    text="–" if not bounds or bounds["low"] is None else f"{bounds['low']:+.3f} to {bounds['high']:+.3f}"
                ),
            }
            rows.append(Row(results["calibration"][name]["label"], values, group))
    note = (
        "A positive difference means the row has a higher OOD ECE. The Wilcoxon pairs (protocols x splits) share "
        "their test drives, "
        "so p looks better than it is; an interval that excludes 0 is the stricter evidence."
    )
    return Table("wilcoxon", "Is the difference real?", columns, rows, note)


def frontier_table(results: Results) -> Table:
    """What each score reaches at the nominal price of ours."""
    columns = [Column("at_ours", "at ours' nominal ECE", better=LOWER), Column("at_plus", "at AICC+'s nominal ECE", better=LOWER)]
    rows = [
        Row(curve["label"], {key: Value.of(curve[key]) for key in ("at_ours", "at_plus")}, ranked=name != "uniform")
        for name, curve in results["frontier"]["curves"].items()
    ]
    note = (
        "Lowest mean OOD ECE along each curve of the frontier without a worse nominal ECE than ours (or AICC+) "
        "has. The weight is "
        "chosen with the test data in view, the same gift for every row, so compare rows with uniform heating, "
        "not with the tables above."
    )
    return Table("frontier", "What each score can buy at equal nominal ECE", columns, rows, note, first="Score")


def early_warning_table(results: Results) -> Table:
    """Lead time and false alarms."""
    stored = results["early_warning"]
    unit = stored.get("unit", "lap")
    columns = [
        Column("threshold", "Threshold"),
        Column("announced", "Announced", 0, HIGHER),
        Column("departures", "Departures", 0),
        Column("median_lead_s", "Median lead, s (mean of protocols)", 2, HIGHER),
        Column("nominal_false_alarms", f"False alarms per {unit}, nominal", 2, LOWER),
    ]
    protocols = results["settings"]["protocols"]
    columns += [Column(f"{name}_lead_s", f"{name.capitalize()}: lead, s", 2) for name in protocols]
    columns += [Column(f"{name}_announced", f"{name.capitalize()}: announced", text=True) for name in protocols]
    rows = []
    titles = {"governor": "at the governor's threshold", "matched": f"at one false alarm per nominal {unit}"}
    for key, title in titles.items():
        for name, one in stored.get("methods", {}).items():
            rows.append(_warning_row(results["calibration"][name]["label"], one[key], title, name in (OURS, PLUS)))
    note = stored.get("reason", "") or (
        f"Alarm: the least confidence over all horizons is below the threshold. Departure: |cte| over "
        f"{stored['departed_m']:g} m. "
        f"The lead counts from the first alarm in the {stored['window_s']:g} s before it. Fitted on all calibration drives."
    )
    return Table("early_warning", "Early warning", columns, rows, note)


def _warning_row(label: str, one: dict[str, Any], group: str, strong: bool) -> Row:
    protocols = one["protocols"]
    leads = [n["median_lead_s"] for n in protocols.values() if n["median_lead_s"] is not None]
    values = {
        "threshold": Value(one["threshold"]),
        "announced": Value(sum(n["announced"] for n in protocols.values())),
        "departures": Value(sum(n["departures"] for n in protocols.values())),
        "median_lead_s": Value(sum(leads) / len(leads) if leads else None, reason="no departure was announced"),
        "nominal_false_alarms": Value(one["nominal"]["false_alarms_per_unit"]),
    }
    for name, numbers in protocols.items():
        values[f"{name}_lead_s"] = Value(numbers["median_lead_s"], reason=numbers.get("reason", ""))
        values[f"{name}_announced"] = Value(text=f"{numbers['announced']} of {numbers['departures']}")
    return Row(label, values, group, strong=strong, ranked=group.endswith(("lap", "frames")))


def weights_table(results: Results) -> Table:
    """Fitted weights over splits."""
    fitted = results["weights"]["fitted"]
    scores = list(dict.fromkeys(score for row in fitted.values() for score in row))
    columns = [Column(score, score) for score in scores]
    rows = [
        Row(results["calibration"][name]["label"], {score: Value.of(stored) for score, stored in row.items()})
        for name, row in fitted.items()
    ]
    note = "T_eff = T_k exp(sum of weight x score), scores clipped to [0, 1]; mean ± standard deviation over splits."
    return Table("weights", "Fitted weights", columns, rows, note)


def family_weights_table(results: Results) -> Table:
    """Weights that each family alone would give."""
    families = results["weights"]["by_family"]
    columns = [Column("rho", "w_rho"), Column("delta", "w_delta")]
    reason = families.get("reason", "")
    rows = [] if reason else [Row(family, {n: Value(w) for n, w in one.items()}) for family, one in families.items()]
    note = reason or (
        "The paper's calibrator fitted on nominal calibration data and this family alone: who asks for caution, who does not. "
        f"{W_MAX:g} is the largest weight that a fit may take: there the family alone says nothing against more."
    )
    return Table("family_weights", "Weights by D_aug family", columns, rows, note, first="Family")


def monotonicity_table(results: Results, part: str) -> Table:
    """Mean score per severity."""
    stored = results["monotonicity"][part]
    levels = sorted({level for kinds in stored.values() for one in kinds.values() for level in one["mean_by_severity"]}, key=int)
    columns = [Column(f"severity_{level}", "nominal" if level == "0" else level, 2) for level in levels]
    columns += [Column("spearman", "Spearman", 2), Column("falls", "Falls", text=True)]
    rows = []
    for score, kinds in stored.items():
        for kind, one in kinds.items():
            values = {f"severity_{level}": Value(mean) for level, mean in one["mean_by_severity"].items()}
            falls = ", ".join(f"{fall['from']}→{fall['to']} by {fall['by']:.2f}" for fall in one["falls"])
            values |= {"spearman": Value(one["spearman"]), "falls": Value(text=falls or "–")}
            rows.append(Row(kind, values, score, strong=one["below_nominal"]))
    title = (
        "Do the scores grow with severity? Test protocols"
        if part == "protocols"
        else "Do the scores grow with severity? D_aug families"
    )
    note = (
        "Mean unclipped score; 1 is two nominal standard deviations above the nominal mean. Falls of less than "
        "0.05 are not listed. "
        "Bold: at full severity the score lies below its nominal mean."
    )
    return Table(f"monotonicity_{part}", title, columns, rows, note, first="Protocol" if part == "protocols" else "Family")


def lambda_table(results: Results) -> Table:
    """Ridge of delta's covariance."""
    labels = {
        "ood_ece": "OOD ECE",
        "nominal_ece": "Nominal ECE",
        "delta_auroc": "delta: OOD AUROC",
        "w_rho": "w_rho",
        "w_delta": "w_delta",
    }
    columns = [Column(key, label) for key, label in labels.items()]
    rows = [
        Row(value, {k: Value.of(c) for k, c in one.items()}, strong=value == "1e-06") for value, one in results["lambda"].items()
    ]
    note = "The paper's calibrator; the covariance of the 12 dynamics features is regularised by lambda (1e-6 in the paper)."
    return Table("lambda", "Sensitivity to lambda", columns, rows, note, first="lambda")
