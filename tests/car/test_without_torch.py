"""A car without torch, scikit-learn and matplotlib: the monitor drives, and its scores equal those of a tool."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import as_recorded, to_model_image
from donkey_aicc.scoring.stream import StreamScorer
from tests.monitor_under_test import SETTINGS, add_calibrator, make_bundle

LOOPS = 300
DRIVE = """
import json, sys
for name in ("torch", "sklearn", "matplotlib", "joblib", "onnx", "scipy"):
    sys.modules[name] = None  # importing it raises ImportError
from types import SimpleNamespace
import numpy as np
import donkey_aicc.parts
from donkeycar.parts.camera import MockCamera
from donkeycar.vehicle import Vehicle
from donkey_aicc.car.wiring import add_aicc

class Frames:
    def __init__(self):
        self.rng = np.random.default_rng(0)
    def run(self):
        return self.rng.integers(0, 256, (120, 160, 3)).astype(np.uint8), 0.1, 0.3, "user"

class Notes:
    rows = []
    def run(self, *values):
        self.rows.append(values)

V = Vehicle()
V.add(MockCamera(image_w=160, image_h=120, image_d=3), outputs=["mock/image"], threaded=True)  # donkeycar's CAMERA_TYPE = "MOCK"
V.add(Frames(), outputs=["cam/image_array", "steering", "throttle", "user/mode"])
V.add(type("Drivetrain", (), {"run": lambda self, *_: None})(), inputs=["steering", "throttle"])
cfg = SimpleNamespace(DRIVE_LOOP_HZ=20, AICC_BUNDLE=sys.argv[1], AICC_SCORER_THREADED=False, AICC_COCKPIT=False, USE_FPV=False,
    DONKEY_GYM=False, CONTROLLER_TYPE="MM1", HAVE_CONSOLE_LOGGING=False, DATA_PATH=sys.argv[1] + "/../data")
add_aicc(V, cfg)
V.add(Notes(), inputs=["aicc/rho", "aicc/delta", "aicc/p_safe", "aicc/status", "aicc/grade"])
V.start(rate_hz=100000, max_loop_count=int(sys.argv[2]))
assert not any(name.split(".")[0] in ("torch", "sklearn", "matplotlib") and sys.modules[name] for name in list(sys.modules))
print(json.dumps(Notes.rows))
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    folder = make_bundle(tmp_path_factory.mktemp("car") / "bundle")
    add_calibrator(folder)
    return folder


def test_300_loops_without_torch_give_the_scores_of_a_tool(bundle):
    done = subprocess.run([sys.executable, "-c", DRIVE, bundle, str(LOOPS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads(done.stdout.splitlines()[-1])
    assert len(rows) == LOOPS and rows[-1][3:] == ["unusual picture", "full"]  # of noise
    rng, scorer = np.random.default_rng(0), StreamScorer(Bundle.load(bundle), SETTINGS)
    loaded = add_calibrator(bundle)
    for rho, delta, *_ in rows[1:41]:  # a record has the scores that its confidence was made of: those of the frame before
        image = to_model_image(as_recorded(rng.integers(0, 256, (120, 160, 3)).astype(np.uint8)))
        found = scorer.step(image[None], np.array([[0.1, 0.3]]))
        scores = loaded.statistics.frame_scores(float(found.rho_raw[0]), found.features[0], found.latent[0])
        assert rho == pytest.approx(scores["rho"], abs=1e-4)
        if np.isfinite(found.features).all():
            assert delta == pytest.approx(scores["delta"], abs=1e-4)
