"""The two tables behind the default: views and gates first, then methods. Both read what `score_for_fit` has left."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from donkey_aicc.calibration.calibrating import calibration_drives
from donkey_aicc.calibration.catalogue import OURS, make_calibrator
from donkey_aicc.calibration.pool import FOLDS, sequence_folds
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.score_table import ScoreTable
from studies.experiment import reopened
from studies.experiment_stages import load, tables_to_fit, without_warm_up
from studies.left_out_families import family_table, judge, measured, method_table
from studies.nominal_picture import stored
from studies.restorations import BANK, GATES, SHIPPED, VIEWS, Views, gated, predict_views

SHOWN = (OURS, "dac_authors", "aicc_r_no_restoring", "aicc_r_hindsight", "aicc_r")


def decide_method(folder: str) -> str:
    """Families left out one at a time."""
    experiment = reopened(folder)
    nominal, augmented = tables_to_fit(experiment.layout)
    assert augmented.driven is not None
    found = judge(nominal, augmented.table, augmented.driven, experiment.model_seed)
    return method_table(found, experiment.model_seed) + "\n\n" + family_table(found, SHOWN)


def decide_views(folder: str) -> str:
    """Temperature scaling on p_safe and on every view behind every gate; temperatures of left-out nominal drives."""
    experiment = reopened(folder)
    layout = experiment.layout
    bundle, settings = Bundle.load(layout.bundle), stored(layout.restoration, experiment.preset.scoring)
    nominal, augmented = tables_to_fit(layout)
    driven = augmented.driven
    assert driven is not None
    views = []
    for name, table in (("calibration", nominal), ("driven", driven)):
        path = layout.scores(name).with_name(f"views_{name}.npz")
        if not path.exists():
            drives = load(experiment, bundle, layout.nominal if name == "calibration" else layout.driven)
            chosen = calibration_drives(bundle, drives) if name == "calibration" else without_warm_up(drives, bundle)
            assert [drive.id for drive in chosen] == table.sequences()
            predict_views(bundle, chosen, settings).save(path)
        views.append(Views.load(path))
    plain = [replace(table, p_restored=table.p_safe) for table in (nominal, driven)]
    families = sorted(set(driven.protocol.tolist()) - {""})
    lines = ["| view | gate | nominal ECE | NLL | share | mean of families: ECE | NLL | share | " + " | ".join(families) + " |"]
    lines.append("|---" * (8 + len(families)) + "|")
    lines.append(_view_row("none", "", plain, families, experiment.model_seed))
    single = product([(name,) for name in VIEWS], GATES)
    for names, gate in (*single, *product([BANK], GATES[1:])):
        tables = [gated(table, each, names, gate) for table, each in zip((nominal, driven), views, strict=True)]
        title = " or ".join(names) if names != (SHIPPED,) else f"{SHIPPED} (shipped)"
        lines.append(_view_row(title, gate.name, tables, families, experiment.model_seed))
    return "\n".join(lines)


def _view_row(title: str, gate: str, tables: Sequence[ScoreTable], families: Sequence[str], seed: int) -> str:
    nominal, driven = (table.select(table.valid.astype(bool)) for table in tables)
    fold = sequence_folds(nominal.sequence, FOLDS, seed)
    held = np.empty_like(nominal.p_restored, dtype=np.float64)
    for number in range(FOLDS):
        own = fold == number
        held[own] = make_calibrator("restored").fit(nominal.select(~own)).predict(nominal.select(own))
    fitted = make_calibrator("restored").fit(nominal)
    parts = [driven.select(driven.protocol == family) for family in families]
    each = np.array([measured(fitted.predict(part), part) for part in parts])
    shares = [float(np.nanmean(table.restored)) for table in (nominal, driven.select(driven.protocol != ""))]
    cells = ["{:.3f} | {:.3f}".format(*measured(held, nominal)), f"{shares[0]:.2f}"]
    cells += ["{:.3f} | {:.3f}".format(*each.mean(axis=0)), f"{shares[1]:.2f}"]
    return "| " + " | ".join([title, gate, *cells, *("{:.3f} / {:.2f}".format(*one) for one in each)]) + " |"
