"""A line on the floor gives cte in pixels: found by its colour in other light, lost where it is not, never guessed."""

import json

import cv2
import numpy as np
import pytest

from donkey_aicc.cli import main
from donkey_aicc.errors import AiccError
from donkey_aicc.labelling.footage import Footage, general_features
from donkey_aicc.labelling.label_page import label_page
from donkey_aicc.labelling.line_colour import LineColour, band_of, propose_colour
from donkey_aicc.labelling.line_labels import find_in
from donkey_aicc.labelling.session import LabelSession
from donkey_aicc.tubs.load import load_drives
from tests.served_page import get, post, served


def picture(column, light=1.0, hue=28, line=True, wall=False, seed=0):
    """A dark floor with a coloured line that leans a little, 120 x 160 RGB."""
    rng = np.random.default_rng(seed)
    hsv = np.zeros((120, 160, 3), np.float32)
    hsv[..., 0], hsv[..., 1], hsv[..., 2] = 100, 30, 60 + rng.normal(0, 6, (120, 160))
    if wall:
        hsv[:, 120:, 0], hsv[:, 120:, 1], hsv[:, 120:, 2] = hue, 60, 180
    if line:
        for row in range(60, 120):
            middle = int(column + 0.2 * (row - 98))
            hsv[row, max(middle - 4, 0) : max(middle + 5, 0)] = hue + rng.normal(0, 1), 190, 210
    hsv[..., 2] *= light
    return cv2.cvtColor(np.clip(hsv, 0, [179, 255, 255]).astype(np.uint8), cv2.COLOR_HSV2RGB)


def write_tub(path, images):
    from donkeycar.parts.tub_v2 import Tub

    tub = Tub(str(path), inputs=["cam/image_array", "user/angle", "user/throttle"], types=["image_array", "float", "float"])
    for image in images:
        tub.write_record({"cam/image_array": image, "user/angle": 0.0, "user/throttle": 0.3})
    tub.close()
    for catalog in path.glob("*.catalog"):  # as a camera takes them, twenty a second
        records = [json.loads(line) for line in catalog.read_text().splitlines()]
        lines = [json.dumps(record | {"_timestamp_ms": 1_700_000_000_000 + 50 * record["_index"]}) for record in records]
        catalog.write_text("\n".join(lines) + "\n")
    return path


def test_the_colour_is_proposed_and_holds_in_other_light():
    bands = [band_of(picture(40 + 2 * number, seed=number)) for number in range(40)]
    colour = propose_colour(bands)
    assert colour.hue_from < 28 < colour.hue_to
    for light in (1.0, 0.6, 0.4, 1.2):
        for column in (30, 80, 130):
            found, certainty = find_in(band_of(picture(column, light, seed=99)), colour)
            assert found == pytest.approx(column, abs=2) and certainty > 0.9, (light, column)
    assert np.isnan(find_in(band_of(picture(80, line=False, seed=7)), colour)[0])
    with pytest.raises(AiccError, match="no colour is a thin line"):
        propose_colour([band_of(picture(0, line=False, seed=number)) for number in range(10)])


def test_clicks_and_ranges_and_red_through_zero():
    picks = [(230, 20, 30), (210, 30, 20), (240, 10, 40)]
    red = LineColour.of_picks(picks, 200.0)
    assert red.hue_from > red.hue_to
    assert find_in(band_of(picture(60, hue=1)), red)[0] == pytest.approx(60, abs=2)
    assert LineColour.parse("18-36") == LineColour(18, 36, 90, 90) and str(LineColour.parse("18-36,70,80")) == "18-36,70,80"
    for text in ("yellow", "18", "18-36,1,2,3", "18-200", "18-36,300"):
        with pytest.raises(AiccError, match="line's"):
            LineColour.parse(text)


def test_something_else_of_that_colour_takes_certainty():
    """A wall of the line's hue fills a third of every row: not a thin line."""
    colour = LineColour(20, 36, 40, 60)
    alone, beside = (find_in(band_of(picture(60, wall=wall)), colour)[1] for wall in (False, True))
    assert alone > 0.9 and beside < 0.5


def test_the_command_writes_a_label_file_that_training_reads(tmp_path, capsys):
    columns = np.linspace(40, 120, 120).astype(int)
    images = [picture(column, line=not 50 <= at < 60, seed=at) for at, column in enumerate(columns)]
    tub = write_tub(tmp_path / "tub", images)
    out = tmp_path / "line.csv"
    assert main(["label", str(tub), "--line", "--out", str(out), "--lane-half-width", "30", "--cache-dir", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "lost in 10" in said and "line_lost.jpg" in said
    drives = load_drives([tub], labels_csv=out, tau=20.0, cache_dir=tmp_path).drives
    cte, safe, departed = (np.concatenate([getattr(drive, name) for drive in drives]) for name in ("cte", "safe", "departed"))
    known = np.isfinite(cte)
    assert cte[known] == pytest.approx((80 - columns)[known], abs=3) and int((~known).sum()) == 10
    assert np.array_equal(safe[known], (np.abs(cte[known]) <= 20)) and np.array_equal(departed[known], np.abs(cte[known]) > 30)
    again = [
        "label",
        str(tub),
        "--line",
        str(tmp_path / "line_line.json"),
        "--out",
        str(tmp_path / "b.csv"),
        "--compare",
        str(out),
    ]
    assert main([*again, "--cache-dir", str(tmp_path)]) == 0
    assert "median difference 0.0 px" in capsys.readouterr().out
    assert set(json.loads((tmp_path / "line_line.json").read_text())) == {
        "hue_from",
        "hue_to",
        "saturation",
        "value",
        "brightness",
    }


def test_clicks_on_the_page_find_the_line_and_write_its_labels(tmp_path):
    """Two clicks on the line; the picture shows what is found, and a label file of its own is written."""
    columns = np.linspace(40, 120, 110).astype(int)
    tub = write_tub(tmp_path / "tub", [picture(column, seed=at) for at, column in enumerate(columns)])
    footage = Footage.load([tub], tmp_path)
    with served(label_page(LabelSession(footage, general_features(footage.drives), tmp_path / "labels.csv"))) as address:
        status, refused = post(address, "line", {"write": True})
        assert status == 400 and refused["error"].startswith("click on the line in at least one frame")
        for at in (5, 50):
            status, state = post(address, "pick_line", {"at": at, "x": float(columns[at]) / 160, "y": 98 / 120})
        assert status == 200 and len(state["line"]["picks"]) == 2 and state["line"]["colour"]
        shown = cv2.imdecode(np.frombuffer(get(address, "/api/line_picture?at=5")[1], np.uint8), cv2.IMREAD_COLOR)
        assert shown[90:110, int(columns[5]), 0].mean() > 180  # magenta and cyan over a yellow line, which has no blue
        said = post(address, "line", {"write": True})[1]["line"]
        assert "found in 100.0 % of 110 frames" in said["said"] and said["out"].endswith("labels_cte.csv")
        assert post(address, "line", {"forget": True})[1]["line"]["colour"] == ""
        assert post(address, "line", {"propose": True})[1]["line"]["colour"]
    (drive,) = load_drives([tub], labels_csv=tmp_path / "labels_cte.csv", cache_dir=tmp_path).drives
    assert drive.cte == pytest.approx(80 - columns, abs=3)
