"""The imagined predictor over whole drives equals the plain one, frame by frame."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.engine import initial_state
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.settings import ScoreSettings
from studies.imagined_predictor import NO_DROPOUT, ImaginedPredictor, from_maps, imagine_drives
from studies.imagined_rows import ImaginedTable
from tests.scoring import conftest as of_scoring

bundle, nets, drive = of_scoring.bundle, of_scoring.nets, of_scoring.drive  # fixtures
made_up_drive = of_scoring.made_up_drive

EVERY = 5
SETTINGS = ScoreSettings(samples=1, rollout_steps=1, rollout_every=EVERY, context=6, views=1)


def plainly(bundle, drive, frame):
    """One frame from nothing: encode everything before it, prime, and ask the plain predictor."""
    latents = from_maps(bundle.encode(images_to_array(drive.images[: frame + 1])))
    actions = bundle.action_stats.normalise(drive.actions[: frame + 1])
    state = initial_state(1, 1)
    for t in range(frame):
        _, state = bundle.step(latents[:, t : t + 1], bundle.command(actions[t : t + 1]), state, NO_DROPOUT)
    return ImaginedPredictor(bundle).predict(latents[:, frame : frame + 1], state, actions[frame : frame + 1])[0]


@pytest.fixture(scope="module")
def imagined(bundle):
    drives = [made_up_drive(frames, seed=seed) for frames, seed in ((8, 1), (16, 2), (4, 3), (11, 4))]
    return drives, imagine_drives(bundle, drives, SETTINGS, lanes=3)


def test_lanes_equal_the_plain_predictor(bundle, imagined):
    drives, table = imagined
    by_id = {drive.id: drive for drive in drives}
    assert table.step.tolist() == [5, 5, 10, 15, 5, 10]
    for name, step, p in zip(table.sequence, table.step, table.p, strict=True):
        np.testing.assert_allclose(p, plainly(bundle, by_id[name], int(step)), atol=1e-5)


def test_rows_are_the_rollouts_with_a_full_context_in_the_order_of_the_sequences(bundle, imagined):
    drives, table = imagined
    scores = score_drives(bundle, drives, settings=SETTINGS)
    due = scores.valid & (scores.step % EVERY == 0)
    assert table.sequence.tolist() == scores.sequence[due].tolist()
    assert table.step.tolist() == scores.step[due].tolist()
    rows, p = table.on(scores)
    assert np.array_equal(rows.step, scores.step[due]) and np.array_equal(p, table.p)
    backwards = scores.select(np.arange(len(scores))[::-1])
    assert np.array_equal(table.on(backwards)[1], table.p[::-1])


def test_the_file_comes_back_and_a_damaged_one_is_refused(imagined, tmp_path):
    _, table = imagined
    table.save(tmp_path / "imagined.npz")
    loaded = ImaginedTable.load(tmp_path / "imagined.npz")
    for name in ("horizons", "sequence", "step", "p"):
        assert np.array_equal(getattr(loaded, name), getattr(table, name))
    (tmp_path / "imagined.npz").write_bytes(b"PK nothing")
    with pytest.raises(AiccError, match="not a readable file of imagined predictions"):
        ImaginedTable.load(tmp_path / "imagined.npz")


def test_short_sequences_have_no_rows_and_bad_settings_are_refused(bundle, drive):
    short = imagine_drives(bundle, [drive(3)], SETTINGS)
    assert len(short) == 0 and short.p.shape == (0, len(bundle.horizons))
    with pytest.raises(ConfigError, match="lanes must be >= 1, got 0"):
        imagine_drives(bundle, [drive(3)], SETTINGS, lanes=0)
    with pytest.raises(AiccError, match="no sequences"):
        imagine_drives(bundle, [], SETTINGS)
