"""Calibrate the probabilities of any predictor from plain arrays. Here it is overconfident, and blind where it is foggy."""

import json

import numpy as np

from donkey_aicc import Confidence, fit_confidence

rng = np.random.default_rng(0)


def drives(count, fog_share):
    """Logits, whether it held, the raw fog score and the drive of 200 frames each."""
    logit, drive = rng.normal(1.0, 3.0, 200 * count), np.repeat(np.arange(count), 200)
    fog = (rng.random(count) < fog_share)[drive] * rng.uniform(0.5, 1.0, len(drive))
    held = rng.random(len(drive)) < 1.0 / (1.0 + np.exp(-logit / (2.0 * np.exp(2.0 * fog))))
    return 1.0 / (1.0 + np.exp(-logit)), held, fog + rng.normal(0.0, 0.1, len(drive)), drive


p, y, fog, drive = drives(40, fog_share=0.5)
fitted = fit_confidence(p, y, {"fog": fog}, drive, nominal=fog < 0.4)
fitted = Confidence.from_json(json.loads(json.dumps(fitted.to_json())))  # how to keep it
p, y, fog, _ = drives(40, fog_share=0.5)
for name, confidence in (("raw", p), ("calibrated", fitted.apply(p, {"fog": fog}))):
    print(f"{name}: Brier score {np.mean((confidence - y) ** 2):.3f}")
