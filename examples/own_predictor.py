"""A safety predictor of one's own in place of ours: the same bundle, calibrator, alarm, report and cockpit.

This file is a plugin: AICC_PLUGINS=examples/own_predictor.py donkey-aicc train TUBS --predictor mine --out models/mine, then
calibrate, evaluate and replay the same way. On the car, AICC_PLUGINS in myconfig.py names it.
"""

import tempfile

import numpy as np

from donkey_aicc import MonitorLoop, register_predictor, use_predictor

HORIZONS = (5, 20, 50)


def mine(frames, steering):
    """(B, 2, 64, 64, 3) in 0 to 1 and (B, 2) -> (B, 3). A torch, Keras or ONNX net stands here: see docs/extend.md."""
    change = np.abs(frames[:, 0] - frames[:, 1]).mean(axis=(1, 2, 3))
    risk = np.clip(2.0 * change + 0.2 * np.abs(steering[:, 0]), 0.0, 1.0)
    return 1.0 - risk[:, None] * np.linspace(0.2, 1.0, len(HORIZONS))


register_predictor("mine", mine, horizons=HORIZONS, lags=(0, 2))

if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    monitor = MonitorLoop(use_predictor("reference", "mine", f"{folder}/mine"), grade="light")  # the world model stays ours
    for brightness in (60, 120, 180):
        said = monitor.run(np.full((120, 160, 3), brightness, dtype=np.uint8), steering=0.1, throttle=0.3)
        print([round(value, 2) for value in said["aicc/p_safe"]], said["aicc/status"])
