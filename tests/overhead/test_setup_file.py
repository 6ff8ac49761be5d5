import json

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.files import write_json
from donkey_aicc.overhead.setup_file import load_setup, parse_setup


def test_a_saved_setup_is_read_back_the_same(inputs, tmp_path):
    inputs |= {"lens_k1": -0.03, "reverse": True, "camera_m": [2.0, 1.5, 3.0]}
    inputs["marker"]["height_m"] = 0.1
    setup = parse_setup(inputs, (640, 480))
    write_json(tmp_path / "setup.json", setup.to_json())
    again = load_setup(tmp_path / "setup.json", (640, 480))
    assert again.to_json() == setup.to_json()
    assert np.allclose(again.floor.to_marker([320.0, 240.0]), setup.floor.to_marker([320.0, 240.0]), atol=1e-4)


def test_the_centreline_may_be_clicked_in_pixels(inputs):
    by_metres = parse_setup(inputs)
    inputs["centreline_px"] = by_metres.floor.to_pixel(np.array(inputs.pop("centreline_m"))).tolist()
    assert np.allclose(parse_setup(inputs).centreline_m, by_metres.centreline_m, atol=1e-6)


def test_the_lens_may_be_given_by_straight_lines(inputs):
    bent = np.stack([np.linspace(20, 620, 7), 40 + 8 * np.linspace(-1, 1, 7) ** 2], axis=1)  # bulges towards the border
    inputs["straight_lines_px"] = [bent.tolist()]
    assert parse_setup(inputs).lens_k1 < -0.01


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"centreline_m": [[0, 0], [1, 1]]}, "at least 3 different points, got 2"),
        ({"centreline_px": [[0, 0]]}, "either as centreline_m or as centreline_px"),
        ({"floor_points": []}, "at least 4 points, got 0"),
        ({"floor_points": [{"px": [1, 2], "m": [1, None]}]}, "floor_points m must be a number in -100000..100000, got None"),
        ({"floor_points": [{"px": [1], "m": [1, 1]}]}, "point 1 must be a pair"),
        ({"marker": {"hsv_low": [0, 200, 0], "hsv_high": [9, 100, 255]}}, "range is impossible"),
        ({"marker": None}, "marker must be an object"),
        ({"marker": {"hsv_low": [0, 0, 0], "hsv_high": [9, 99, 255], "size_m": 7}}, "size_m must be a number in 0.005..1, got 7"),
        ({"lens_k1": "bent"}, "lens_k1 must be a number"),
        ({"camera_m": [1, 2]}, "camera_m must be"),
        ({"reverse": 1}, "reverse must be true or false"),
        ({"colour": "red"}, "unknown key colour"),
        ({"image_size_px": [1280, 720]}, "1280x720, the video has 640x480"),
        ({"schema": 9}, "schema must be 1"),
    ],
)
def test_mistakes_are_named(inputs, change, said):
    with pytest.raises(AiccError, match=said):
        parse_setup(inputs | change, (640, 480))


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(AiccError, match=r"none\.json cannot be read .*overhead calibrate"):
        load_setup(tmp_path / "none.json")
    (tmp_path / "half.json").write_text('{"schema": 1,')
    with pytest.raises(AiccError, match="not usable JSON"):
        load_setup(tmp_path / "half.json")
    (tmp_path / "list.json").write_text(json.dumps([1]))
    with pytest.raises(ConfigError, match="must be an object"):
        load_setup(tmp_path / "list.json")


def test_a_flood_of_points_is_refused(inputs):
    inputs["centreline_m"] = [[0, 0]] * 2001
    with pytest.raises(ConfigError, match="at most 2000 points, got 2001"):
        parse_setup(inputs)
