"""What the study's reports have beyond a user's: the paper's numbers, the imagined predictor, and how long everything takes."""

from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.report import FIGURES, RESULTS, write_report
from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.evaluation.tables import Column, Published, Row, Table, Value
from donkey_aicc.files import write_json
from donkey_aicc.untrusted import read_untrusted_json
from studies.early_warning import early_warning_table
from studies.frontier import frontier_table
from studies.frontier_figure import FRONTIER
from studies.imagined_rows import IMAGINED, with_imagined_rows
from studies.lambda_sensitivity import lambda_table
from studies.oracle_bounds import bounds_table
from studies.paper_numbers import PAPER
from studies.safe_share import safe_share_table

RUNTIME = "runtime.json"
NOT_MEASURED = {"reason": "not measured"}
RUNTIME_LABELS = {
    "vae_encode_context": "VAE encode, whole context (cold start)",
    "vae_encode": "VAE encode, 1 frame",
    "vae_decode": "VAE decode, 1 frame",
    "dynamics_deterministic": "Dynamics, context and rollout (cold start)",
    "dynamics_dropout": "Dynamics with dropout samples, context and rollout (cold start)",
    "dynamics_step": "Dynamics, one step of all living states",
    "dynamics_rollout": "Dynamics, one rollout from the living states",
    "predictor": "Safety predictor, 1 image",
    "tta": "TTA, all views",
    "rho": "rho: rebuilding the context (cold start)",
    "delta": "delta: distance of 12 features",
    "calibrate_temperature": "Calibrate: temperature",
    "calibrate_ours": "Calibrate: ours",
    "calibrate_dac": "Calibrate: DAC",
    "cold_start_base": "Total, cold start: world model, predictor, temperature",
    "cold_start_tta": "Total, cold start: the same with TTA",
    "cold_start_full": "Total, cold start: everything",
    "streaming_control_path": "Streaming: control path (predictor and TTA)",
    "streaming_scoring": "Streaming: scoring, average per frame",
}

Results = dict[str, Any]


def study_tables(results: Results) -> list[Table]:
    """Those of every report, beside the paper's numbers, and the study's own."""
    imagined = results.get(IMAGINED, {})
    tables = [with_imagined_rows(t, imagined) if t.name == "base_predictor" else t for t in all_tables(results, PAPER)]
    own = (safe_share_table, bounds_table, frontier_table, early_warning_table, lambda_table)
    return [*tables, *(table(results) for table in own), runtime_table(results["runtime"], PAPER)]


def write_study_report(results: Results, folder: Path) -> None:
    """Times differ from run to run, so they stand in a file of their own: results.json is the same for the same seed."""
    timeless = {name: value for name, value in results.items() if name != "runtime"}
    write_json(folder / RUNTIME, results["runtime"])
    write_report(timeless, folder, PAPER, tables=study_tables(results), figures=(*FIGURES, FRONTIER))


def read_results(folder: str | Path) -> dict[str, Any]:
    """What `write_study_report` wrote, runtime included, so that the page can be drawn anew."""
    path = Path(folder) / RESULTS
    try:
        results = read_untrusted_json(path)
        results["runtime"] = read_untrusted_json(Path(folder) / RUNTIME)
    except (OSError, AiccError, TypeError) as error:
        raise AiccError(f"{path} cannot be read ({error}); make it with: python -m studies experiment") from error
    return results


def runtime_table(stored: dict[str, Any], published: Published) -> Table:
    """Milliseconds per component."""
    ours = stored.get("components_ms", {})
    names = [*RUNTIME_LABELS, *(name for name in ours if name not in RUNTIME_LABELS)]
    columns = [Column("ms", "ms", 2), Column("ms_paper", f"{published.label} (GPU)", 2, paper=True)]
    rows = [
        Row(
            RUNTIME_LABELS.get(name, name),
            {"ms": Value(ours.get(name), reason="not measured"), "ms_paper": Value(published.runtime_ms.get(name))},
        )
        for name in names
        if name in ours or name in published.runtime_ms
    ]
    note = stored.get("reason") or (
        f"Median of one call, batch of one frame, on {stored.get('device', 'this machine')}. Totals are sums of the parts above "
        "them: a cold start primes and rolls out twice, once without dropout for the prediction and once with it for delta."
    )
    if ours and any(name not in ours for name in published.runtime_ms):
        note += " No number: this run did not time that part (a calibrator that could not be fitted, or an older report)."
    return Table("runtime", "Runtime per component", columns, rows, note, first="Component")
