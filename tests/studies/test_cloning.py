"""The pilot learns to send what was recorded, from tubs and from lessons."""

import numpy as np
import torch

from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.simulator.drivers import Expert
from donkey_aicc.simulator.driving import drive
from donkey_aicc.simulator.world import World
from donkey_aicc.training.trainer import TrainingRun
from donkey_aicc.tubs.drive import make_drive
from studies.cloning import MixedDriver, PilotRecipe, School, plan_lessons, split_for_cloning, teach, train_pilot


def bright_side_sequence(name: str, length: int = 60):
    """The brighter half says where to steer: something a pilot can learn in seconds."""
    rng = np.random.default_rng(ord(name[0]))
    images = rng.integers(0, 60, (length, 64, 64, 3)).astype(np.uint8)
    steering = np.where(rng.random(length) < 0.5, -0.6, 0.6)
    for image, side in zip(images, steering, strict=True):
        image[:, :32] += np.uint8(120 * (side < 0))
        image[:, 32:] += np.uint8(120 * (side > 0))
    return make_drive(name, "0", images, np.stack([steering, np.full(length, 0.3)], axis=1))


def test_pilot_learns_which_way_to_steer(tmp_path):
    torch.manual_seed(0)
    net = PilotNet()
    train, validation = split_for_cloning([bright_side_sequence(name) for name in "abcd"], seed=0)
    run = TrainingRun(work=tmp_path, seed=0, device=torch.device("cpu"))
    fitted = train_pilot(net, train, validation, PilotRecipe(epochs=6, batch=32), run)
    losses = [row["loss"] for row in fitted.history]
    assert min(losses) < 0.25 * losses[0] or min(losses) < 0.02


def test_a_single_session_still_leaves_something_to_validate_on():
    train, validation = split_for_cloning([bright_side_sequence("only", 100)], seed=0)
    assert (len(train[0]), len(validation[0])) == (90, 10)


def test_lessons_cover_all_tracks_and_every_second_one_is_disturbed(tmp_path):
    lessons = plan_lessons(tmp_path, ("oval", "loop"), 1, 2, 100, 0.4, seed=0)
    assert [(lesson.track, lesson.noise_std > 0) for lesson in lessons] == [
        ("oval", False),
        ("oval", True),
        ("loop", False),
        ("loop", True),
    ]
    assert len({lesson.seed for lesson in lessons}) == 4


def test_school_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("DONKEY_AICC_CACHE", str(tmp_path / "cache"))
    school = School(("oval",), drives=2, frames=40, shares=(1.0, 0.0), epochs=(1, 1))
    first, rounds = teach(school, tmp_path / "work")
    again, _ = teach(school, tmp_path / "work")
    assert len(rounds) == 2
    for one, other in zip(first.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_mixed_driver_labels_every_frame_with_the_expert():
    world = World("oval", seed=0)
    world.reset()

    class Pilot:
        def run(self, image):
            return 1.0, 0.3

    driver = MixedDriver(Pilot(), Expert(world.track), 0.5, np.random.default_rng(0), spell_ticks=5)
    sent, labels = [], []
    for tick in drive(world, driver, 60):
        if tick.mode == "local":
            sent.append(tick.sent)
            labels.append(driver.label)
    by_pilot = [command == (1.0, 0.3) for command in sent]
    assert 0 < sum(by_pilot) < len(sent)
    assert all(label != (1.0, 0.3) for label in labels)
