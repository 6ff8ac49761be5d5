"""An anomaly score of one's own: glare. A further channel of the calibrator and of the alarm, on the car as in every table.

This file is a plugin: AICC_PLUGINS=examples/own_score.py donkey-aicc calibrate --bundle B --data TUBS --scores glare. From then
on score, evaluate, replay and the car (AICC_PLUGINS in myconfig.py) compute it too.
"""

import numpy as np

from donkey_aicc import register_score


def glare():
    """Made anew at the start of every sequence; what it returns may remember earlier frames of it."""
    usual = []

    def score(image, steering, throttle):
        share = float((image.min(axis=2) > 250).mean())
        usual.append(share)
        return share - float(np.median(usual[-100:]))

    return score


register_score("glare", glare)

if __name__ == "__main__":
    image, score = np.full((64, 64, 3), 120, dtype=np.uint8), glare()
    print([round(score(image, 0.0, 0.3), 2) for _ in range(5)])
    image[:20] = 255
    print(f"with the sun in the picture: {score(image, 0.0, 0.3):.2f}")
