"""A car in the Unity simulator: laps, hits and the scene go into the tub, departures are found, a foreign bundle is said."""

from types import SimpleNamespace

import numpy as np
import pytest
from donkeycar.parts.tub_v2 import TubWriter
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.car import wiring
from donkey_aicc.car.bundles import foreign_warning, homes_of, known_bundle
from donkey_aicc.cli import main
from donkey_aicc.simulator.unity_scenes import SCENES, scene_of_env
from donkey_aicc.tubs.home import EMBEDDED, REAL_CAR, UNITY, home_of_tub, is_at_home, unity_scene
from donkey_aicc.tubs.load import load_drives


class DonkeyGymEnv:
    """donkeycar's part with gym-donkeycar's answers; its name is how it is known."""

    def __init__(self, ctes):
        self._ctes, self._tick = ctes, 0
        self.info = {}

    def run(self, steering, throttle):
        cte = self._ctes[self._tick]
        self._tick += 1
        self.info = {"hit": "cone" if self._tick >= 6 else "none", "lap_count": self._tick // 5, "cte": cte}
        return np.full((60, 80, 3), 40 + 3 * self._tick, np.uint8), 1.0, 0.0, 2.0, 0.5, cte


class Fixed:
    def run(self):
        return 0.1, 0.3, "user"


def drive(tmp_path, **settings):
    """Ten ticks, recorded as the stock template does it; returns the tub."""
    cfg = SimpleNamespace(
        DATA_PATH=str(tmp_path / "data"),
        DRIVE_LOOP_HZ=20,
        DONKEY_GYM=True,
        DONKEY_GYM_ENV_NAME="donkey-generated-track-v0",
        SIM_RECORD_LOCATION=True,
        METADATA=["driver:me"],
        **settings,
    )
    vehicle = Vehicle()
    sent = [channels.STEERING, channels.THROTTLE]
    unity = DonkeyGymEnv([0.0, 1.0, 2.9, 3.2, 4.0, 2.0, 0.5, 0.0, 0.0, 0.0])
    vehicle.add(unity, inputs=sent, outputs=[channels.IMAGE, *channels.LOCATION])
    vehicle.add(Fixed(), outputs=[*sent, channels.MODE])
    kinds = {channels.IMAGE: "image_array", channels.MODE: "str", **dict.fromkeys(channels.LOCATION, "float")}
    inputs, types = wiring.add_aicc(vehicle, cfg, list(kinds), list(kinds.values()))
    tub = TubWriter(str(tmp_path / "data"), inputs=inputs, types=types, metadata=cfg.METADATA)
    vehicle.add(tub, inputs=inputs, outputs=["tub/num_records"])
    for _ in range(10):
        vehicle.update_parts()
    tub.close()
    return tmp_path / "data"


def test_laps_hits_and_departures_are_in_the_tub(tmp_path):
    tub = drive(tmp_path)
    from donkeycar.parts.tub_v2 import Tub

    records = list(Tub(str(tub), read_only=True))
    assert [record[channels.HIT] for record in records] == [False] * 5 + [True] + [False] * 4, "one hit is one hit"
    assert [record[channels.LAP] for record in records] == [1] * 4 + [2] * 5 + [3]
    loaded = load_drives([str(tub)], min_length=1)
    assert loaded.report.tubs[0].home == "the Unity simulator, generated_track" and loaded.lane_half_width == 3.0
    assert loaded.drives[0].departed.tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]


def test_a_width_of_ones_own_and_a_scene_without_one(tmp_path, capsys):
    assert load_drives([str(drive(tmp_path / "own", AICC_LANE_HALF_WIDTH=1.5))], min_length=1).lane_half_width == 1.5
    assert "no departures known" not in capsys.readouterr().out
    assert SCENES["mini_monaco"].half_width is None and all(scene.source for scene in SCENES.values() if scene.half_width)


def test_a_bundle_of_another_world_is_said(tmp_path, capsys):
    drive(tmp_path, AICC_BUNDLE="reference", AICC_SCORER_THREADED=False)
    said = capsys.readouterr().out
    assert "the bundle reference was trained in the embedded simulator, and this is the Unity simulator, generated_track" in said


def test_scores_of_another_world_are_said(tmp_path, capsys):
    drive(tmp_path)
    words = ["score", str(tmp_path / "data"), "--bundle", "reference", "--grade", "light", "--workers", "1"]
    assert main([*words, "--out", str(tmp_path / "scores.npz")]) == 0
    said = "the bundle reference was trained in the embedded simulator, and this is the Unity simulator, generated_track"
    assert capsys.readouterr().err.count(said) == 1


@pytest.mark.parametrize(
    ("home", "here", "fits"),
    [
        (EMBEDDED, EMBEDDED, True),
        (EMBEDDED, REAL_CAR, False),
        (REAL_CAR, unity_scene("warehouse"), False),
        (unity_scene("warehouse"), unity_scene("warehouse"), True),
        (unity_scene("warehouse"), unity_scene("warren"), False),
        (unity_scene("warehouse"), UNITY, False),
        (UNITY, unity_scene("warren"), True),
    ],
)
def test_who_is_at_home_where(home, here, fits):
    assert is_at_home([home], here) == fits
    manifest = SimpleNamespace(data={"homes": [home]})
    assert (foreign_warning("b", manifest, here) is None) == fits
    assert foreign_warning("b", SimpleNamespace(data={}), here) is None, "it does not say"


def test_homes_of_tubs_bundles_and_environments():
    assert homes_of(known_bundle("reference")) == [EMBEDDED]
    assert home_of_tub({"track": "loop"}, channels.LOCATION) == EMBEDDED
    assert home_of_tub({}, channels.LOCATION) == UNITY and home_of_tub({}, [channels.IMAGE]) == REAL_CAR
    names = ["generated-roads", "warehouse", "avc-sparkfun", "generated-track", "mountain-track", "roboracingleague-track"]
    names += ["waveshare", "minimonaco-track", "warren-track", "thunderhill-track", "circuit-launch-track"]
    assert {scene_of_env(f"donkey-{name}-v0") for name in names} == set(SCENES)
    assert scene_of_env("donkey-moon-v0") == scene_of_env("") == ""
