"""DriveLog: a line per lap, a summary at the end, and the same as drive.json in the tub's folder."""

import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.files import write_json

FILE_NAME = "drive.json"


class DriveLog:
    """Collects cross-track error and loop time; nothing is written before the drive ends."""

    def __init__(self, folder: str | Path, lap_times: Callable[[], tuple[float, ...]] = tuple) -> None:
        """lap_times: gives the seconds of all laps finished so far; a real car knows none."""
        self._folder = Path(folder)
        self._lap_times = lap_times
        self._starts_s = array("d")  # 8 bytes a tick; a list of floats has four times that
        self._abs_cte_m = array("d")
        self._lap_from = 0  # index of the lap's first cross-track error
        self._laps_told = 0
        self._hits = 0

    def run(self, cte_m: float | None, hit: bool | None) -> None:
        """Once per loop; None where the car cannot know."""
        self._starts_s.append(time.perf_counter())
        self._hits += bool(hit)
        if cte_m is not None:
            self._abs_cte_m.append(abs(cte_m))
        laps = self._lap_times()
        if len(laps) > self._laps_told:
            self._laps_told = len(laps)
            print(f"lap {len(laps)}: {laps[-1]:.2f} s, mean |cte| {_mean(self._abs_cte_m[self._lap_from :]):.3f} m")
            self._lap_from = len(self._abs_cte_m)

    def summary(self) -> dict[str, Any]:
        """Numbers of the drive so far; None where there is nothing to average."""
        periods_ms = 1000 * np.diff(self._starts_s)
        timed = periods_ms.size > 0
        known = bool(self._abs_cte_m)
        return {
            "loops": len(self._starts_s),
            "seconds": round(float(periods_ms.sum()) / 1000, 3),
            "loop_ms_mean": round(float(periods_ms.mean()), 3) if timed else None,
            "loop_ms_p99": round(float(np.percentile(periods_ms, 99)), 3) if timed else None,
            "lap_times_s": [round(seconds, 3) for seconds in self._lap_times()],
            "mean_abs_cte_m": round(_mean(self._abs_cte_m), 4) if known else None,
            "max_abs_cte_m": round(max(self._abs_cte_m), 4) if known else None,
            "wall_hits": self._hits,
        }

    def shutdown(self) -> None:
        """Print the summary and leave it beside the records."""
        summary = self.summary()
        if not summary["loops"]:
            return
        write_json(self._folder / FILE_NAME, summary)
        line = f"drive: {summary['loops']} loops in {summary['seconds']:.1f} s"
        if summary["loop_ms_mean"] is not None:
            line += f" (loop {summary['loop_ms_mean']:.1f} ms mean, {summary['loop_ms_p99']:.1f} ms 99th percentile)"
        if summary["mean_abs_cte_m"] is not None:
            line += f", {len(summary['lap_times_s'])} laps, mean |cte| {summary['mean_abs_cte_m']:.3f} m"
            line += f", {summary['wall_hits']} wall hits"
        print(f"{line}; tub {self._folder}")


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
