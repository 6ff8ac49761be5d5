"""What a manage.py imports and this computer lacks, found without driving."""

from donkey_aicc.car.own_imports import missing_imports

SOURCE = b"""
import os
import albumentationz.core
from nowhere_at_all import thing
try:
    import only_perhaps
except ImportError:
    pass

def drive(cfg):
    import lacking_gym
    if cfg:
        import never_asked_for
"""


def test_what_is_always_imported_and_missing_is_named(tmp_path):
    assert missing_imports(SOURCE, tmp_path) == ["albumentationz", "nowhere_at_all", "lacking_gym"]
    (tmp_path / "nowhere_at_all.py").write_text("thing = 1\nprint('not a name')\n")
    assert missing_imports(SOURCE, tmp_path) == ["albumentationz", "lacking_gym"]
