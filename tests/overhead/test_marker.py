import cv2
import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.overhead.marker import MarkerColour, pick_colour


def scene(bgr, noise=5.0):
    frame = np.full((200, 300, 3), (120, 130, 125), np.uint8)
    cv2.rectangle(frame, (140, 90), (155, 105), bgr, -1)
    return np.clip(frame + np.random.default_rng(0).normal(0, noise, frame.shape), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("bgr", [(200, 0, 255), (10, 10, 240), (240, 40, 20), (20, 200, 30)])
def test_the_picked_range_covers_the_marker_in_light_and_shade_and_nothing_else(bgr):
    frame = scene(bgr)
    colour, area_px = pick_colour(frame, 147, 98)
    assert area_px == pytest.approx(256, rel=0.25)
    for light in (1.0, 0.5):
        mask = colour.mask((frame * light).astype(np.uint8)) > 0
        assert mask[92:104, 142:154].mean() > 0.97
        mask[85:111, 135:161] = False
        assert mask.mean() < 0.001


def test_red_goes_through_the_end_of_the_hue_circle():
    colour, _ = pick_colour(scene((10, 10, 240)), 147, 98)
    assert colour.low[0] > colour.high[0]


def test_a_click_beside_the_marker_on_grey_is_refused():
    with pytest.raises(AiccError, match="hardly any colour"):
        pick_colour(scene((200, 0, 255)), 40, 40)


def test_a_click_outside_is_refused():
    with pytest.raises(ConfigError, match="300x200"):
        pick_colour(scene((200, 0, 255)), 300, 40)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        ((0, 200, 0), (10, 100, 255), "saturation 200 is not below"),
        ((0, 0, 255), (10, 255, 255), "value 255 is not below"),
        ((180, 0, 0), (10, 255, 255), "hue must be from 0 to 179, got 180"),
        ((0, 0), (10, 255, 255), "three whole numbers"),
    ],
)
def test_impossible_ranges_are_refused(low, high, said):
    with pytest.raises(ConfigError, match=said):
        MarkerColour(low, high)
