"""Files to send on: movie, one HTML file. The same drive gives the same file."""

import base64
import json
import re

import cv2
import numpy as np
import pytest
from PIL import Image

from donkey_aicc import cli
from donkey_aicc.replay import movie
from donkey_aicc.replay.overlay import HEIGHT, WIDTH, Overlay
from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import write_html
from tests.replay.recorded_tub import DANGER, FRAMES, write_tub, write_v1_tub


@pytest.fixture(scope="module")
def tub(tmp_path_factory):
    return write_tub(tmp_path_factory.mktemp("exports") / "tub")


@pytest.fixture(scope="module")
def run(tub):
    return read_run(tub)


def movie_frames(path):
    video = cv2.VideoCapture(str(path))
    return int(video.get(cv2.CAP_PROP_FRAME_COUNT)), (video.get(cv2.CAP_PROP_FRAME_WIDTH), video.get(cv2.CAP_PROP_FRAME_HEIGHT))


def test_mp4_has_a_picture_for_every_twentieth_of_a_second_in_h264(run, tmp_path):
    movie.write_movie([run.part(0, 0.5)], tmp_path / "one.mp4")
    assert movie_frames(tmp_path / "one.mp4") == (11, (WIDTH, HEIGHT))
    kind = int(cv2.VideoCapture(str(tmp_path / "one.mp4")).get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little")
    assert kind in (b"h264", b"avc1")  # what browsers play
    movie.write_movie([run.part(0, 0.5)], tmp_path / "again.mp4")
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "again.mp4").read_bytes()


def without_the_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)


def without_h264(monkeypatch):
    monkeypatch.setattr(movie, "_ffmpeg", lambda: "false")


@pytest.mark.parametrize(
    ("break_it", "said"), [(without_the_library, "pip install imageio-ffmpeg"), (without_h264, "could not write")]
)
def test_without_ffmpeg_it_says_what_to_do_before_any_scoring(tub, tmp_path, monkeypatch, capsys, break_it, said):
    break_it(monkeypatch)
    monkeypatch.setattr("donkey_aicc.replay.read_run.read_run", lambda *_: pytest.fail("it has begun to work"))
    assert cli.main(["replay", str(tub), "--movie", str(tmp_path / "drive.mp4")]) == 2
    assert said in (told := capsys.readouterr().err) and "or write a GIF" in told
    movie.check_movie_path(tmp_path / "drive.gif")


def test_a_gif_of_two_runs_is_twice_as_wide_and_bounded(run, tmp_path, monkeypatch):
    monkeypatch.setattr(movie, "GIF_PICTURES", 6)
    said = movie.write_movie([run, run], tmp_path / "two.gif")
    with Image.open(tmp_path / "two.gif") as image:
        assert image.size == (960, 270) and 2 <= image.n_frames <= 7
    assert "times as fast" in said


def test_the_overlay_shows_the_alarm_and_lives_without_scores_or_pictures(run, tmp_path):
    calm, alarmed = (Overlay(run).picture(row) for row in (5, DANGER.start))
    red = np.array((217, 72, 15))
    assert (alarmed == red).all(axis=2).sum() > 200 > (calm == red).all(axis=2).sum()
    plain = write_v1_tub(tmp_path / "old")
    (plain / "3_cam-image_array_.jpg").unlink()
    assert Overlay(read_run(plain)).picture(3).shape == (HEIGHT, WIDTH, 3)


def embedded(path):
    text = path.read_text(encoding="utf-8")
    return text, json.loads(re.search(r'id="aicc-data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_html_file_needs_nothing_else(run, tmp_path):
    write_html([run], tmp_path / "drive.html")
    text, data = embedded(tmp_path / "drive.html")
    assert data["frames"][0]["rows"] == list(range(FRAMES)) and "all pictures" in data["note"]
    assert base64.b64decode(data["frames"][0]["jpegs"][7]).startswith(b"\xff\xd8")
    assert not re.search(r'(?:src|href)="(?!data:)', text) and "http://" not in text.replace("http://www.w3.org", "")
    write_html([run], tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text


def test_the_html_file_stays_below_its_size_and_says_what_it_left_out(run, tmp_path):
    full = len((tmp_path / "a").read_bytes()) if write_html([run], tmp_path / "a") else 0
    said = write_html([run], tmp_path / "b", largest_bytes=full - 25_000)
    _, data = embedded(tmp_path / "b")
    assert (tmp_path / "b").stat().st_size <= full - 25_000 and "every" in said and "every" in data["note"]
    rows = data["frames"][0]["rows"]
    assert len(rows) < FRAMES and {event["row"] for event in data["runs"][0]["events"]} <= set(rows)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--movie", "drive.avi"], "must end in .mp4 or .gif"),
        (["--html", "x.html", "--part", "9-3"], "--part must be"),
        (["--html", "x.html", "--part", "50-60"], "lasts 3.0 s"),
        (["--html", "x.html", "--bundle", "nowhere"], "nowhere"),
        (["--html", "x.html", "--compare", "missing_tub"], "no tub at missing_tub"),
    ],
)
def test_the_command_says_what_is_wrong(tub, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["replay", str(tub), *arguments]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_an_export_that_breaks_off_leaves_the_old_file(run, tmp_path, monkeypatch):
    path = tmp_path / "drive.mp4"
    path.write_bytes(b"old")
    monkeypatch.setattr(Overlay, "picture", lambda self, row: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        movie.write_movie([run], path)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
