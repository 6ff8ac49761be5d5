"""A drive replayed from its tub, with the JPEG pictures that donkeycar writes, gives the scores that the parts published live."""

from dataclasses import replace

import donkeycar as dk
import numpy as np
import pytest
from donkeycar.parts.tub_v2 import TubWriter

from donkey_aicc import channels
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.guarded_tub import GuardedTub
from donkey_aicc.parts.injection_control import InjectionControl
from donkey_aicc.parts.safety_predictor import TTA, Restoring, SafetyPredictor
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.nominal_distance import MahalanobisScore
from donkey_aicc.scoring.own_scores import register_score
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.restored_view import Restoration
from donkey_aicc.scoring.statistics import Normaliser
from donkey_aicc.simulator.drivers import Expert
from donkey_aicc.simulator.driving import SimulatorPart
from donkey_aicc.simulator.world import World
from donkey_aicc.tubs.load import load_drives

TYPES = {
    channels.IMAGE: "image_array",
    channels.STEERING: "float",
    channels.THROTTLE: "float",
    channels.CTE: "float",
    channels.INJECT_PROTOCOL: "str",
    channels.INJECT_SEVERITY: "int",
    channels.INJECT_EPISODE: "int",
}
LIVE = [channels.RHO, channels.DELTA, channels.SCORES_VALID, *TTA.DETAILS[:5], channels.SCORES]


def make_warming():
    """Somebody's own anomaly score, with a memory of its sequence."""
    first = []

    def score(image, steering, throttle):
        first[:] = first or [float(image.mean())]
        return float(image.mean()) - first[0] + 10.0 * steering

    return score


BRIGHT = (-3.0, 0.5)  # log error and its spread


class Notes:
    def __init__(self):
        self.rows = []

    def run(self, *values):
        self.rows.append(values)


@pytest.fixture
def wide_statistics(statistics):
    """Normalised so that the scores of this drive stay away from the ends of [0, 1]: clipped scores compare too easily."""
    own = {"warming": Normaliser(-60.0, 60.0)}
    distance = MahalanobisScore(np.zeros(12), np.ones(12), np.eye(12), mu=0.0, sigma=20.0)
    nominal = {"rho_raw": Normaliser(0.0, 0.2), "dynamics": distance, "hindsight": Normaliser(-1e-3, 1e-3), "own": own}
    return replace(statistics, density=None, **nominal)


@pytest.mark.parametrize("kind", ["bundle", "history_bundle", "own_bundle"])
def test_replay_gives_the_live_scores(kind, request, wide_statistics, small, context, tmp_path):
    bundle, statistics = request.getfixturevalue(kind), wide_statistics
    world = World("oval", seed=3)
    expert = Expert(world.track)

    class Driver:
        def run(self):
            car = world.vehicle
            return (*expert.run(car.x, car.y, car.yaw, car.speed), "local")

    control = InjectionControl(parse_schedule("dark:3@15-25ticks,bias:2@20-30ticks,latency:2@28-36ticks"), seed=1)
    notes = Notes()
    vehicle = dk.vehicle.Vehicle()
    sent = [channels.STEERING, channels.THROTTLE]
    vehicle.add(SimulatorPart(world), inputs=sent, outputs=[channels.IMAGE, *channels.LOCATION])
    vehicle.add(AnomalyInjector(control, "sensor"), inputs=[channels.IMAGE, channels.MODE], outputs=[channels.IMAGE])
    vehicle.add(Driver(), outputs=[*sent, channels.MODE])
    told = [channels.INJECT_PROTOCOL, channels.INJECT_SEVERITY, channels.INJECT_EPISODE]
    vehicle.add(AnomalyInjector(control, "command"), inputs=[*sent, channels.MODE], outputs=[*sent, *told])
    intake = FrameIntake(gap_s=60.0)  # whatever else this machine does; the reader is told the same
    vehicle.add(intake, inputs=[channels.IMAGE], outputs=[channels.FRAME, channels.MODEL_IMAGE])
    # An untrained net rebuilds a picture the worse the brighter it is; so the dark ones pass for usual until they are restored.
    restoration = Restoration((0.3, 0.3, 0.3), (0.1, 0.1, 0.1), *BRIGHT)
    register_score("warming", make_warming)
    settings = replace(small["settings"], seed=4, restoration=restoration, own=("warming",))
    scorer = WorldModelScorer(bundle, statistics, settings, intake=intake)
    named = {"statistics": statistics, "score_names": ("hindsight",), "restoring": Restoring(restoration, lambda: scorer.newest)}
    tta = TTA(SafetyPredictor(bundle, intake), settings, details=True, **named)
    vehicle.add(tta, inputs=[channels.FRAME, channels.STEERING], outputs=list(TTA.DETAILS))
    scored = [channels.RHO, channels.DELTA, channels.SCORES_AGE_S, channels.SCORES_VALID, channels.SCORES_STATE, channels.SCORES]
    vehicle.add(scorer, inputs=[channels.FRAME, *sent], outputs=scored)
    writer = TubWriter(str(tmp_path / "tub"), list(TYPES), list(TYPES.values()))
    vehicle.add(writer, inputs=list(TYPES), outputs=["tub/num_records"])
    vehicle.add(notes, inputs=LIVE)
    vehicle.start(rate_hz=100_000, max_loop_count=40)

    data = load_drives([tmp_path / "tub"], max_gap_s=60.0, cache_dir=tmp_path / "cache")
    assert [len(sequence) for sequence in data.drives] == [40]
    table = score_drives(bundle, data.drives, settings=settings)
    scores = statistics.scores(table)
    *numbers, named = zip(*notes.rows, strict=True)
    rho, delta, valid, p_tta, p_safe, p_restored, restored, hindsight = map(np.array, numbers)
    warming = np.array([each["warming"] for each in named])
    assert warming == pytest.approx(scores["warming"], abs=1e-6) and 0.0 < np.ptp(warming) < 1.0
    assert rho == pytest.approx(scores["rho"], abs=1e-5)
    known = table.step >= settings.rollout_frames - 1  # before, no look ahead is done and delta counts as the maximum
    assert delta[known] == pytest.approx(scores["delta"][known], abs=1e-5) and (delta[~known] == 1.0).all()
    assert p_tta == pytest.approx(table.p_tta, abs=1e-5) and p_safe == pytest.approx(table.p_safe, abs=1e-5)
    assert p_restored == pytest.approx(table.p_restored, abs=1e-5) and restored == pytest.approx(table.restored, abs=1e-6)
    assert hindsight == pytest.approx(scores["hindsight"], abs=1e-5)
    assert np.ptp(restored) > 0.2 and restored[:5].max() == 0.0  # the first check counts from the second on
    # Live, `valid` also means that the camera is alive: latency freezes it for some frames.
    assert not (valid & ~table.valid).any() and valid[:28].tolist() == table.valid[:28].tolist()
    assert set(table.protocol) >= {"", "dark", "bias+dark", "latency"}
    for name in ("rho", "delta"):  # the comparison is not between constants
        values = scores[name][known]
        assert np.ptp(values) > 0.05 and values.min() > 0.0 and values.max() < 1.0


def test_a_lost_picture_is_the_same_gap_live_and_replayed(bundle, wide_statistics, small, tmp_path):
    """One in five is lost: live nothing was ever known, and the tub was cut into pieces of four."""
    rng = np.random.default_rng(0)
    settings, intake, live = replace(small["settings"], seed=4), FrameIntake(tick_s=0.05), []
    tta = TTA(SafetyPredictor(bundle, intake), settings, details=True)
    scorer = WorldModelScorer(bundle, wide_statistics, settings, intake=intake)
    sent = [channels.STEERING, channels.THROTTLE]
    writer = GuardedTub(TubWriter(str(tmp_path / "tub"), [channels.IMAGE, *sent], ["image_array", "float", "float"]))
    for tick in range(30):
        image = None if tick % 5 == 4 or 20 <= tick < 23 else rng.integers(0, 256, (120, 160, 3)).astype(np.uint8)
        command = float(np.sin(tick)), 0.3
        seen = intake.see(image)
        p_tta, *_ = tta.run(seen, command[0])
        live.append((*scorer.run(seen, *command)[:2], p_tta))
        writer.run(image, *command)
    writer.close()
    data = load_drives([tmp_path / "tub"], max_gap_s=60.0, cache_dir=tmp_path / "cache")
    health = data.report.tubs[0]
    assert [len(drive) for drive in data.drives] == [29] and health.usable == 21 and not health.cuts  # the last one is lost
    table = score_drives(bundle, data.drives, settings=settings)
    scores, rows = wide_statistics.scores(table), slice(settings.rollout_frames, 29)
    for column, expected in zip(zip(*live, strict=True), (scores["rho"], scores["delta"], table.p_tta), strict=True):
        assert np.array(column)[rows] == pytest.approx(expected[rows], abs=1e-5)
    assert np.ptp(scores["rho"][rows]) > 1e-4 and np.ptp(scores["delta"][rows]) > 1e-4, "not between constants"
    loaded = load_drives([tmp_path / "tub"], max_gap_s=1e-9, cache_dir=tmp_path / "cache")
    assert {cut.reason for cut in loaded.report.tubs[0].cuts} >= {"unreadable image"}, "longer than the gap that is allowed"
