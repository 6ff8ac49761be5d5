"""Every predictor on the same frames, each with its own temperature: the net of the bundle, what needs no picture, other nets."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.evaluation.methods_and_conditions import evaluated_conditions
from donkey_aicc.evaluation.tables import HIGHER, LOWER, Column, Row, Table, Value
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.simulator.track import Track
from donkey_aicc.tubs.drive import Drive
from studies.judged_rows import HORIZONS_SHOWN, TITLES, auroc_gains, aurocs, judge
from studies.without_pictures import PlacePredictor, places_of, present_cte

DIRECT, PLACE, PRESENT, ENSEMBLE, HISTORY = "direct", "place", "present", "ensemble", "history"
LABELS = {
    DIRECT: "Net of the bundle",
    PLACE: "Place alone",
    PRESENT: "Present |cte| alone",
    ENSEMBLE: "Three small nets, same cost",
    HISTORY: "Net with frames t, t-2, t-5 and commands",
}
CALIBRATION, TEST = "calibration", "test"
Tables = Mapping[str, ScoreTable]  # calibration, test, and one per protocol
Predictions = Mapping[str, np.ndarray]  # table -> (N, K)


def without_pictures(
    bundle: Bundle, train: list[Drive], tables: Tables, folders: Mapping[str, Path], track: Track
) -> dict[str, Any]:
    """Predictor -> table -> (N, K). folders: table -> folder of its tubs, and `train` -> that of the training drives."""
    place = PlacePredictor(track, bundle.horizons)
    for drive in train:
        where = places_of(folders["train"] / drive.tub, track)
        place.learn(np.array([where[int(index)] for index in drive.indices]), drive.safe)
    found: dict[str, dict[str, np.ndarray]] = {PLACE: {}, PRESENT: {}}
    for name, table in tables.items():
        known = {tub: places_of(folders[name] / tub, track) for tub in {_tub(sequence) for sequence in table.sequences()}}
        here = [
            known[_tub(sequence)][index] for sequence, index in zip(table.sequence.tolist(), table.index.tolist(), strict=True)
        ]
        found[PLACE][name] = place.predict(np.array(here))
        found[PRESENT][name] = present_cte(table, float(bundle.manifest.tau or 1.0))
    return found


def _tub(sequence: str) -> str:
    return sequence.split("/", 1)[0]


def predictor_rows(tables: Tables, others: Mapping[str, Predictions], seed: int) -> dict[str, Any]:
    """AUROC, and ECE, NLL and Brier after temperature scaling on the calibration drives, with intervals over drives."""
    kinds: dict[str, Predictions] = {DIRECT: {name: table.p_safe for name, table in tables.items()}} | dict(others)
    confidence, areas, nominal = {}, {}, {}
    for kind, p in kinds.items():
        own = {name: replace(table, p_safe=p[name].astype(np.float32)) for name, table in tables.items()}
        conditions = evaluated_conditions(own[TEST], {k: v for k, v in own.items() if k not in (CALIBRATION, TEST)})
        known = own[CALIBRATION].select(own[CALIBRATION].valid.astype(bool))
        calibrator = make_calibrator("temperature").fit(known)
        confidence[kind] = {one.name: calibrator.predict(one.table) for one in conditions}
        nominal[kind] = conditions[0].table.p_safe
        areas[kind] = {one.name: aurocs(one.table.p_safe, one) for one in conditions}
    found = judge(confidence, conditions, DIRECT, seed)
    rows = {kind: row | {"label": LABELS[kind], "auroc": areas[kind]} for kind, row in found.items()}
    far = int(conditions[0].horizons.max())
    for kind, bounds in auroc_gains(nominal, conditions[0], DIRECT, far, seed).items():
        rows[kind]["auroc_below_direct"] = bounds  # on nominal drives, at the farthest horizon
    return rows


def predictor_table(rows: Mapping[str, Any], title: str = "Predictors on the same frames") -> Table:
    """Nominal AUROC by horizon, mean AUROC under the protocols, and calibration after temperature scaling."""
    columns = [Column(f"k_{k}", f"AUROC k = {k}", better=HIGHER) for k in HORIZONS_SHOWN]
    columns += [Column("nominal", "AUROC nominal, mean", better=HIGHER), Column("ood", "AUROC under faults", better=HIGHER)]
    columns += [Column(f"ood_{m}", f"{label} under faults", better=LOWER) for m, label in TITLES.items()]
    columns += [Column("interval", "ECE under faults, 95 %", text=True), Column("nominal_ece", "ECE nominal", better=LOWER)]
    made = []
    for one in rows.values():
        nominal = one["auroc"]["nominal"]
        odd = [area["mean"]["value"] for name, area in one["auroc"].items() if name != "nominal"]
        values = {f"k_{k}": Value(nominal[str(k)]["value"]) for k in HORIZONS_SHOWN if str(k) in nominal}
        values |= {"nominal": Value(nominal["mean"]["value"]), "ood": Value(None if None in odd else float(np.mean(odd)))}
        values |= {f"ood_{m}": Value(one[m]["ood_mean"]["value"]) for m in ("ece", "nll", "brier")}
        bounds = one["intervals"]["ood_ece"]
        values["interval"] = Value(text="–" if bounds["low"] is None else f"{bounds['low']:.3f} to {bounds['high']:.3f}")
        values["nominal_ece"] = Value(one["ece"]["nominal"]["value"])
        made.append(Row(one["label"], values))
    note = "Each with its own temperature, fitted on the calibration drives. AUROC of safe against unsafe; nominal by horizon."
    return Table("predictors", title, columns, made, note, "Predictor")
