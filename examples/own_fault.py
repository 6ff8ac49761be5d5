"""A fault of one's own: rain drops on the lens. Injected, recorded, shown and reported as ours are.

This file is a plugin: AICC_PLUGINS=examples/own_fault.py donkey-aicc record --out data/rain --faults rain, and on the car
AICC_PLUGINS in myconfig.py and python manage.py drive --inject "rain:3@10s-25s".
"""

import sys

from donkey_aicc import register_fault


def rain(severity, rng):
    """Made anew for every episode: where the drops are."""
    places = rng.integers(8, 56, (4 * severity, 2))

    def see(image):
        image = image.copy()
        height, width = image.shape[:2]
        for row, column in places * (height, width) // 64:
            drop = image[row - 3 : row + 4, column - 3 : column + 4]
            drop[:] = drop.mean(axis=(0, 1))
        return image

    return see


register_fault("rain", rain)

if __name__ == "__main__":
    from donkey_aicc.cli import main

    options = ["--faults", "rain", "--severity", "3", "--drives", "1", "--frames", "230", "--expert"]
    sys.exit(main(["record", "--out", sys.argv[1], *options]))
