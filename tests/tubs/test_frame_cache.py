"""Image files as they come, and the cache of decoded frames."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from PIL import Image

from donkey_aicc.nets.preprocess import JPEG_QUALITY, as_recorded, to_model_image
from donkey_aicc.tubs import frame_cache
from donkey_aicc.tubs.frame_cache import cache_key, default_cache_dir, load_frames
from donkey_aicc.tubs.image_file import MISSING, OK, TRUNCATED, UNREADABLE, ZERO_BYTE, decode_image_file


def write_images(folder, frames, suffix=".png"):
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, pixels in enumerate(frames):
        paths.append(folder / f"{number}{suffix}")
        Image.fromarray(pixels).save(paths[-1])
    return paths


def frames_of(paths, cache):
    return load_frames(paths[0].parent, paths, range(len(paths)), cache)


@pytest.mark.parametrize("shape", [(120, 160, 3), (120, 160), (120, 160, 4), (720, 1280, 3), (64, 64, 3)])
def test_lossless_images_of_any_kind_decode_to_what_the_camera_path_gives(tmp_path, frame_of, shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    [path] = write_images(tmp_path, [pixels])
    decoded = decode_image_file(path)
    assert decoded.status == OK and np.array_equal(decoded.pixels, to_model_image(pixels))
    assert (decoded.height, decoded.width, decoded.channels) == (*shape[:2], shape[2] if len(shape) == 3 else 1)


@pytest.mark.parametrize("shape", [(720, 1280, 3), (480, 640)])
def test_a_large_jpeg_is_decoded_smaller_in_a_tub_and_on_the_car_alike(tmp_path, shape):
    pixels = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8), (0, 0), 15)
    Image.fromarray(pixels).save(tmp_path / "0.jpg", quality=JPEG_QUALITY)  # as donkeycar's tub stores it
    decoded = decode_image_file(tmp_path / "0.jpg")
    assert (decoded.height, decoded.width, decoded.channels) == (*shape[:2], shape[2] if len(shape) == 3 else 1)
    assert np.array_equal(decoded.pixels, to_model_image(as_recorded(pixels)))
    assert np.abs(decoded.pixels.astype(int) - to_model_image(pixels)).max() <= 6


def test_16_bit_grey_is_scaled_not_cut(tmp_path):
    cv2.imwrite(str(tmp_path / "deep.png"), np.full((60, 80), 32896, np.uint16))
    decoded = decode_image_file(tmp_path / "deep.png")
    assert decoded.bits == 16 and np.all(decoded.pixels == 128)


def test_jpeg_colours_are_not_swapped(tmp_path):
    red = np.zeros((120, 160, 3), np.uint8)
    red[:, :, 0] = 255
    [path] = write_images(tmp_path, [red], ".jpg")
    assert np.all(decode_image_file(path).pixels[:, :, 0] > 240) and np.all(decode_image_file(path).pixels[:, :, 2] < 15)


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_truncated_images_are_noticed(tmp_path, frame_of, suffix, share):
    [path] = write_images(tmp_path, [frame_of(0, 120, 160)], suffix)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert decode_image_file(path).status == TRUNCATED
    path.write_bytes(data[: int(share * len(data))] + b"\0" * (len(data) - int(share * len(data))))
    assert decode_image_file(path).status == TRUNCATED
    path.write_bytes(data + b"\0" * 100)
    assert decode_image_file(path).status == OK


def test_other_damage_has_a_name(tmp_path):
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.jpg").write_text("not an image")
    (tmp_path / "folder.jpg").mkdir()
    statuses = [decode_image_file(tmp_path / f"{name}.jpg").status for name in ("empty", "text", "folder", "absent")]
    assert statuses == [ZERO_BYTE, UNREADABLE, UNREADABLE, MISSING] and decode_image_file(None).status == MISSING


def test_second_pass_opens_no_image(tmp_path, frame_of, monkeypatch):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(150)])
    first = frames_of(paths, tmp_path / "cache")
    monkeypatch.setattr(frame_cache, "decode_image_file", lambda path: pytest.fail(f"{path} was decoded again"))
    second = frames_of(paths, tmp_path / "cache")
    assert isinstance(second.images, np.memmap) and not second.images.flags.writeable
    for name in ("images", "status", "shape", "file_digest", "pixel_digest"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert np.array_equal(second.images[149], to_model_image(frame_of(149)))


def test_key_follows_the_content_and_survives_a_move(tmp_path, frame_of):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(40)])
    key = cache_key(paths, range(40))
    assert key == cache_key(paths, range(40)) != cache_key(paths, range(1, 41))
    shutil.copytree(tmp_path / "images", tmp_path / "moved")  # copytree keeps the times
    assert key == cache_key([tmp_path / "moved" / path.name for path in paths], range(40))
    os.utime(paths[7])
    touched = cache_key(paths, range(40))
    paths[9].unlink()
    assert len({key, touched, cache_key(paths, range(40))}) == 3


def test_changed_image_is_decoded_again_and_the_old_entry_goes(tmp_path, frame_of):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(5)])
    frames_of(paths, tmp_path / "cache")
    Image.fromarray(frame_of(99)).save(paths[2])
    assert np.array_equal(frames_of(paths, tmp_path / "cache").images[2], to_model_image(frame_of(99)))
    assert len(list((tmp_path / "cache" / "frames").iterdir())) == 1


@pytest.mark.parametrize(
    "victim, keep", [("frames.npy", 0), ("frames.npy", 5000), ("description.npz", 10), ("description.npz", None)]
)
def test_damaged_entry_is_rebuilt(tmp_path, frame_of, victim, keep):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(5)])
    expected = np.array(frames_of(paths, tmp_path / "cache").images)
    [entry] = (tmp_path / "cache" / "frames").iterdir()
    data = (entry / victim).read_bytes()
    (entry / victim).unlink() if keep is None else (entry / victim).write_bytes(data[:keep])
    assert np.array_equal(frames_of(paths, tmp_path / "cache").images, expected)


def test_interrupted_build_leaves_nothing(tmp_path, frame_of, monkeypatch):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(5)])

    def interrupt(path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(frame_cache, "decode_image_file", interrupt)
        frames_of(paths, tmp_path / "cache")
    assert list((tmp_path / "cache" / "frames").iterdir()) == []
    assert len(frames_of(paths, tmp_path / "cache").images) == 5


def test_abandoned_builds_of_killed_processes_are_cleared(tmp_path, frame_of):
    left = tmp_path / "cache" / "frames" / ".building-dead"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    frames_of(write_images(tmp_path / "images", [frame_of(0)]), tmp_path / "cache")
    assert not left.exists()


def test_many_builders_at_once_agree(tmp_path, frame_of):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(70)])
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: np.array(frames_of(paths, tmp_path / "cache").images), range(4)))
    assert all(np.array_equal(result, results[0]) for result in results)
    assert len(list((tmp_path / "cache" / "frames").iterdir())) == 1


def test_two_processes_build_the_same_entry(tmp_path, frame_of):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(200)])
    program = (
        "import sys; from pathlib import Path; from donkey_aicc.tubs.frame_cache import load_frames\n"
        "images = Path(sys.argv[1]); paths = [images / f'{i}.png' for i in range(200)]\n"
        "print(int(load_frames(images, paths, range(200), sys.argv[2]).images.sum(dtype='int64')))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "images"), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    sums = {int(process.communicate(timeout=120)[0]) for process in running}
    assert sums == {sum(int(to_model_image(frame_of(i)).sum(dtype=np.int64)) for i in range(200))}
    assert len(paths) == 200 and len(list((tmp_path / "cache" / "frames").iterdir())) == 1


def test_without_a_writable_cache_frames_are_decoded_into_memory(tmp_path, frame_of):
    paths = write_images(tmp_path / "images", [frame_of(i) for i in range(5)])
    (tmp_path / "cache").write_text("a file where the folder should be")
    frames = frames_of(paths, tmp_path / "cache")
    assert np.array_equal(frames.images[4], to_model_image(frame_of(4)))


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("DONKEY_AICC_CACHE", str(tmp_path / "own"))
    assert default_cache_dir() == tmp_path / "own"
    monkeypatch.delenv("DONKEY_AICC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_dir() == tmp_path / "xdg" / "donkey_aicc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / ".cache" / "donkey_aicc"
