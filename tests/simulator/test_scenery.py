import numpy as np

from donkey_aicc.simulator.ground import make_ground
from donkey_aicc.simulator.scenery import PIXELS_PER_METRE, make_walls, wall_offsets_m
from donkey_aicc.simulator.tracks import make_track


def colours_at(ground, xy: np.ndarray) -> np.ndarray:
    pixels = np.round(xy @ ground.to_pixel[:2, :2].T + ground.to_pixel[:2, 2]).astype(int)
    return ground.texture[pixels[:, 1], pixels[:, 0]].astype(int)


def test_a_track_always_looks_the_same_and_tracks_look_different():
    loop, oval = make_track("loop"), make_track("oval")
    assert np.array_equal(make_ground(loop).texture, make_ground(loop).texture)
    assert np.array_equal(make_walls(loop), make_walls(loop))
    assert not np.array_equal(make_walls(loop)[:, :300], make_walls(oval)[:, :300])


def test_edges_are_white_and_the_centre_line_is_dashed_yellow():
    track = make_track("loop")
    ground = make_ground(track)
    for offset_m in (-track.half_width_m, track.half_width_m):
        edge = colours_at(ground, track.lane_edge(offset_m))
        inside = colours_at(ground, track.lane_edge(0.6 * offset_m))
        assert (edge.mean(axis=1) > inside.mean(axis=1) + 15).mean() > 0.95
    centre = colours_at(ground, track.centreline)
    yellow = centre[:, 0] - centre[:, 2] > 60
    assert 0.4 < yellow.mean() < 0.7
    assert np.count_nonzero(np.diff(yellow.astype(int)) == 1) > 20


def test_lane_is_free_of_clutter():
    track = make_track("hairpin")
    ground = make_ground(track)
    for offset_m in (-0.2, 0.2):
        lane = colours_at(ground, track.lane_edge(offset_m))
        saturation = lane.max(axis=1) - lane.min(axis=1)
        assert np.quantile(saturation, 0.99) < 60


def test_wall_texture_covers_the_room():
    track = make_track("loop")
    xmin, ymin, xmax, ymax = track.arena
    round_m = 2 * (xmax - xmin) + 2 * (ymax - ymin)
    assert abs(make_walls(track).shape[1] - round_m * PIXELS_PER_METRE) <= 1
    assert wall_offsets_m(track)[3] + (xmax - xmin) == round_m
