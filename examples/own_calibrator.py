"""A calibrator of one's own: trust shrinks towards one half, by an amount that fits best. It becomes a row of every report.

This file is a plugin: AICC_PLUGINS=examples/own_calibrator.py donkey-aicc evaluate ... or calibrate --method shrunk.
"""

import numpy as np

from donkey_aicc import Calibrator, fit_confidence, register_calibrator


class Shrunk(Calibrator):
    kind, shown_as = "shrunk", "Shrunk towards one half"
    share = 1.0  # of the distance from one half that is kept

    def fit(self, table, pool=None):
        known = np.isfinite(table.labels) & table.valid[:, None]
        away, truth = self.probability_of(table)[known] - 0.5, table.labels[known] - 0.5
        self.share = float(np.clip((away @ truth) / (away @ away), 0.0, 1.0))
        return self

    def calibrate(self, p, scores, horizon):
        return 0.5 + self.share * (np.asarray(p) - 0.5)

    def parameters(self):
        return {"share": self.share}

    def load_parameters(self, stored):
        self.share = min(max(float(stored["share"]), 0.0), 1.0)


register_calibrator("shrunk", Shrunk)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    fitted = fit_confidence(p, rng.random(1000) < 0.5 + 0.6 * (p - 0.5), method="shrunk")
    print(f"keeps {fitted.calibrator.share:.2f}, which was 0.60")
