"""An experiment's folder belongs to one experiment."""

import pytest

from donkey_aicc.errors import AiccError
from studies.experiment import plan_experiment
from studies.layout import Layout, claim
from studies.study_presets import PRESETS

ABOUT = {"preset": "tiny", "track": "loop", "seed": 0}


def test_the_same_experiment_goes_on_and_another_is_refused(tmp_path):
    layout = Layout(tmp_path / "exp")
    claim(layout, ABOUT)
    claim(layout, ABOUT)
    with pytest.raises(AiccError, match="holds another experiment .track 'loop' there, 'oval' now"):
        claim(layout, ABOUT | {"track": "oval"})


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "holiday.jpg").write_bytes(b"beach")
    with pytest.raises(AiccError, match="not empty"):
        claim(Layout(tmp_path), ABOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.jpg"]


@pytest.mark.parametrize(("wrong", "said"), [({"preset": "huge"}, "huge"), ({"track": "moon"}, "moon"), ({"pilot": "no"}, "no")])
def test_mistakes_are_found_before_anything_starts(tmp_path, wrong, said):
    with pytest.raises(AiccError, match=said):
        plan_experiment(tmp_path / "exp", **wrong)
    assert not (tmp_path / "exp").exists()


def test_the_large_size_covers_the_papers_sequences_and_frames():
    paper = {"dark": (7, 4858), "blur": (8, 4703), "bias": (17, 10117), "latency": (5, 2575)}
    size = PRESETS["paper"]
    for protocol, (sequences, frames) in paper.items():
        drives = size.runs[protocol] * len(size.severities)
        assert drives >= sequences
        assert drives * (size.ood_frames[protocol] - 100) >= frames


@pytest.mark.parametrize("name", ["quick", "paper"])
def test_sides_are_large_enough_for_five_folds_and_intervals(name):
    size = PRESETS[name]
    assert all(size.nominal[side][0] >= 12 for side in ("calibration", "test")) and size.split_seeds == 5
    assert size.settled_frames == 200 and min(size.nominal["test"][1]) > size.settled_frames + 100
    assert size.loop_drives >= 12
