"""Small drawn videos of a spot that circles on the floor, with things that may lead the tracker astray."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.setup_file import parse_setup
from donkey_aicc.overhead.tracking import track_marker
from donkey_aicc.overhead.video import Video

RATE_HZ = 20.0


def circling(count, speed_mps=1.2):
    """(count, 2) metres along the setup's round track."""
    angles = speed_mps * np.arange(count) / RATE_HZ
    return np.stack([2 + np.cos(angles), 1.5 + np.sin(angles)], axis=1)


@pytest.fixture
def track(make_video, inputs, draw_spots):
    """track(spots per frame, background per frame) -> MarkerPath."""

    def run(spots, backgrounds=None, **changes):
        frames = [draw_spots(at, *([backgrounds[i]] if backgrounds else [])) for i, at in enumerate(spots)]
        return track_marker(Video(make_video(frames, RATE_HZ)), parse_setup(inputs | changes))

    return run


def error(path, truth):
    return np.hypot(*(path.xy - truth).T)


def test_a_lone_marker_is_found_to_millimetres(track):
    truth = circling(60)
    path = track([[place] for place in truth])
    assert path.seen.all()
    assert error(path, truth).max() < 0.005


def test_a_thing_of_the_same_colour_beside_the_track_is_not_the_car(track):
    truth = circling(100)
    cup = (2 + 1.25 * np.cos(0.8), 1.5 + 1.25 * np.sin(0.8))  # the car passes it at 25 cm
    path = track([[cup, place] for place in truth])
    assert np.nanmax(error(path, truth)) < 0.01
    assert path.seen.mean() > 0.9
    assert (path.rivals > 0).mean() > 0.8


def test_a_thing_of_the_same_colour_that_crosses_the_track_is_not_the_car(track):
    truth = circling(120)
    crossing = np.linspace((0.2, 1.2), (3.8, 2.2), 60)
    spots = [[place] + ([crossing[i - 30]] if 30 <= i < 90 else []) for i, place in enumerate(truth)]
    path = track(spots)
    assert np.nanquantile(error(path, truth), 0.99) < 0.02
    assert path.seen.mean() > 0.85


def test_the_car_is_found_again_after_a_second_out_of_sight(track):
    truth = circling(100)
    path = track([[] if 40 <= i < 60 else [place] for i, place in enumerate(truth)])
    assert not path.seen[40:60].any()
    assert path.seen[:40].all()
    assert path.seen[60:].all()


def test_a_half_hidden_marker_is_not_measured(track, inputs, make_video, draw_spots):
    truth = circling(60)
    frames = [draw_spots([place]) for place in truth]
    for frame in frames[30:33]:  # a board covers all but a sliver
        rows, columns = np.nonzero(frame[:, :, 1] < 20)
        frame[:, columns.min() : (columns.min() + 2 * columns.max()) // 3] = 125
    path = track_marker(Video(make_video(frames, RATE_HZ)), parse_setup(inputs))
    assert np.nanmax(error(path, truth)) < 0.01


def test_no_marker_at_all_is_said(track):
    with pytest.raises(AiccError, match="never found in the 20 frames"):
        track([[] for _ in range(20)])


def test_only_a_thing_that_never_moves_is_said(track):
    with pytest.raises(AiccError, match="stays within"):
        track([[(2.0, 2.2)] for _ in range(40)])


def test_a_video_of_another_size_is_refused(make_video, inputs):
    video = Video(make_video([np.zeros((240, 320, 3), np.uint8)] * 3))
    with pytest.raises(AiccError, match="320x240"):
        track_marker(video, parse_setup(inputs))
