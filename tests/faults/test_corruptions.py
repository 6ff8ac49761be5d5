"""The visual D_aug families: stronger means farther from the picture, and none is a dark, pale or blurred picture."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.corruptions import DEFAULT_STRENGTHS, FAMILIES, corrupt

LUMA = np.array([0.299, 0.587, 0.114])
SIZES = [(64, 64), (120, 160)]


def road(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A grainy floor with a yellow and a white line under a plain wall."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    picture = np.full((height, width, 3), (120.0, 110.0, 95.0))
    picture += 14 * rng.standard_normal((height, width, 1)) + 6 * rng.standard_normal((height, width, 3))
    picture[: height // 3] = (150, 170, 200)
    picture[(np.abs(x - (0.5 * width + 0.3 * (y - height // 3))) < width / 20) & (y > height // 3)] = (230, 200, 40)
    picture[(np.abs(x - (0.15 * width + 0.2 * y)) < width / 25) & (y > height // 3)] = (240, 240, 240)
    return np.clip(picture, 0, 255).astype(np.uint8)


def distance(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.sqrt(((first.astype(float) - second) ** 2).mean()))


def luminance(image: np.ndarray) -> float:
    return float((image @ LUMA).mean())


def gradient_energy(image: np.ndarray) -> float:
    grey = image @ LUMA
    return float(np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("family", FAMILIES)
def test_each_severity_lies_farther_from_the_picture(family: str, size: tuple[int, int]) -> None:
    mean = np.zeros(5)
    for seed in range(4):
        image = road(*size, seed)
        mean += [distance(corrupt(image, family, s, np.random.default_rng(seed)), image) for s in DEFAULT_STRENGTHS[family]]
    assert mean[0] > 4 * 1.0, "severity 1 must be visible"
    assert (np.diff(mean) > 0).all(), mean / 4


@pytest.mark.parametrize("family", FAMILIES)
def test_distance_grows_along_the_continuous_strength(family: str) -> None:
    strengths = np.linspace(0, 1, 9)
    mean = np.zeros(len(strengths))
    for seed in range(4):
        image = road(64, 64, seed)
        mean += [distance(corrupt(image, family, float(s), np.random.default_rng(seed)), image) for s in strengths]
    assert mean[0] == 0
    assert (np.diff(mean) > -0.02 * mean[-1]).all(), mean / 4  # block grids and JPEG tables move in steps
    assert mean[-1] > 4 * 20


@pytest.mark.parametrize("family", FAMILIES)
def test_same_generator_state_gives_the_same_bytes_and_the_input_stays(family: str) -> None:
    image = road(64, 64)
    untouched = image.copy()
    image.setflags(write=False)
    first = corrupt(image, family, 0.6, np.random.default_rng(7))
    assert np.array_equal(first, corrupt(image, family, 0.6, np.random.default_rng(7)))
    assert np.array_equal(image, untouched)
    assert first.shape == image.shape and first.dtype == np.uint8 and first.flags.writeable


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("severity", range(5))
def test_no_family_is_a_brightness_change(family: str, severity: int) -> None:
    image = road(64, 64)
    changed = corrupt(image, family, DEFAULT_STRENGTHS[family][severity], np.random.default_rng(2))
    assert abs(luminance(changed) / luminance(image) - 1) < 0.1


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"pixelation", "jpeg"}))
def test_no_family_is_a_blur(family: str) -> None:
    """Veils replace the structure they hide. JPEG and pixelation lose detail by nature, but see the next test."""
    image = road(64, 64)
    for strength in DEFAULT_STRENGTHS[family]:
        changed = corrupt(image, family, strength, np.random.default_rng(2))
        assert gradient_energy(changed) > 0.6 * gradient_energy(image), strength


@pytest.mark.parametrize("family", ["pixelation", "jpeg"])
def test_coarse_pictures_keep_hard_block_edges(family: str) -> None:
    image = road(64, 64)
    changed = corrupt(image, family, DEFAULT_STRENGTHS[family][-1], np.random.default_rng(2)) @ LUMA
    steps = np.abs(np.diff(changed, axis=1))
    assert np.quantile(steps, 0.5) < 3, "flat inside blocks"
    assert steps.max() > 40, "and sharp between them"


@pytest.mark.parametrize("family", ["fog", "frost", "desaturation", "colour_jitter"])
def test_no_family_is_a_contrast_change(family: str) -> None:
    """A contrast change is a straight line from old to new luminance that is flatter than 1 and fits well."""
    image = road(64, 64)
    before = (image @ LUMA).ravel()
    after = (corrupt(image, family, DEFAULT_STRENGTHS[family][-1], np.random.default_rng(2)) @ LUMA).ravel()
    slope, offset = np.polyfit(before, after, 1)
    unexplained = float(np.var(after - slope * before - offset) / np.var(before))
    assert slope > 0.9 or unexplained > 0.2, (slope, unexplained)


def test_wrong_input_is_explained() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(AiccError, match="corruption family"):
        corrupt(road(64, 64), "blur", 0.5, rng)
    with pytest.raises(AiccError, match="strength of fog"):
        corrupt(road(64, 64), "fog", 1.5, rng)
    with pytest.raises(AiccError, match="uint8"):
        corrupt(road(64, 64) / 255.0, "fog", 0.5, rng)
