import os

import pytest

from donkey_aicc import cli


def create(path, *options):
    return cli.main(["createcar", "--path", str(path), *options])


def test_a_new_car_has_everything(tmp_path):
    assert create(tmp_path / "mycar") == 0
    car = tmp_path / "mycar"
    assert {path.name for path in car.iterdir()} == {"data", "models", "logs", "manage.py", "config.py", "myconfig.py"}
    assert os.access(car / "manage.py", os.X_OK)


def test_settings_survive_a_second_time_and_an_overwrite(tmp_path, capsys):
    create(tmp_path)
    (tmp_path / "myconfig.py").write_text("AICC_SIM_SEED = 9\n")
    (tmp_path / "manage.py").write_text("# mine\n")
    assert create(tmp_path) == 1
    assert "nothing was made" in capsys.readouterr().out
    assert (tmp_path / "manage.py").read_text() == "# mine\n"
    assert create(tmp_path, "--overwrite") == 0
    assert "def drive" in (tmp_path / "manage.py").read_text()
    assert (tmp_path / "myconfig.py.before-overwrite").read_text() == "AICC_SIM_SEED = 9\n"


@pytest.mark.parametrize("name", ["file", "file/car"])
def test_a_path_that_cannot_be_a_folder_is_named(tmp_path, capsys, name):
    (tmp_path / "file").write_text("")
    assert create(tmp_path / name) == 2
    assert "cannot be made" in capsys.readouterr().err
