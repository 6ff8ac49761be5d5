from types import SimpleNamespace

import numpy as np
import pytest

from donkey_aicc.commands.calibrate import _require_labels
from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.drive import make_drive


def test_drives_without_labels_are_refused_before_the_scoring():
    images, actions = np.zeros((4, 64, 64, 3), np.uint8), np.zeros((4, 2))
    unlabelled = make_drive("tub", "s", images, actions)
    manifest = SimpleNamespace(data={"label_file": {"name": "labels.csv"}})
    with pytest.raises(AiccError, match="give the file it was trained with: --labels labels.csv"):
        _require_labels([unlabelled], manifest)
    _require_labels([unlabelled, make_drive("tub", "s", images, actions, safe=np.ones(4))], manifest)
