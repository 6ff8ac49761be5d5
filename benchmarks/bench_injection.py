"""Cost of injection per frame at 160x120, for every protocol and severity."""

import time

import cv2
import numpy as np

from donkey_aicc.faults.fault import Episode
from donkey_aicc.faults.protocols import PROTOCOLS, SEVERITIES
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.injection_control import InjectionControl

FRAMES = 500
LIMIT_MS = 1.0


def cost_ms(protocol: str, severity: int, images: list[np.ndarray]) -> np.ndarray:
    """(FRAMES,) milliseconds that both sides of the injector take per tick."""
    control = InjectionControl([Episode(protocol, severity)])
    sensor, command = AnomalyInjector(control, "sensor"), AnomalyInjector(control, "command")
    times = []
    for number in range(FRAMES):
        start = time.perf_counter()
        sensor.run(images[number % len(images)], "local", None)
        command.run(0.1, 0.3, "local")
        times.append(1e3 * (time.perf_counter() - start))
    return np.array(times)


def main() -> None:
    cv2.setNumThreads(1)
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (120, 160, 3), dtype=np.uint8) for _ in range(20)]
    for protocol in PROTOCOLS:
        for severity in SEVERITIES:
            times = cost_ms(protocol, severity, images)
            p50, p99 = np.percentile(times, [50, 99])
            share = p50 / LIMIT_MS
            print(
                f"injection {protocol}:{severity}  p50 {p50:.3f} ms  p99 {p99:.3f} ms  ({share:.0%} of the {LIMIT_MS:g} ms limit)"
            )


if __name__ == "__main__":
    main()
