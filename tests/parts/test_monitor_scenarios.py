"""Stories played frame by frame through predictor, TTA, scorer and calibrator: what the monitor says, tick by tick."""

from itertools import groupby

import numpy as np
import pytest

from donkey_aicc.alarm.governor_policy import GovernorPolicy
from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.monitor_stream import MonitorStream
from donkey_aicc.parts.safety_governor import SafetyGovernor
from donkey_aicc.parts.safety_predictor import TTA, SafetyPredictor
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.scoring.settings import ScoreSettings
from tests.parts.streams import Streams

FROZEN_FRAMES = 4
FROZEN_S = 0.19  # at 20 ticks a second, a little less than that


class Monitor:
    """All parts in the loop's order, one tick per 50 ms of a clock that the test owns."""

    def __init__(self, bundle, calibrator, small, clock, camera, commands):
        statistics = calibrator.statistics if calibrator is not None else None
        self.bundle = bundle
        self.intake = FrameIntake(frozen_s=FROZEN_S, clock=clock)
        self.tta = TTA(SafetyPredictor(self.bundle, self.intake), ScoreSettings(views=2))
        self.streams = Streams(lambda pause: MonitorStream(self.bundle, statistics, small["settings"], pause=pause))
        self.scorer = WorldModelScorer(self.bundle, statistics, intake=self.intake, make_stream=self.streams, **small)
        self.calibrator = AnomalyCalibrator(calibrator, HORIZONS, max_age_s=1.0)
        self.clock, self.camera, self.commands = clock, camera, commands
        self.number = 0
        self.rho = self.delta = 0.0
        self.p: list[float] = []
        self.bound: list[float] = []

    def tick(self, change=lambda image: image, command=None, seconds=0.05):
        """(status, confidence); `change` makes of the good frame what the camera hands out."""
        self.clock.now += seconds
        image = change(self.camera(self.number))
        steering, throttle = command or self.commands(self.number)
        self.number += 1
        seen = self.intake.see(image)
        self.p = p = self.tta.run(seen)
        scored = self.scorer.run(seen, steering, throttle)
        self.rho, self.delta = scored[:2]
        confidence, _, status = self.calibrator.run(p, *scored)
        self.bound = self.calibrator.run(p, 1.0, 1.0, 0.0, False, "warming up")[0] if p else []
        return "ok" if status.startswith("unusual") else status, confidence  # what the scores say is not the question here

    def statuses(self, count, *arguments, **settings):
        return [self.tick(*arguments, **settings)[0] for _ in range(count)]


@pytest.fixture
def monitor(bundle, calibrator, small, clock, camera, commands):
    return Monitor(bundle, calibrator, small, clock, camera, commands)


def spells(statuses):
    """Runs of equal statuses: [('ok', 3), ...]."""
    return [(status, len(list(run))) for status, run in groupby(statuses)]


def test_no_image_yet_then_warm_up_then_ok(monitor, context):
    told = [monitor.tick(lambda image: None) for _ in range(3)]
    assert told == [("no image", [0.0] * len(HORIZONS))] * 3
    assert spells(monitor.statuses(context + 5)) == [("warming up", context - 1), ("ok", 6)]


def test_warming_up_reports_the_cautious_bound(monitor):
    status, confidence = monitor.tick()
    assert status == "warming up" and confidence == monitor.bound


def test_camera_freezes_then_comes_back(monitor, context):
    monitor.statuses(context)
    still = monitor.camera(1000)
    told = []
    for _ in range(8):
        status, confidence = monitor.tick(lambda image: still)
        told.append(status)
        if status == "camera frozen":
            assert confidence == monitor.bound
    # the first still frame is new, then FROZEN_FRAMES repeats are waited for
    assert spells(told) == [("ok", FROZEN_FRAMES), ("camera frozen", 8 - FROZEN_FRAMES)]
    assert monitor.tick()[0] == "ok"


def test_camera_goes_dark_then_recovers(monitor, context):
    monitor.statuses(context)
    assert monitor.rho < 0.5
    rhos = []
    for _ in range(context):
        status, confidence = monitor.tick(lambda image: (image * 0.1).astype(np.uint8))
        rhos.append(monitor.rho)
        assert status == "ok"
    assert rhos == sorted(rhos) and rhos[-1] == 1.0
    calm = monitor.calibrator.run(monitor.p, 0.0, 0.0, 0.0, True)[0]  # the same prediction, were nothing anomalous
    assert all(abs(now - 0.5) < 0.9 * abs(then - 0.5) for now, then in zip(confidence, calm, strict=True))
    monitor.statuses(2 * context)
    assert monitor.rho < 0.5 and monitor.tick()[0] == "ok"


def test_nan_commands_are_not_scored_and_a_new_sequence_follows(monitor, context):
    monitor.statuses(context)
    status, confidence = monitor.tick(command=(float("nan"), 0.2))
    assert status == "not finite" and confidence == monitor.bound
    assert spells(monitor.statuses(context)) == [("warming up", context - 1), ("ok", 1)]


@pytest.mark.parametrize("break_off", [{"command": (None, None)}, {"seconds": 0.6}])
def test_predictor_views_and_scorer_begin_a_sequence_at_the_same_frame(monitor, break_off):
    """The views of a frame depend on its number in the sequence: a replayed tub is cut here, and must give the same."""
    first = monitor.tick() and monitor.p
    monitor.statuses(2)
    monitor.tick(**break_off)
    monitor.number = 0
    monitor.tick(seconds=break_off.get("seconds", 0.05))
    assert monitor.p == first


def test_unknown_commands_are_told(monitor):
    assert monitor.tick(command=(None, None))[0] == "no command"


def test_nan_in_the_world_model_is_told_and_gone_within_one_context(monitor, context, monkeypatch):
    monitor.statuses(2 * context)
    encode = monitor.bundle.encode
    monkeypatch.setattr(monitor.bundle, "encode", lambda images: encode(images) * np.float32("nan"))
    status, confidence = monitor.tick()
    assert (status, monitor.rho, monitor.delta) == ("not finite", 1.0, 1.0) and confidence == monitor.bound
    monkeypatch.undo()
    assert spells(monitor.statuses(context + 2)) == [("not finite", context - 1), ("ok", 3)]


def test_nan_in_the_safety_predictor_is_told_and_does_not_stay(monitor, context, monkeypatch):
    monitor.statuses(context)
    predict = monitor.bundle.predict
    monkeypatch.setattr(monitor.bundle, "predict", lambda images: tuple(each * np.float32("nan") for each in predict(images)))
    assert monitor.tick() == ("not finite", [0.0] * len(HORIZONS))
    monkeypatch.undo()
    assert monitor.tick()[0] == "ok"


UNUSABLE = [
    lambda image: None,
    lambda image: np.where(image > 100, np.nan, image / 255.0),
    *[lambda image, shape=shape: np.zeros(shape, np.uint8) for shape in ((0, 160, 3), (120, 160, 2), (120,))],
]


@pytest.mark.parametrize("spoil", UNUSABLE)
def test_a_picture_that_is_lost_leaves_all_windows_as_they_are_and_many_end_the_sequence(monitor, context, spoil):
    """Every lost picture was a new sequence: with one in five lost nothing was ever known."""
    monitor.statuses(context)
    told = [monitor.tick(spoil if tick % 5 == 4 else lambda image: image) for tick in range(3 * context)]
    assert spells([status for status, _ in told]) == [("ok", 3 * context)] and min(min(each) for _, each in told) > 0.0
    told = [monitor.tick(spoil) for _ in range(14)]
    usual = "no image" if spoil(monitor.camera(0)) is None else "bad image"
    assert spells([status for status, _ in told]) == [("ok", 3), ("camera frozen", 7), (usual, 4)]
    assert min(told[9][1]) > 0.0 and told[-1][1] == [0.0] * len(HORIZONS), (
        "half a second ago there was a picture, now there is none to go on with"
    )
    assert spells(monitor.statuses(context)) == [("warming up", context - 1), ("ok", 1)]


def test_another_size_or_depth_that_can_be_used_is_used(monitor, context):
    monitor.statuses(context)
    assert monitor.tick(lambda image: image[::2, ::2])[0] == "ok"
    assert monitor.tick(lambda image: image[:, :, :1])[0] == "ok"


def test_scores_go_stale_while_commands_are_missing(monitor, context):
    monitor.statuses(context)
    p = monitor.tta.run(monitor.camera(0))
    rho, delta, age, valid, *_ = monitor.scorer.run(monitor.camera(0), None, None)
    assert age == pytest.approx(0.0) and not valid
    monitor.clock.now += 1.5
    rho, delta, age, *_ = monitor.scorer.run(monitor.camera(0), None, None)
    assert age == pytest.approx(1.5)
    assert monitor.calibrator.run(p, rho, delta, age, True)[2] == "scores stale"


def test_a_gap_starts_a_new_sequence(monitor, context):
    monitor.statuses(context)
    assert monitor.tick(seconds=0.45)[0] == "ok"
    assert spells([monitor.tick(seconds=0.6)[0], *monitor.statuses(context)]) == [("warming up", context - 1), ("ok", 2)]


def test_a_car_that_was_put_back_starts_a_new_sequence(monitor, context):
    monitor.statuses(context)
    monitor.scorer.reset()
    assert spells(monitor.statuses(context)) == [("warming up", context - 1), ("ok", 1)]


def test_bundle_without_calibrator(bundle, small, clock, camera, commands, context):
    monitor = Monitor(bundle, None, small, clock, camera, commands)
    for _ in range(context + 2):
        status, confidence = monitor.tick()
        assert status == "no calibrator" and max(confidence) <= 0.5


def test_nothing_leaks_from_one_drive_into_the_next(monitor, context):
    def drive():
        monitor.number = 0
        seen = []
        for _ in range(context + 3):
            status, confidence = monitor.tick()
            seen.append((status, confidence, monitor.rho, monitor.delta))
        return seen

    first = drive()
    for part in (monitor.tta, monitor.scorer, monitor.calibrator):
        part.shutdown()
    assert drive() == first


def test_user_switches_modes(monitor, context):
    """The monitor goes on in every mode; only the governor asks who drives."""
    monitor.statuses(context)
    governor = SafetyGovernor(GovernorPolicy("stop", cruise=0.4))
    told = []
    for mode in ("user", "local", "local_angle", "user", "local"):
        status, _ = monitor.tick()
        told.append((status, *governor.run("danger", [], 0.4, mode, "ok")))
    assert told == [("ok", 0.4, "off"), ("ok", 0.0, "stopped"), ("ok", 0.4, "off"), ("ok", 0.4, "off"), ("ok", 0.0, "stopped")]


def test_scoring_that_fails_in_the_loop_is_told_and_starts_again(monitor, context):
    monitor.statuses(context)

    def fail(frame):
        monitor.streams.before = lambda frame: None
        raise RuntimeError("broken")

    monitor.streams.before = fail
    status, confidence = monitor.tick()
    assert status == "scorer down" and confidence == monitor.bound
    assert spells(monitor.statuses(context)) == [("warming up", context - 1), ("ok", 1)]
    assert monitor.scorer.counts.restarts == 1
