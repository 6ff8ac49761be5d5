"""Every table of the report, built from results.json alone, with somebody else's numbers beside ours if they are given."""

from collections.abc import Sequence
from typing import Any

from donkey_aicc.calibration.anomaly_weights import W_MAX
from donkey_aicc.calibration.catalogue import ABLATION, OURS
from donkey_aicc.evaluation.alarm_metrics import alarm_table
from donkey_aicc.evaluation.collect import OOD_MEAN, SHOWN_HORIZONS
from donkey_aicc.evaluation.methods_and_conditions import GROUPS, NOMINAL
from donkey_aicc.evaluation.resampling import wilcoxon_table
from donkey_aicc.evaluation.score_quality import OOD_ROWS, monotonicity_table
from donkey_aicc.evaluation.tables import HIGHER, LOWER, NONE_PUBLISHED, Column, Published, Row, Table, Value

Results = dict[str, Any]


def all_tables(results: Results, published: Published = NONE_PUBLISHED) -> list[Table]:
    """In the order of the report."""
    tables = [
        calibration_table(results, published),
        protocol_table(results, published),
        ablation_table(results, published),
        wilcoxon_table(results, published),
        ood_detection_table(results, published),
        base_predictor_table(results, published),
        alarm_table(results),
        weights_table(results),
        family_weights_table(results),
        monotonicity_table(results, "protocols"),
        monotonicity_table(results, "d_aug"),
        data_table(results, published),
    ]
    return tables if published.label else [table.without_paper() for table in tables]


def calibration_table(results: Results, published: Published = NONE_PUBLISHED) -> Table:
    """The one to read: OOD ECE with its price on nominal data and the scores that heating cannot buy."""
    columns = [
        Column("ood_ece", "OOD ECE", better=LOWER),
        Column("ood_ece_paper", published.label, paper=True),
        Column("ood_ece_interval", "95 % interval", text=True),
        Column("nominal_ece", "Nominal ECE", better=LOWER),
        Column("nominal_ece_paper", published.label, paper=True),
        Column("ood_nll", "OOD NLL", better=LOWER, spread=False),
        Column("nominal_nll", "Nominal NLL", better=LOWER, spread=False),
        Column("ood_brier", "OOD Brier", better=LOWER, spread=False),
        Column("nominal_brier", "Nominal Brier", better=LOWER, spread=False),
        Column("ood_aurc", "OOD AURC", better=LOWER, spread=False),
        Column("nominal_aurc", "Nominal AURC", better=LOWER, spread=False),
        Column("ood_auroc", "OOD AUROC", better=HIGHER, spread=False),
    ]
    rows = []
    for name, one in results["calibration"].items():
        values = {
            "ood_ece_paper": Value(published.ece.get(name, {}).get("mean")),
            "nominal_ece_paper": Value(published.nominal_ece.get(name)),
            "ood_ece_interval": Value(text=interval_text(results["intervals"].get(name, {}).get("ood_ece"))),
        }
        for metric in ("ece", "nll", "brier", "aurc", "auroc"):
            values[f"ood_{metric}"] = Value.of(one[metric][OOD_MEAN])
            values[f"nominal_{metric}"] = Value.of(one[metric][NOMINAL])
        rows.append(_method_row(name, one, values))
    note = (
        "Mean over protocols, horizons 5 to 50 and splits, ± its standard deviation over splits. The interval "
        "comes from drawing whole "
        "drives anew. Best value of the methods in bold; controls do not compete: they show what can be had "
        "without any anomaly score. "
        "A low OOD ECE with a high nominal ECE is bought by heating everything."
    )
    return Table("calibration", "Calibration: every method and its price", columns, rows, note)


def protocol_table(results: Results, published: Published = NONE_PUBLISHED) -> Table:
    """ECE per protocol."""
    names = list(results["calibration"])
    return _per_protocol(results, published, names, "ece_by_protocol", "ECE per protocol")


def ablation_table(results: Results, published: Published = NONE_PUBLISHED) -> Table:
    """The paper's ablation rows."""
    return _per_protocol(results, published, list(ABLATION), "ablation", "Ablation: ECE per protocol", grouped=False)


def _per_protocol(
    results: Results, published: Published, names: Sequence[str], key: str, title: str, grouped: bool = True
) -> Table:
    columns = []
    for condition, label in _protocol_columns(results):
        columns += [Column(condition, label, better=LOWER), Column(f"{condition}_paper", published.label, paper=True)]
    columns.append(Column(NOMINAL, "Nominal", better=LOWER))
    rows = []
    for name in names:
        one = results["calibration"][name]
        values = {NOMINAL: Value.of(one["ece"][NOMINAL])}
        for condition, _ in _protocol_columns(results):
            values[condition] = Value.of(one["ece"][condition])
            values[f"{condition}_paper"] = Value(published.ece.get(name, {}).get(_paper_key(condition)))
        rows.append(_method_row(name, one, values, grouped))
    return Table(key, title, columns, rows, "Horizon-averaged top-label ECE, mean ± standard deviation over splits.")


def ood_detection_table(results: Results, published: Published = NONE_PUBLISHED) -> Table:
    """How well each score tells anomalous from nominal frames."""
    columns = []
    for condition, label in _protocol_columns(results):
        columns.append(Column(condition, label, better=HIGHER))
        columns.append(Column(f"{condition}_interval", "95 %", text=True))
        columns.append(Column(f"{condition}_paper", published.label, paper=True))
    groups = dict.fromkeys(("msp", "entropy", "mc_dropout"), "From the prediction") | {"feature_norm": "From its features"}
    groups |= dict.fromkeys(("rho", "delta", "rho_delta"), "From the world model")
    rows = []
    for name in OOD_ROWS:
        one = results["ood_detection"][name]
        values = {}
        for condition, _ in _protocol_columns(results):
            values[condition] = Value.of(one[condition])
            values[f"{condition}_interval"] = Value(text=interval_text(one["intervals"].get(condition)))
            values[f"{condition}_paper"] = Value(published.ood_auroc.get(name, {}).get(_paper_key(condition)))
        rows.append(Row(one["label"], values, groups.get(name, "Further scores"), strong=name == "rho_delta"))
    note = (
        "AUROC of nominal test frames against the frames of each protocol; 0.5 is guessing, below it the "
        "score points the wrong way. 95 %: whole drives drawn anew."
    )
    return Table("ood_detection", "Detecting the anomaly", columns, rows, note, first="Score")


def base_predictor_table(results: Results, published: Published = NONE_PUBLISHED) -> Table:
    """AUROC and ECE of the raw prediction."""
    horizons = [str(k) for k in SHOWN_HORIZONS if k in results["settings"]["horizons"]] + ["mean"]
    columns = []
    for key in horizons:
        label = "Mean" if key == "mean" else f"k = {key}"
        columns += [Column(f"k_{key}", label), Column(f"k_{key}_paper", published.label, paper=True)]
    columns += [Column("ece", "ECE"), Column("ece_paper", published.label, paper=True)]
    rows = []
    for condition, one in results["base_predictor"].items():
        values = {f"k_{key}": Value.of(one[key]) for key in horizons}
        values |= {f"k_{key}_paper": Value(published.base_auroc.get(condition, {}).get(key)) for key in horizons}
        values["ece"] = Value(Value.of(results["calibration"]["none"]["ece"][condition]).number)
        values["ece_paper"] = Value(published.ece.get("none", {}).get(condition))
        rows.append(Row(condition.capitalize(), values))
    note = (
        "AUROC for safe against unsafe, k steps ahead; the mean is the trapezoid over k = 5 to 50. ECE: the same mean, of the "
        "raw prediction."
    )
    return Table("base_predictor", "The safety predictor before any calibration", columns, rows, note, first="Condition")


def data_table(results: Results, published: Published = NONE_PUBLISHED) -> Table:
    """How much was evaluated."""
    columns = []
    for key, label, digits in (("sequences", "Sequences", 0), ("frames", "Frames", 0), ("safe_percent", "% safe", 1)):
        columns += [Column(key, label, digits), Column(f"{key}_paper", published.label, digits, paper=True)]
    columns += [Column("frames_recorded", "Frames recorded", 0), Column("frames_by_severity", "Frames by severity", text=True)]
    rows = []
    for condition, one in results["data"].items():
        paper = published.data.get(condition, {})
        values = {key: Value(one[key]) for key in ("sequences", "frames", "safe_percent", "frames_recorded")}
        values |= {f"{key}_paper": Value(paper.get(key)) for key in ("sequences", "frames", "safe_percent")}
        values["frames_by_severity"] = Value(text=", ".join(f"{s}: {n}" for s, n in one["frames_by_severity"].items()))
        names = {"augmented": "D_aug", NOMINAL: "Nominal test"}
        rows.append(Row(names.get(condition, condition.capitalize()), values))
    note = (
        "Frames with a full context; for a protocol only those driven under it. Frames recorded include warm-up and what follows."
    )
    return Table("data", "What was evaluated", columns, rows, note, first="Condition")


def interval_text(stored: dict[str, Any] | None) -> str:
    if stored is None or stored["low"] is None:
        return "–"
    return f"{stored['low']:.3f} to {stored['high']:.3f}"


def _protocol_columns(results: Results) -> list[tuple[str, str]]:
    return [(name, name.capitalize()) for name in results["settings"]["protocols"]] + [(OOD_MEAN, "OOD mean")]


def _paper_key(condition: str) -> str:
    return "mean" if condition == OOD_MEAN else condition


def _method_row(name: str, one: dict[str, Any], values: dict[str, Value], grouped: bool = True) -> Row:
    group = GROUPS[one["group"]] if grouped else ""
    return Row(one["label"], values, group, ranked=one["group"] != "control", strong=name == OURS)


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
