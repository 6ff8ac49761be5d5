"""Plugins: code of others and of one's own that adds to this package. It registers faults, calibrators, scores and predictors.

A package names a function in the entry point group `donkey_aicc.plugins`. It is called once, without arguments, at the start of a
command or a drive:

    [project.entry-points."donkey_aicc.plugins"]
    rain = "my_package.plugin:register"

Somebody without a package names a file or a module in AICC_PLUGINS, separated by commas: in myconfig.py for the car, in the
environment for commands. It is run once. Nothing else brings code of others in: a bundle never does.
"""

import importlib
import logging
import os
import sys
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from donkey_aicc.errors import AiccError

logger = logging.getLogger(__name__)

GROUP = "donkey_aicc.plugins"
NAMED = "AICC_PLUGINS"
_loaded: dict[str, str] = {}  # name -> what became of it


def load_plugins(named: str | None = None) -> dict[str, str]:
    """Call every installed plugin that was not called yet, and run what `named` (of myconfig.py) and the environment name.

    Returns name -> `package version: loaded`, or what was wrong. Something that was named and fails raises AiccError.
    """
    for entry in entry_points(group=GROUP):
        if entry.name in _loaded:
            continue
        source = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
        try:
            entry.load()()
        except Exception as error:  # code of others: it must not take the drive, or every command, with it
            logger.error("plugin %s (%s) failed and is left out: %r", entry.name, source, error)
            _loaded[entry.name] = f"{source}: failed, {error!r}"
        else:
            _loaded[entry.name] = f"{source}: loaded"
    for name in f"{named or ''},{os.environ.get(NAMED, '')}".split(","):
        if name.strip() and name.strip() not in _loaded:
            _run(name.strip())
    return dict(_loaded)


def _run(name: str) -> None:
    """A file by its path, else a module."""
    _loaded[name] = f"{NAMED}: loading"  # it may ask for plugins itself
    path = Path(name).expanduser()
    try:
        if path.suffix != ".py":
            importlib.import_module(name)
        else:
            spec = spec_from_file_location(f"aicc_plugin_{path.stem}", path)
            assert spec is not None and spec.loader is not None
            module = sys.modules[spec.name] = module_from_spec(spec)
            spec.loader.exec_module(module)
    except Exception as error:
        del _loaded[name]
        raise AiccError(f"{NAMED} names {name}, which failed: {error!r}") from error
    _loaded[name] = f"{NAMED}: loaded"
