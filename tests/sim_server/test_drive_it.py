"""What a client of the Unity simulator finds: the order of things, its camera, laps, faults and other cars."""

import json

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.sim_server.server_settings import ServerSettings
from donkey_aicc.simulator.drivers import Expert
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.unity_scenes import SCENES
from tests.sim_server.client_under_test import Client, Served, picture

STEPPED = {"port": 0, "stepped": True}
NUMBERS = ["cte", "speed", "time", "roll", "pitch", "yaw", "steering_angle", "throttle"]
NUMBERS += [f"{name}_{axis}" for name in ("pos", "vel", "accel", "gyro") for axis in "xyz"]


def test_a_client_drives_a_lap_and_hears_of_it():
    with Served(ServerSettings(**STEPPED)) as port:
        client = Client(port).load("oval", {"img_w": 32, "img_h": 24, "img_d": 3, "rot_x": 0})
        assert set(client.names) >= set(SCENES)
        track = make_track("oval")
        expert, seen = Expert(track), client.drive()
        for _ in range(500):
            yaw = np.pi / 2 - np.radians(seen["yaw"])
            command = expert.run(seen["pos_x"], seen["pos_z"], yaw, seen["speed"])
            seen = client.drive(*command)
            assert abs(seen["cte"]) < 0.35 and seen["hit"] == "none"
        assert all(isinstance(seen[name], float) for name in NUMBERS) and picture(seen).shape == (24, 32, 3)
        first, second = [m for m in client.heard if m["msg_type"] == "collision_with_starting_line"]
        lap = next(m["lap_time"] for m in client.heard if m["msg_type"] == "cross_start")
        assert first["timeStamp"] > 0.0 and second["timeStamp"] - first["timeStamp"] == pytest.approx(lap) and lap > 10.0
        client.close()


def test_the_brake_stops_it_and_a_reset_begins_anew():
    with Served(ServerSettings(**STEPPED)) as port:
        client = Client(port).load("loop")
        start = client.drive()
        for _ in range(20):
            seen = client.drive(0.0, 0.6)
        assert seen["speed"] > 0.8
        for _ in range(20):
            seen = client.drive(0.0, 0.6, 1.0)
        assert seen["speed"] < 0.2
        client.send("reset_car")
        seen = client.drive()
        assert seen["pos_x"] == pytest.approx(start["pos_x"], abs=0.01) and seen["time"] == pytest.approx(0.05)
        client.send("set_position", pos_x="3.2", pos_y="0", pos_z="0.1")
        assert client.drive()["pos_x"] == pytest.approx(3.2, abs=0.01)
        client.send("exit_scene")
        client.load("loop")
        assert client.drive()["time"] == pytest.approx(0.05)
        client.close()


def test_a_scene_speaks_in_its_own_unit_so_that_leaving_the_lane_ends_the_clients_episode():
    """gym-donkeycar ends an episode at 8 < |cte| <= 16, and the tub's departures are counted beyond the scene's width."""
    with Served(ServerSettings(**STEPPED)) as port:
        client = Client(port).load("generated_track", {"img_w": 16, "img_h": 16, "img_d": 3, "rot_x": 0})
        seen = [client.drive(0.0, 0.5) for _ in range(150)]
        ctes = np.abs([each["cte"] for each in seen])
        assert any((ctes > 8.0) & (ctes <= 16.0)) and any((ctes > SCENES["generated_track"].half_width) & (ctes < 8.0))
        assert max(each["speed"] for each in seen) > 5.0
        client.close()


def test_a_car_at_a_wall_says_so_and_is_set_back_when_nobody_resets_it():
    with Served(ServerSettings(**STEPPED)) as port:
        client = Client(port).load("loop", {"img_w": 16, "img_h": 16, "img_d": 1, "rot_x": 5})
        hits = [client.drive(0.0, 0.8)["hit"] for _ in range(200)]
        assert "wall" in hits and hits[hits.index("wall") :].count("none") > 0
        assert picture(client.drive()).shape == (16, 16)
        client.close()


def test_faults_go_to_the_car_of_that_name_and_the_same_seed_gives_the_same_drive():
    settings = ServerSettings(**STEPPED, faults_by_name={"alice": "dark:5"}, seed=3)

    def drive(name):
        with Served(settings) as port:
            client = Client(port).load(name=name)
            seen = [client.drive(0.1, 0.4) for _ in range(5)]
            client.close()
            return seen

    alice, bob, again = drive("alice"), drive("bob"), drive("bob")
    assert picture(alice[-1]).mean() < 0.5 * picture(bob[-1]).mean()
    assert json.dumps(bob) == json.dumps(again)


def test_together_they_see_and_hit_each_other():
    with Served(ServerSettings(**STEPPED, together=True, track="oval")) as port:
        first = Client(port).load(name="first")
        ahead = first.drive()
        second = Client(port).load(name="second")
        behind = second.drive()
        assert behind["pos_x"] < ahead["pos_x"]
        reds = (picture(second.drive())[..., 0].astype(int) - picture(second.drive())[..., 1]) > 60
        assert reds.sum() > 100, "the car ahead is red"
        hit = "none"
        for _ in range(60):
            hit = second.drive(0.0, 0.5)["hit"]
            if hit != "none":
                break
        assert hit == "first" and first.drive()["hit"] == "second"
        first.close(), second.close()


def test_by_the_clock_a_silent_client_gets_its_frames_and_a_scale_is_applied():
    with Served(ServerSettings(port=0, rate_hz=100.0, scale=10.0)) as port:
        client = Client(port).load("no_such_scene")
        client.send("control", steering="0", throttle="1", brake="0")
        seen = [client.wait_for("telemetry") for _ in range(60)]
        assert seen[-1]["time"] - seen[0]["time"] == pytest.approx(0.59, abs=0.02) and seen[-1]["speed"] > 10.0
        client.close()


def test_a_mistake_is_one_clear_message():
    for wrong, said in (
        ({"track": "ovale"}, "track must be one of loop"),
        ({"faults": "smoke:1"}, "fault must be one of dark"),
        ({"faults_by_name": {"a": "dark:9"}}, "severity"),
        ({"port": 70000}, "--port must be"),
        ({"rate_hz": 0.5}, "--rate must be"),
        ({"scale": 0.0}, "--scale must be"),
        ({"seed": -1}, "--seed must be"),
    ):
        with pytest.raises(AiccError, match=said):
            ServerSettings(**wrong)
