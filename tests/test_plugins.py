"""Packages of others add to this one; one that fails is named and left out."""

from importlib.metadata import EntryPoint

from donkey_aicc import cli, plugins


def use(monkeypatch, **values):
    entries = [EntryPoint(name, value, plugins.GROUP) for name, value in values.items()]
    monkeypatch.setattr(plugins, "entry_points", lambda group: entries)
    monkeypatch.setattr(plugins, "_loaded", {})


CALLED = []


def register():
    CALLED.append(1)


def broken():
    raise RuntimeError("no camera")


def test_a_plugin_is_called_once_and_a_broken_one_is_left_out(monkeypatch, capsys):
    CALLED.clear()
    use(monkeypatch, good=f"{__name__}:register", bad=f"{__name__}:broken", gone="no_such_module:x")
    for _ in range(2):
        found = plugins.load_plugins()
    assert CALLED == [1]
    assert found["good"].endswith("loaded") and "no camera" in found["bad"] and "no_such_module" in found["gone"]
    assert cli.main(["info"]) == 0
    assert "no camera" in capsys.readouterr().out


def test_info_without_a_bundle_says_that_there_are_none(monkeypatch, capsys):
    use(monkeypatch)
    assert cli.main(["info"]) == 0
    assert "none installed" in capsys.readouterr().out


def test_files_that_the_owner_names_run_once(monkeypatch, tmp_path):
    """In myconfig.py or in the environment, separated by commas; a module by its name."""
    use(monkeypatch)
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text("from tests.test_plugins import CALLED\nCALLED.append(__file__)\n")
    monkeypatch.setenv("AICC_PLUGINS", f"{tmp_path}/second.py")
    CALLED.clear()
    for _ in range(2):
        found = plugins.load_plugins(f"{tmp_path}/first.py, json")
    assert [str(each) for each in CALLED] == [f"{tmp_path}/first.py", f"{tmp_path}/second.py"]
    assert found["json"] == "AICC_PLUGINS: loaded"


def test_one_that_was_named_and_fails_ends_the_command(monkeypatch, tmp_path, capsys):
    use(monkeypatch)
    (tmp_path / "mine.py").write_text("1 / 0")
    for name, said in ((f"{tmp_path}/mine.py", "ZeroDivisionError"), ("no_such_module", "ModuleNotFoundError")):
        monkeypatch.setenv("AICC_PLUGINS", name)
        assert cli.main(["info"]) == 2
        error = capsys.readouterr().err
        assert f"AICC_PLUGINS names {name}, which failed" in error and said in error
