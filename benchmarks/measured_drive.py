"""`manage.py drive --headless` of one car folder, measured from outside; bench_loop.py starts this in its own process.

    python benchmarks/measured_drive.py CAR RESULT.json RATE_HZ WARM_UP_TICKS

The drive is the template's own. Only the vehicle it makes is one that remembers when each tick began and how old the
scores were, and whose profiler notes the CPU time of the loop's thread besides donkeycar's wall time.
"""

import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import donkeycar as dk
import numpy as np
from docopt import docopt

from donkey_aicc import channels
from donkey_aicc.parts.monitor_status import ByGrade
from donkey_aicc.parts.states import OK
from donkey_aicc.parts.world_model_scorer import WorldModelScorer

# All that the monitor does between camera and motors. The safety prediction is one view of the TTA's pass.
CONTROL_PATH = (
    "FrameIntake",
    "NewestScores",
    "TTA",
    "AnomalyCalibrator",
    "MonitorStatus",
    "DepartureAlarm",
    "SafetyGovernor",
    "CommandLimits",
)


class CpuProfiler(dk.vehicle.PartProfiler):
    """donkeycar's profiler, which keeps wall times, and CPU times: those do not grow with other work on the machine."""

    def profile_part(self, p: Any) -> None:
        self.records[p] = {"times": [], "cpu": []}

    def on_part_start(self, p: Any) -> None:
        self.records[p]["cpu"].append(time.thread_time())
        super().on_part_start(p)

    def on_part_finished(self, p: Any) -> None:
        super().on_part_finished(p)
        self.records[p]["cpu"][-1] = time.thread_time() - self.records[p]["cpu"][-1]


class MeasuredVehicle(dk.vehicle.Vehicle):
    """donkeycar's vehicle with a notebook."""

    made: "MeasuredVehicle"

    def __init__(self, mem: Any = None) -> None:
        super().__init__(mem)
        type(self).made = self
        self.profiler = CpuProfiler()
        self.began_s: list[float] = []
        self.stolen_s: list[float] = []
        self.work_s: list[float] = []
        self.age_s: list[float] = []
        self.states: list[str] = []

    def update_parts(self) -> None:
        self.stolen_s.append(stolen_so_far_s())
        began = time.perf_counter()
        super().update_parts()
        self.work_s.append(time.perf_counter() - began)
        self.began_s.append(began)
        age, state = self.mem.get([channels.SCORES_AGE_S, channels.SCORES_STATE])
        self.age_s.append(age)
        self.states.append(state)


def stolen_so_far_s() -> float:
    """Time since start-up that the host of a virtual machine gave to others although this one wanted to run, all cores."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):  # not Linux
        return 0.0


def missed_ticks(began_s: np.ndarray, rate_hz: int) -> np.ndarray:
    """Ticks of the clock that each period let pass without a loop: 1.5 ticks long counts as one, 2.5 as two."""
    return (np.floor(np.diff(began_s) * rate_hz + 0.5) - 1).clip(min=0).astype(int)


def late_periods(began_s: np.ndarray, stolen_s: np.ndarray, rate_hz: int) -> list[dict[str, float]]:
    """Every period that missed a tick, in ms, with what the host took away during it."""
    lengths, stolen = 1e3 * np.diff(began_s), 1e3 * np.diff(stolen_s)
    late = np.flatnonzero(missed_ticks(began_s, rate_hz))
    return [{"ms": float(lengths[i]), "stolen_ms": float(stolen[i])} for i in late]


def times_ms(wall_s: np.ndarray, cpu_s: np.ndarray | None = None) -> dict[str, float]:
    p50, p99, most = np.percentile(1e3 * wall_s, [50, 99, 100]).tolist()
    found = {"p50": p50, "p99": p99, "most": most}
    return found if cpu_s is None else found | {"cpu_p50": 1e3 * float(np.median(cpu_s))}


def part_times(vehicle: MeasuredVehicle, first: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(class name, wall s, CPU s) of every part, in the order of the loop, from its run number `first` on."""
    for part, record in vehicle.profiler.records.items():
        if len(record["times"]) > first:
            yield (
                type(part.now if isinstance(part, ByGrade) else part).__name__,
                np.array(record["times"][first:]),
                np.array(record["cpu"][first:]),
            )


def summary(vehicle: MeasuredVehicle, rate_hz: int, warm_up: int) -> dict[str, Any]:
    """What bench_loop.py prints; everything but `missed_at_start` and what the process used is about the time after warm-up."""
    began = np.array(vehicle.began_s)
    warm = began[warm_up:]
    parts = list(part_times(vehicle, warm_up))
    control = [np.sum(column, axis=0) for column in zip(*((w, c) for name, w, c in parts if name in CONTROL_PATH), strict=True)]
    stolen = np.array(vehicle.stolen_s[warm_up:])
    untouched = np.append(np.diff(stolen) == 0.0, False)  # nobody knows how long the last tick went on
    scorer = next(entry["part"] for entry in vehicle.parts if isinstance(entry["part"], WorldModelScorer))
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "parts": [(name, times_ms(wall, cpu)) for name, wall, cpu in parts],
        "loop": times_ms(np.array(vehicle.work_s[warm_up:])),
        "control_path": times_ms(*control),
        "control_path_untouched": times_ms(control[0][untouched]) if untouched.any() else None,
        "untouched_ticks": int(untouched.sum()),
        "ticks": len(warm),
        "rate_hz": (len(warm) - 1) / float(warm[-1] - warm[0]),
        "missed": int(missed_ticks(warm, rate_hz).sum()),
        "late_periods": late_periods(warm, stolen, rate_hz),
        "stolen_s": float(stolen[-1] - stolen[0]),
        "missed_at_start": int(missed_ticks(began[: warm_up + 1], rate_hz).sum()),
        "drive_s": float(began[-1] - began[0]),
        "counts": vars(scorer.counts),
        "grade": scorer.grade,
        "age_s": np.percentile(vehicle.age_s[warm_up:], [50, 99]).tolist(),
        "scores_ok": float(np.mean([state == OK for state in vehicle.states[warm_up:]])),
        "peak_memory_mb": used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3),  # macOS counts bytes, Linux kilobytes
        "cpu_s": used.ru_utime + used.ru_stime,
    }


def load_manage(car: Path) -> ModuleType:
    """The car's manage.py as a module."""
    spec = importlib.util.spec_from_file_location("manage", car / "manage.py")
    assert spec is not None and spec.loader is not None
    manage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(manage)
    return manage


def main(car: Path, result: Path, rate_hz: int, warm_up: int) -> int:
    dk.vehicle.Vehicle = MeasuredVehicle
    manage = load_manage(car)
    code = manage.main(docopt(manage.__doc__, ["drive", "--headless"]))
    ticks = len(MeasuredVehicle.made.began_s)
    if ticks < warm_up + rate_hz:
        raise SystemExit(f"the drive ended after {ticks} ticks; a measurement needs {warm_up + rate_hz}")
    result.write_text(json.dumps(summary(MeasuredVehicle.made, rate_hz, warm_up)), encoding="utf-8")
    return code


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
