"""When, in the video's time, the tub began: found by laying the path's motion over what the commands should have caused.

Curvature follows the steering and speed follows the throttle, each with a lag. At an offset, explaining a signal by its
command with correlation r raises the log-likelihood by -n/2 log(1 - r^2); the offset with the largest sum of both wins.
A slow drive cannot tell a lag from an offset, so the servo's and the motor's lag are those of usual parts and not fitted:
a car that is slower by x ms moves the offset by about x ms.
"""

from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np
from scipy.signal import correlate

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.motion import STEP_S, Signal, command_response, path_motion, quick_part

SERVO_LAG_S = 0.07
MOTOR_LAG_S = 0.1
MASS_LAGS_S = (0.2, 0.35, 0.5, 0.7, 1.0, 1.5)  # how long the car takes to follow its motor: differs a lot, and is fitted
WEAKEST_CORRELATION = 0.6  # of the better of the two signals: below it the offset is a guess
_COARSE_STEPS = 2  # of STEP_S: resolution of the search over all offsets
_SHORTEST_OVERLAP_S = 5.0
_LEAST_OVERLAP = 0.3  # of the shorter of both: a short piece of one drive fits somewhere into any other
_PARTS = 4  # pieces of the drive that are aligned on their own, to see how certain the offset is
_ALWAYS = (-np.inf, np.inf)


@dataclass(frozen=True)
class Alignment:
    """A record at t seconds after the tub's first one is seen at t + offset_s in the video."""

    offset_s: float
    steering_correlation: float  # curvature against lagged steering; NaN if one of them never changes
    throttle_correlation: float  # speed against lagged throttle; NaN likewise
    residual_s: float  # rms distance of the offsets of single parts of the drive from this one; NaN if it is too short
    drift_s: float  # how much later the last part fits than the first: unequal clocks; NaN likewise
    estimated: bool  # False: given by the user
    part_offsets_s: list[float] = field(default_factory=list)


class Matcher:
    """Both signals of the path, and the responses to the commands that might explain them."""

    def __init__(self, path_times_s: np.ndarray, xy: np.ndarray, record_times_s: np.ndarray, actions: np.ndarray) -> None:
        speed, curvature = path_motion(path_times_s, xy)
        steering, throttle = np.nan_to_num(np.asarray(actions, float)).T
        # A recording may begin with the car at rest (donkeycar starts it with the throttle) or in full drive.
        by_throttle = [
            command_response(record_times_s, throttle, (MOTOR_LAG_S, mass_lag_s), from_rest)
            for mass_lag_s, from_rest in product(MASS_LAGS_S, (True, False))
        ]
        self._pairs: tuple[tuple[Signal, list[Signal]], ...] = (
            (curvature, [command_response(record_times_s, steering, (SERVO_LAG_S,))]),
            (speed, by_throttle),
        )

    def likely_offsets(self) -> list[float]:
        """The most promising offsets of all possible ones, best first."""
        found: dict[int, float] = {}
        for measured, responses in self._pairs:
            best: dict[int, float] = {}
            for response in responses[:: max(1, len(responses) // 4)]:
                for offset, gain in _gain_at_all_offsets(measured, response):
                    best[offset] = max(gain, best.get(offset, 0.0))
            for offset, gain in best.items():
                found[offset] = found.get(offset, 0.0) + gain
        chosen: list[int] = []
        for offset in sorted(found, key=found.__getitem__, reverse=True):
            if found[offset] <= 0 or len(chosen) == 4:
                break
            if all(abs(offset - other) * STEP_S > 0.4 for other in chosen):
                chosen.append(offset)
        return [offset * STEP_S for offset in chosen]

    def correlations(self, offset_s: float, window: tuple[float, float] = _ALWAYS) -> list[tuple[float, int]]:
        """For curvature and speed: the largest correlation over the responses, and the number of samples behind it."""
        found = []
        for measured, responses in self._pairs:
            times_s = measured.times_s
            inside = (times_s >= window[0]) & (times_s < window[1])
            tried = [_correlation(measured.values[inside], response.at(times_s[inside] - offset_s)) for response in responses]
            found.append(max(tried, key=lambda pair: np.nan_to_num(pair[0], nan=-1.0)))
        return found

    def gain(self, offset_s: float, window: tuple[float, float] = _ALWAYS) -> float:
        """Log-likelihood gain at one offset within a window of video time."""
        return sum(float(_gain(np.array(r), n)) for r, n in self.correlations(offset_s, window))

    def settle(self, offset_s: float) -> None:
        """Keep only the response that explains each signal best at this offset."""
        self._pairs = tuple(
            (measured, [max(responses, key=partial(self._explains, measured, offset_s))]) for measured, responses in self._pairs
        )

    def _explains(self, measured: Signal, offset_s: float, response: Signal) -> float:
        return float(np.nan_to_num(_correlation(measured.values, response.at(measured.times_s - offset_s))[0], nan=-1.0))

    def peak(self, about_s: float, window: tuple[float, float] = _ALWAYS) -> tuple[float, float]:
        """Offset with the largest gain near about_s, found in finer and finer steps, and that gain."""
        best, gains = about_s, np.zeros(0)
        for reach, step_s in ((6, 0.04), (4, 0.01)):
            offsets = best + step_s * np.arange(-reach, reach + 1)
            gains = np.array([self.gain(float(offset), window) for offset in offsets])
            best = float(offsets[gains.argmax()])
        at = int(gains.argmax())
        if 0 < at < len(gains) - 1:  # between the steps by a parabola
            before, here, after = gains[at - 1 : at + 2]
            bend = before - 2 * here + after
            best += 0.01 * float(0.5 * (before - after) / bend) if bend < 0 else 0.0
        return best, float(gains.max())


def align(
    path_times_s: np.ndarray, xy: np.ndarray, record_times_s: np.ndarray, actions: np.ndarray, offset_s: float | None = None
) -> Alignment:
    """Find the offset, or judge the one that is given.

    path_times_s, xy: (F,), (F, 2) of the video, NaN where unseen; record_times_s, actions: (N,) from the first record, (N, 2).
    """
    matcher = Matcher(path_times_s, xy, record_times_s, actions)
    estimated = offset_s is None
    if offset_s is None:
        offset_s = _find(matcher)
    matcher.settle(offset_s)
    first = max(float(path_times_s[0]), offset_s)
    last = min(float(path_times_s[-1]), offset_s + float(record_times_s[-1]))
    parts: list[float] = []
    if last - first >= _PARTS * _SHORTEST_OVERLAP_S:
        edges = np.linspace(first, last, _PARTS + 1).tolist()
        parts = [matcher.peak(offset_s, (edges[i], edges[i + 1]))[0] for i in range(_PARTS)]
    (steering, _), (throttle, _) = matcher.correlations(offset_s)
    return Alignment(
        offset_s=float(offset_s),
        steering_correlation=steering,
        throttle_correlation=throttle,
        residual_s=float(np.sqrt(np.mean((np.array(parts) - offset_s) ** 2))) if parts else float("nan"),
        drift_s=float(np.polyfit(np.arange(_PARTS), parts, 1)[0] * (_PARTS - 1)) if parts else float("nan"),
        estimated=estimated,
        part_offsets_s=parts,
    )


def _find(matcher: Matcher) -> float:
    starts = sorted(matcher.likely_offsets(), key=matcher.gain, reverse=True)
    peaks = [matcher.peak(start_s) for start_s in starts[:2]]
    offset_s = max(peaks, key=lambda peak: peak[1])[0] if peaks else 0.0
    correlations = [r for r, _ in matcher.correlations(offset_s)]
    if not peaks or max(np.nan_to_num(correlations)) < WEAKEST_CORRELATION:
        shown = " and ".join(f"{value:.2f}" for value in correlations)
        raise AiccError(
            f"video and tub cannot be aligned: even at the best offset ({offset_s:.2f} s) steering and throttle correlate with "
            f"the motion by only {shown}; check that they are of the same drive, or give --offset-s"
        )
    return offset_s


def _correlation(measured: np.ndarray, response: np.ndarray) -> tuple[float, int]:
    """Of the quick parts of both, where both are known."""
    known = np.isfinite(measured) & np.isfinite(response)
    count = int(known.sum())
    if count * STEP_S < 2.0:
        return float("nan"), 0
    a = quick_part(np.where(known, measured, np.nan))[known]
    b = quick_part(np.where(known, response, np.nan))[known]
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return (float(a @ b) / norm, count) if norm > 1e-6 * count else (float("nan"), 0)


def _gain(correlation: np.ndarray, count: np.ndarray | int) -> np.ndarray:
    sure = np.clip(np.nan_to_num(correlation), 0.0, 0.9999)  # a negative correlation explains nothing
    return -0.5 * count * np.log(1.0 - sure**2)


def _gain_at_all_offsets(measured: Signal, response: Signal) -> list[tuple[int, float]]:
    """(offset in steps, log-likelihood gain) over the whole range, by Fourier transforms, unknown values left out."""
    first, second = (quick_part(signal.values)[::_COARSE_STEPS] for signal in (measured, response))
    known_1, known_2 = np.isfinite(first).astype(float), np.isfinite(second).astype(float)
    a, b = np.nan_to_num(first), np.nan_to_num(second)

    def slide(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return correlate(left, right, mode="full", method="fft")

    count = slide(known_1, known_2)
    scale = np.maximum(slide(a * a, known_2), 0.0) * np.maximum(slide(known_1, b * b), 0.0)
    needed = max(_SHORTEST_OVERLAP_S / (_COARSE_STEPS * STEP_S), _LEAST_OVERLAP * min(known_1.sum(), known_2.sum()))
    usable = (count >= needed) & (scale > 1e-9)
    correlation = np.where(usable, slide(a, b) / np.sqrt(np.where(usable, scale, 1.0)), 0.0)
    gains = _gain(correlation, _COARSE_STEPS * count)
    shift = _COARSE_STEPS * np.arange(-(len(second) - 1), len(first))
    # Whole coarse steps, so that the gains of both signals can be added.
    offsets = shift + _COARSE_STEPS * round((measured.start_s - response.start_s) / (_COARSE_STEPS * STEP_S))
    return [(int(offset), float(gain)) for offset, gain in zip(offsets[usable], gains[usable], strict=True)]
