"""The disk is full: what was there before stays, nothing half written is left, and the user gets one message."""

import resource
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from donkeycar.management.base import CreateCar

from donkey_aicc.calibration.calibrator_file import save_calibrator
from donkey_aicc.car.install_parts import CAR_FILES
from donkey_aicc.cli import main
from donkey_aicc.files import write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.nets.vision_pilot import save_pilot
from donkey_aicc.replay.movie import write_movie
from donkey_aicc.replay.read_run import read_run
from donkey_aicc.resources import template_dir
from donkey_aicc.training.exact_resume import Position, save_checkpoint
from tests.monitor_under_test import add_calibrator, make_bundle, nominal_table
from tests.replay.recorded_tub import write_tub
from tests.synthetic_scores import synthetic_table


@contextmanager
def full_disk(room=3000):
    """No file may grow beyond that many bytes: the system refuses the write, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def checkpoint(folder):
    net = torch.nn.Linear(50, 50)
    save_checkpoint(folder / "a.safetensors", net, torch.optim.SGD(net.parameters(), 0.1), net.state_dict(), Position({}))


def scores(suffix):
    return lambda folder: synthetic_table(np.random.default_rng(0), sequences=4, length=60).save(folder / f"scores{suffix}")


def calibrator(folder):
    bundle = folder / "bundle"
    if not bundle.exists():
        make_bundle(bundle)
    fitted = add_calibrator(bundle)
    save_calibrator(Bundle.load(bundle), fitted, {"note": "x" * 5000}, nominal_table())


WRITERS = {
    "bundle": lambda folder: make_bundle(folder / "bundle"),
    "calibrator": calibrator,
    "checkpoint": checkpoint,
    "pilot": lambda folder: save_pilot(folder / "pilot", PilotNet(), {}),
    "scores": scores(".npz"),
    "json": lambda folder: write_json(folder / "results.json", ["x" * 100] * 100),
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_file_before_stays_and_nothing_is_left(tmp_path, name):
    write = WRITERS[name]
    write(tmp_path)
    before = content(tmp_path)
    with pytest.raises(OSError, match="large|written"), full_disk():
        write(tmp_path)
    assert content(tmp_path) == before


def test_a_car_that_does_not_fit_is_made_by_the_next_try(tmp_path, capsys):
    """A cut manage.py was kept by the rerun."""
    with full_disk(500):
        assert main(["createcar", "--path", str(tmp_path / "car")]) == 2
    assert main(["createcar", "--path", str(tmp_path / "car")]) == 0
    assert all((tmp_path / "car" / name).read_bytes() == (template_dir() / name).read_bytes() for name in CAR_FILES)


def test_install_on_a_full_disk_leaves_no_half_backup(tmp_path, capsys):
    """The backup was empty, and stayed."""
    CreateCar().create_car(str(tmp_path))
    before = content(tmp_path)
    with full_disk():
        assert main(["install", str(tmp_path), "--yes"]) == 2
    assert content(tmp_path) == before


def test_a_movie_that_does_not_fit_is_said(tmp_path):
    run = read_run(write_tub(tmp_path / "tub"))
    (tmp_path / "out").mkdir()
    with pytest.raises(Exception, match="could not|large"), full_disk():
        write_movie([run], tmp_path / "out" / "a.mp4")
    assert not content(tmp_path / "out")


def test_a_command_says_it_in_one_line(tmp_path, capsys):
    tub = write_tub(tmp_path / "tub")
    with full_disk():
        code = main(["replay", str(tub), "--html", str(tmp_path / "out" / "a.html"), "--cache-dir", str(tmp_path / "cache")])
    said = capsys.readouterr().err
    assert code == 2 and "Traceback" not in said and not content(tmp_path / "out")
    assert len(said.strip().splitlines()[-1]) < 500
