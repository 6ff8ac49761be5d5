from dataclasses import replace

import numpy as np
import pytest

from benchmarks.cold_start import cold_start_scores, memory_difference
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.settings import ScoreSettings

DONE_AFTER = 3  # four steps, one a frame
SETTINGS = ScoreSettings(samples=3, rollout_steps=4, rollout_every=5, context=10, views=1)


@pytest.fixture(scope="module")
def scored(bundle):
    from tests.scoring.conftest import made_up_drive

    drive = made_up_drive(26, seed=6)
    return drive, score_drives(bundle, [drive], settings=SETTINGS)


def test_living_states_equal_a_cold_start_within_the_context(bundle, scored):
    drive, table = scored
    for frame in (0, 5):
        rho_raw, rollout = cold_start_scores(bundle, drive, frame, SETTINGS)
        np.testing.assert_allclose(table.features[frame + DONE_AFTER, :3], rollout, atol=1e-4)
        assert table.rho_raw[frame] == pytest.approx(rho_raw, abs=1e-6)


def test_beyond_the_context_only_the_memory_differs(bundle, scored):
    drive, table = scored
    rho_raw, rollout = cold_start_scores(bundle, drive, 20, SETTINGS)
    assert table.rho_raw[20] == pytest.approx(rho_raw, abs=1e-6)
    difference = memory_difference(bundle, [drive], table, SETTINGS)
    assert difference.frames == 3
    assert np.isfinite(difference.feature_gap).all() and (difference.feature_gap > 0).all()
    assert 0 < difference.delta_gap_mean <= difference.delta_gap_p95
    remembered = np.abs(table.features[20 + DONE_AFTER, :3] - rollout) / rollout
    assert (remembered < 0.5).all()
    assert "3 cold starts" in str(difference)
    assert difference.delta_spread == pytest.approx(0.5, abs=0.01)  # normalised by twice the standard deviation of these rows
    wider = replace(table, features=table.features * 2)
    against = memory_difference(bundle, [drive], table, SETTINGS, nominal=wider)
    np.testing.assert_allclose(against.feature_gap, difference.feature_gap / 2)


def test_short_sequences_have_no_memory_to_compare(bundle, scored):
    drive, table = scored
    with pytest.raises(AiccError, match="more than 10 frames"):
        memory_difference(bundle, [drive], table.select(table.step < 10), SETTINGS)
