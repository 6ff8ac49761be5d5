"""What decides the default: views behind gates, and methods on families that their fit has not seen."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.scoring.score_table import concatenate
from studies import left_out_families
from studies.left_out_families import family_table, judge, method_table
from studies.restorations import Gate, Views, gated
from tests.synthetic_scores import synthetic_table

HORIZONS = (1, 5, 20)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    calibration = synthetic_table(rng, 6, 120, HORIZONS)
    faults = {"weights": (1.5, 1.5), "shift": 1.0}
    pieces, driven = [], []
    for family in ("fog", "grip"):
        piece = synthetic_table(rng, 6, 40, HORIZONS, protocol=family, severity=2, **faults)
        source = np.repeat([f"{name}~{family}~2" for name in calibration.sequences()], 40)
        pieces.append(replace(piece, sequence=source))
        driven.append(synthetic_table(rng, 2, 150, HORIZONS, protocol=family, severity=2, **faults))
    return calibration, concatenate(pieces), concatenate(driven)


def test_a_method_is_judged_on_families_that_it_has_not_seen(tables, monkeypatch):
    monkeypatch.setattr(
        left_out_families, "CANDIDATES", {name: left_out_families.CANDIDATES[name] for name in ("tta", OURS, "aicc_r")}
    )
    found = judge(*tables, seed=0)
    assert set(found) == {"tta", OURS, "aicc_r"} and list(found["tta"].families) == ["fog", "grip"]
    assert found["aicc_r"].mean[1] < found["tta"].mean[1]  # the scores carry over from one family to the other
    assert set(found["aicc_r"].weights) == {"rho", "delta", "hindsight"} and not found["tta"].weights
    lines = method_table(found, 0).splitlines()
    assert len(lines) == 5 and "+0.000 (+0.000 to +0.000)" in next(line for line in lines if OURS in line)
    assert family_table(found, ("tta", "aicc_r")).count("|") == 4 * 4


def test_a_gate_takes_the_view_that_is_more_usual_from_the_next_check_on(tables):
    table = replace(tables[2], p_safe=np.full((600, 3), 0.5, dtype=np.float32))
    p = {"one": np.full((600, 3), 0.9, dtype=np.float32), "two": np.full((600, 3), 0.1, dtype=np.float32)}
    advantage = {"one": np.where(table.step < 50, -1.0, 0.5), "two": np.full(600, -2.0)}
    found = gated(table, Views(p, advantage), ("one", "two"), Gate("0 to 1", checks=1))
    own = found.sequence == found.sequence[0]
    assert (found.restored[own][:55] == 0.0).all() and (found.restored[own][55:] == 0.5).all()
    assert found.p_restored[own][100, 0] == pytest.approx(0.7)
    always = gated(table, Views(p, advantage), ("two",), Gate("always", always=True))
    assert np.allclose(always.p_restored[own][5:], 0.1) and (always.hindsight[own][:5] == 0.0).all()
