"""The figures of a camera: each moves with what it is named after and stays when something else changes."""

import cv2
import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from studies.camera_check import figures_of

RNG = np.random.default_rng(0)
SCENE = cv2.GaussianBlur(RNG.integers(40, 200, (120, 160, 3)).astype(np.float32), (0, 0), 4.0)
SCENE = 120.0 + 8.0 * (SCENE - SCENE.mean())
FOLLOWS = np.arange(6) > 0


def shots(scene: np.ndarray = SCENE, noise: float = 0.0, light: tuple[float, ...] = (1.0,) * 6) -> np.ndarray:
    pictures = [scene * factor + noise * RNG.standard_normal(scene.shape) for factor in light]
    return np.clip(np.rint(pictures), 0, 255).astype(np.uint8)


def test_noise_is_measured_in_grey_levels() -> None:
    # Three colour channels are averaged to grey, which divides independent noise by the root of 3.
    assert figures_of(shots(noise=6.0), FOLLOWS).noise == pytest.approx(6.0 / 3**0.5, rel=0.25)
    assert figures_of(shots(), FOLLOWS).noise < 0.5


def test_sharpness_falls_with_focus_and_exposure_spread_follows_the_light() -> None:
    plain, soft = figures_of(shots(), FOLLOWS), figures_of(shots(cv2.GaussianBlur(SCENE, (0, 0), 3.0)), FOLLOWS)
    assert soft.detail < plain.detail
    lit = figures_of(shots(light=(0.7, 0.8, 0.9, 1.0, 1.1, 1.2)), FOLLOWS)
    assert lit.exposure_spread > 10 > plain.exposure_spread and lit.flicker > plain.flicker


def test_change_counts_only_frames_that_follow_each_other() -> None:
    frames = shots(light=(1.0, 1.0, 0.5, 0.5, 1.0, 1.0))
    assert figures_of(frames, np.array([False, True, False, True, False, True])).change == 0.0
    assert figures_of(frames, FOLLOWS).change > 10
    with pytest.raises(AiccError, match="follow each other"):
        figures_of(frames[:1], FOLLOWS[:1])


def test_motion_blur_is_detail_lost_in_the_frames_that_change_most() -> None:
    moved = np.roll(SCENE, 12, axis=1)
    pairs = np.array([False, True] * 3)
    sharp = np.concatenate([shots(SCENE)[:4], shots(SCENE)[:1], shots(moved)[:1]])
    smeared = np.concatenate([shots(SCENE)[:4], shots(SCENE)[:1], shots(cv2.blur(moved, (15, 1)))[:1]])
    assert abs(figures_of(sharp, pairs).motion_blur) < 0.05 < 0.2 < figures_of(smeared, pairs).motion_blur
