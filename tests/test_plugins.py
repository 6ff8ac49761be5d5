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
