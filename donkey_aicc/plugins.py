"""Plugins: other packages that add to this one.

A package that names a function in the entry point group `donkey_aicc.plugins` has it called once, without arguments, at the start
of a command or a drive; there it registers its faults, calibrators, scores and predictors:

    [project.entry-points."donkey_aicc.plugins"]
    rain = "my_package.plugin:register"
"""

import logging
from importlib.metadata import entry_points

logger = logging.getLogger(__name__)

GROUP = "donkey_aicc.plugins"
_loaded: dict[str, str] = {}  # name -> what became of it


def load_plugins() -> dict[str, str]:
    """Call every installed plugin that was not called yet. Returns name -> `package version: loaded`, or what was wrong."""
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
    return dict(_loaded)
