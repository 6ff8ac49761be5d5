from types import SimpleNamespace

import pytest

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.start_checks import say_at_start
from donkey_aicc.nets.manifest import NO_PREDICTOR, SINGLE, Manifest
from donkey_aicc.tubs.home import EMBEDDED


@pytest.mark.parametrize(
    ("predictor", "data", "said"),
    [
        (SINGLE, {}, "monitor on (mine, grade full); injection off"),
        (
            NO_PREDICTOR,
            {},
            "monitor on (mine, no confidence because it was trained without labels, grade full); injection off",
        ),
        (SINGLE, {"homes": [EMBEDDED]}, "the bundle mine was trained in the embedded simulator, and this is a real car"),
    ],
)
def test_the_start_says_what_the_monitor_lacks(predictor, data, said, capsys):
    manifest = Manifest(horizons=[1], action_stats={}, predictor=predictor, data=data)
    bundle = SimpleNamespace(path=SimpleNamespace(name="mine"), manifest=manifest)
    monitor = SimpleNamespace(bundle=bundle, calibrator=1, grade_said="grade full")
    say_at_start(Assembly(SimpleNamespace(parts=[]), SimpleNamespace(), AiccConfig()), None, monitor)
    shown = capsys.readouterr().out
    assert said in shown and ("simulator" in shown) == bool(data)
