"""The smaller tables of the report: tests, frontier, weights, monotonicity, early warning and lambda."""

from typing import Any

from donkey_aicc.calibration.anomaly_weights import W_MAX
from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.tables import NOBODY, Beside, Column, Row, Table, Value

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
