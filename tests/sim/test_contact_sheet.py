from PIL import Image

from donkey_aicc.sim.contact_sheet import PLACES, camera_contact_sheet, save_small_png, tracks_from_above


def test_sheet_shows_every_place_of_every_track():
    sheet = camera_contact_sheet(("loop", "oval"), frame_px=(32, 24))
    assert sheet.shape[1] == PLACES // 2 * 32
    assert sheet.shape[0] > 2 * 2 * 24


def test_tracks_are_drawn_two_per_line_and_written(tmp_path):
    image = tracks_from_above(("loop", "oval"), size_px=(100, 80))
    assert image.shape[1] == 200
    save_small_png(image, tmp_path / "tracks.png")
    assert Image.open(tmp_path / "tracks.png").size == (200, image.shape[0])
