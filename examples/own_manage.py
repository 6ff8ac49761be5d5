"""The monitor in a manage.py of one's own: the whole of it is one call right before the tub is made."""

import tempfile
from types import SimpleNamespace

import numpy as np
from donkeycar.parts.transform import Lambda
from donkeycar.vehicle import Vehicle

from donkey_aicc import add_aicc

frames = np.random.default_rng(0).integers(90, 160, (40, 120, 160, 3), dtype=np.uint8)
camera, sent = iter(frames), ["steering", "throttle"]
V = Vehicle()
V.add(Lambda(lambda: next(camera)), outputs=["cam/image_array"])
V.add(Lambda(lambda: (0.1, 0.3, "local")), outputs=[*sent, "user/mode"])  # your controller, pilot and drive mode
V.add(Lambda(lambda steering, throttle: None), inputs=sent)  # your drivetrain
# Normally donkeycar's cfg, with the AICC_* keys in myconfig.py.
cfg = SimpleNamespace(DRIVE_LOOP_HZ=20, DONKEY_GYM=True, DATA_PATH=tempfile.mkdtemp(), AICC_BUNDLE="reference")
inputs, types = add_aicc(V, cfg, ["cam/image_array", *sent], ["image_array", "float", "float"])
V.add(Lambda(lambda status, alarm, reason: print(status, alarm, reason)), inputs=["aicc/status", "aicc/alarm", "aicc/reason"])
V.start(rate_hz=20, max_loop_count=len(frames) - 1)
