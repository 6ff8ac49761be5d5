"""What the cockpit costs: time of its part in the drive loop, time of a message, bytes a second per viewer.

python benchmarks/cockpit_load.py
"""

import time

import numpy as np

from donkey_aicc.web.cockpit_access import Access
from donkey_aicc.web.cockpit_feed import SHOWN, CockpitFeed
from donkey_aicc.web.cockpit_hub import RATE_HZ, CockpitHub

TICKS = 20_000
MESSAGES = 200


def main() -> None:
    rng = np.random.default_rng(0)
    smooth = np.kron(rng.integers(0, 255, (15, 20, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    image = (smooth // 2 + rng.integers(0, 40, (120, 160, 3))).astype(np.uint8)
    values = {"image": image, "p_safe": [0.5] * 11, "p_tta": [0.5] * 11, "confidence": [0.5] * 11, "hazard": [0.1] * 11}
    tick = [values.get(name, 0.123456) for name in SHOWN]
    feed = CockpitFeed()
    started = time.perf_counter()
    for _ in range(TICKS):
        feed.run(*tick)
    part_ms = 1000 * (time.perf_counter() - started) / TICKS
    hub = CockpitHub(feed, Access(), {}, {"features": lambda: [0.1234] * 12, "parts": lambda: [["WorldModelScorer", 1.23]] * 12})
    started = time.perf_counter()
    sizes = [len(hub.message()) for _ in range(MESSAGES)]
    message_ms = 1000 * (time.perf_counter() - started) / MESSAGES
    print(f"part in the drive loop   {part_ms:.4f} ms a tick")
    print(f"message, once for all    {message_ms:.2f} ms, {RATE_HZ:g} times a second while somebody looks, off the drive loop")
    print(f"one viewer               {np.mean(sizes) * RATE_HZ / 1000:.0f} kB/s")


if __name__ == "__main__":
    main()
