import math

import cv2
import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.camera import Camera, CameraConfig
from donkey_aicc.simulator.tracks import TRACK_NAMES, make_track


@pytest.fixture(scope="module")
def loop():
    return make_track("loop")


def difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(int) - b.astype(int)).mean())


def frame_at(track, s_m: float, seed: int = 0, config: CameraConfig | None = None, speed=0.0, yaw_rate=0.0) -> np.ndarray:
    return Camera(track, config).render(track.pose_at(s_m), speed, yaw_rate, np.random.default_rng(seed))


@pytest.mark.parametrize("size", [(160, 120), (64, 64), (320, 240), (33, 17)])
def test_frame_has_the_asked_size(loop, size):
    frame = frame_at(loop, 1.0, config=CameraConfig(width=size[0], height=size[1]))
    assert frame.shape == (size[1], size[0], 3) and frame.dtype == np.uint8


@pytest.mark.parametrize("name", TRACK_NAMES)
def test_exposure_is_moderate_everywhere(name):
    track = make_track(name)
    camera, rng = Camera(track), np.random.default_rng(0)
    for s_m in np.linspace(0, track.length_m, 25):
        frame = camera.render(track.pose_at(float(s_m)), 1.0, 0.0, rng)
        assert 90 < frame.mean() < 200
        assert (frame == 255).mean() < 0.05 and (frame == 0).mean() < 0.01


def test_two_frames_at_one_pose_differ_only_by_noise_and_exposure(loop):
    camera, rng = Camera(loop), np.random.default_rng(0)
    pose = loop.pose_at(4.0)
    first, second = (camera.render(pose, 0.0, 0.0, rng) for _ in range(2))
    assert 0.5 < difference(first, second) < 8.0


def test_poses_thirty_centimetres_apart_are_visibly_different(loop):
    for s_m in np.linspace(0, loop.length_m, 12, endpoint=False):
        here, there = frame_at(loop, float(s_m)), frame_at(loop, float(s_m) + 0.3)
        assert difference(cv2.blur(here, (5, 5)), cv2.blur(there, (5, 5))) > 4.0


def test_places_do_not_look_alike(loop):
    frames = [cv2.resize(frame_at(loop, s), (16, 12)).astype(float) for s in np.linspace(0, loop.length_m, 15)[:-1]]
    for i, one in enumerate(frames):
        for other in frames[i + 1 :]:
            assert np.abs(one - other).mean() > 6.0


def test_same_randomness_same_bytes(loop):
    assert np.array_equal(frame_at(loop, 2.0, seed=4), frame_at(loop, 2.0, seed=4))
    assert not np.array_equal(frame_at(loop, 2.0, seed=4), frame_at(loop, 2.0, seed=5))


def test_lane_line_is_drawn_where_geometry_says(loop):
    """A point of the right lane edge, projected by hand through the pinhole, is bright in the picture."""
    config = CameraConfig()
    x, y, yaw = loop.pose_at(0.0)
    eye = (x + config.forward_m * math.cos(yaw), y + config.forward_m * math.sin(yaw))
    px, py, _ = loop.pose_at(0.6, loop.half_width_m)
    ahead = (px - eye[0]) * math.cos(yaw) + (py - eye[1]) * math.sin(yaw)
    right = (px - eye[0]) * math.sin(yaw) - (py - eye[1]) * math.cos(yaw)
    pitch = math.radians(config.pitch_deg)
    depth = ahead * math.cos(pitch) + config.height_m * math.sin(pitch)
    down = config.height_m * math.cos(pitch) - ahead * math.sin(pitch)
    col = 0.5 * (config.width - 1) + config.focal_px * right / depth
    row = 0.5 * (config.height - 1) + config.focal_px * down / depth
    grey = frame_at(loop, 0.0).mean(axis=2)
    line = grey[round(row) - 1 : round(row) + 2, round(col) - 1 : round(col) + 2].mean()
    lane = grey[round(row), round(col) - 16 : round(col) - 8].mean()
    assert line > lane + 30


def test_motion_blurs(loop):
    def sharpness(frame):
        return cv2.Laplacian(frame, cv2.CV_32F).var()

    still = sharpness(frame_at(loop, 3.0))
    assert sharpness(frame_at(loop, 3.0, yaw_rate=4.0)) < 0.9 * still


def test_corners_of_the_picture_are_darker(loop):
    camera, rng = Camera(loop), np.random.default_rng(0)
    mean = np.mean([camera.render(loop.pose_at(s), 0, 0, rng) for s in np.linspace(0, 20, 60)], axis=(0, 3))
    assert mean[-8:, :8].mean() < 0.93 * mean[-30:-10, 70:90].mean()


def test_light_drifts_with_place_and_time(loop):
    camera, rng = Camera(loop), np.random.default_rng(0)
    along = [camera.lighting.next_frame(*loop.pose_at(s)[:2], np.random.default_rng(1))[0] for s in np.linspace(0, 20, 40)]
    waiting = [camera.lighting.next_frame(1.0, 1.0, rng)[0] for _ in range(2000)]
    assert np.ptp(along) > 0.05
    assert np.ptp(waiting) > 0.05


def test_looking_into_a_wall_or_from_outside_the_room_draws_something(loop):
    xmin, ymin, xmax, ymax = loop.arena
    camera, rng = Camera(loop), np.random.default_rng(0)
    for pose in ((xmax - 0.02, 0.0, 0.0), (xmin - 1.0, ymin - 1.0, 2.0), (0.0, ymax, math.pi / 2), (0.0, 0.0, -math.pi)):
        with np.errstate(invalid="raise"):
            frame = camera.render(pose, 0.0, 0.0, rng)
        assert frame.std() > 2


def test_camera_looking_straight_ahead_or_up_sees_walls_only_above_the_horizon(loop):
    frame = frame_at(loop, 0.0, config=CameraConfig(pitch_deg=-30.0))
    assert frame.shape == (120, 160, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"width": 0},
        {"height": -5},
        {"width": 100000},
        {"width": 160.5},
        {"fov_deg": 180.0},
        {"pitch_deg": 95.0},
        {"height_m": 0.0},
    ],
)
def test_impossible_camera_is_refused(change):
    with pytest.raises(ConfigError, match=next(iter(change))):
        CameraConfig(**change)
