"""How early an alarm made of low confidence warns of a departure, and how often for nothing."""

from dataclasses import dataclass

import numpy as np

from donkey_aicc.errors import AiccError


@dataclass(frozen=True)
class LeadTimes:
    """What an alarm `confidence < threshold` would have achieved on recorded driving."""

    lead_s: np.ndarray  # (departures,) seconds from the first alarm in the window to the departure, NaN missed
    false_alarms: int  # alarm episodes that no departure followed within the window
    frames: int

    @property
    def departures(self) -> int:
        return len(self.lead_s)

    @property
    def missed(self) -> int:
        return int(np.isnan(self.lead_s).sum())

    def median_s(self) -> float:
        """Median lead of the departures that were announced, NaN if none was."""
        announced = self.lead_s[~np.isnan(self.lead_s)]
        return float(np.median(announced)) if len(announced) else float("nan")

    def false_alarms_per_lap(self, frames_per_lap: float) -> float:
        """frames_per_lap: track length / (speed / frame rate). NaN without driving."""
        if not frames_per_lap > 0:
            raise AiccError(f"frames_per_lap must be > 0, got {frames_per_lap}")
        return self.false_alarms * frames_per_lap / self.frames if self.frames else float("nan")


def lead_times(
    confidence: np.ndarray,
    cte_m: np.ndarray,
    sequence: np.ndarray,
    limit_m: float,
    threshold: float,
    rate_hz: float,
    window_s: float = 3.0,
) -> LeadTimes:
    """confidence, cte_m, sequence: (N,), frames in driving order within each sequence.

    A departure is the first frame with |cte| > limit after frames inside. Its lead counts from the earliest alarm in the
    window before it. An alarm episode is a run of alarm frames on the track; it is false if no departure lies within
    the window after its last frame. Frames with unknown confidence raise no alarm.
    """
    for name, value in (("limit_m", limit_m), ("rate_hz", rate_hz), ("window_s", window_s)):
        if not value > 0:
            raise AiccError(f"{name} must be > 0, got {value}")
    window = max(1, round(window_s * rate_hz))
    leads, false_alarms, frames = [], 0, 0
    for name in dict.fromkeys(sequence.tolist()):
        rows = sequence == name
        outside = np.abs(np.nan_to_num(cte_m[rows])) > limit_m
        alarm = (confidence[rows] < threshold) & ~outside
        starts = np.flatnonzero(outside[1:] & ~outside[:-1]) + 1
        leads += [_lead(alarm, outside, int(start), window) / rate_hz for start in starts]
        false_alarms += _false_episodes(alarm, starts, window)
        frames += int((~outside).sum())
    return LeadTimes(np.array(leads, dtype=np.float64), false_alarms, frames)


def _lead(alarm: np.ndarray, outside: np.ndarray, start: int, window: int) -> float:
    """Frames from the first alarm to the departure, looking back neither beyond the window nor beyond the last departure."""
    before = np.flatnonzero(outside[:start])
    first = max(start - window, int(before[-1]) + 1 if len(before) else 0)
    alarms = np.flatnonzero(alarm[first:start])
    return float(start - first - alarms[0]) if len(alarms) else float("nan")


def _false_episodes(alarm: np.ndarray, departures: np.ndarray, window: int) -> int:
    edges = np.diff(np.concatenate([[0], alarm.astype(np.int8), [0]]))
    last = np.flatnonzero(edges == -1) - 1
    return sum(not ((departures > end) & (departures <= end + window)).any() for end in last)
