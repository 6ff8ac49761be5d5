"""Anomaly scores of one's own, beside ours: every lane has its own memory, and an unknown one is refused by its name."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.scoring.own_scores import OwnScores, register_score
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from donkey_aicc.scoring.settings import LIGHT, BatchSettings, ScoreSettings

pytestmark = pytest.mark.usefixtures("own_registries")


def counting():
    seen = []

    def score(image, steering, throttle):
        assert image.shape == (64, 64, 3) and image.dtype == np.uint8
        seen.append(image)
        return len(seen) + steering

    return score


def test_every_sequence_begins_anew_whatever_runs_beside_it(bundle, drive, tmp_path):
    register_score("count", counting)
    settings = ScoreSettings(context=5, own=("count",)).at_grade(LIGHT)
    drives = [drive(9, 1), drive(14, 2), drive(6, 3)]
    table = score_drives(bundle, drives, settings=settings, batch=BatchSettings(lanes=3))
    assert table.own_names.tolist() == ["count"]
    assert table.own[:, 0] == pytest.approx(table.step + 1 + table.actions[:, 0], abs=1e-6)
    table.save(tmp_path / "scores.npz")
    again = ScoreTable.load(tmp_path / "scores.npz")
    assert again.own.tolist() == table.own.tolist() and again.own_names.tolist() == ["count"]
    assert ScoreSettings.from_json(settings.to_json()) == settings
    with pytest.raises(AiccError, match="different scores of the user's own"):
        concatenate([table, score_drives(bundle, drives[:1], settings=ScoreSettings(context=5).at_grade(LIGHT))])


def test_the_picture_that_it_gets_is_the_very_one(bundle, drive):
    register_score("mean", lambda: lambda image, steering, throttle: float(image.mean()))
    one = drive(3, 1)
    table = score_drives(bundle, [one], settings=ScoreSettings(context=2, own=("mean",)).at_grade(LIGHT))
    assert table.own[:, 0] == pytest.approx(one.images.mean(axis=(1, 2, 3)), abs=1e-9)


def test_one_that_is_not_registered_or_fails_is_named(bundle, drive):
    with pytest.raises(AiccError, match="the score magic is not registered here"):
        OwnScores(("magic",), 1)

    def broken():
        def score(image, steering, throttle):
            raise ZeroDivisionError("no light")

        return score

    register_score("broken", broken)
    with pytest.raises(AiccError, match="the score broken failed: ZeroDivisionError"):
        score_drives(bundle, [drive(3, 1)], settings=ScoreSettings(context=2, own=("broken",)).at_grade(LIGHT))


@pytest.mark.parametrize("name", ["rho", "Mine", "glare_z", ""])
def test_names_are_new_and_plain(name):
    with pytest.raises(ConfigError, match="a score's name must be"):
        register_score(name, counting)
