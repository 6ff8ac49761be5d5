"""How long a fault that is over is still seen: by the alarm, by the confidence, and by the paper's rho, which looks back 5 s."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.calibration.past_faults import PastFaults
from donkey_aicc.evaluation.metrics import ece_binary, nll
from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.driving import USER_MODE, Marshal, drive
from donkey_aicc.simulator.record_drives import world_at_start
from donkey_aicc.tubs.labels import horizon_labels, safe_from_cte
from studies.governor.governed_car import GovernedCar

BEGIN, FRAMES, AFTER = 150, 60, 140  # nominal, under the fault, behind it
RATE_HZ = 20.0
SLACK = 0.05  # of a score: back means at most this above its level before the fault


class Brief:
    """A side of a fault that ends by itself; what it wraps goes on unseen."""

    def __init__(self, side: Any, frames: int) -> None:
        self._side, self._left = side, frames

    def run(self, *given: Any) -> Any:
        self._left -= 1
        changed = self._side.run(*given)
        return changed if self._left >= 0 else given[0] if len(given) == 1 else given

    def reset(self) -> None:
        self._side.reset()


@dataclass(frozen=True)
class Return:
    """Of one drive; seconds after the end of the fault, None: not within the drive."""

    fault: str
    seed: int
    seen: bool  # the alarm spoke under the fault
    alarm_s: float | None
    confidence_s: float | None
    rho_s: float | None
    stayed_in_lane: bool  # until 2 s after the fault: else the car itself is not where it usually is
    # (3, frames, K) behind the fault, as long as the context remembers it: confidence, the same if it did not forget, label
    judged: np.ndarray | None = None


def return_of(bundle: Path, track: str, fault: str, seed: int, pilot: str | None, grade: str) -> Return:
    """Drive it and watch. Only faults of the camera and of the commands can end by themselves."""
    nets = Bundle.load(bundle)
    calibrator = load_calibrator(nets, grade)
    car = GovernedCar(nets, calibrator, {})
    car.keeps_watching = True
    assert calibrator.alarm is not None  # GovernedCar has looked
    past = PastFaults(calibrator.alarm, calibrator.settings.context)
    world = world_at_start(track, seed)
    name, _, severity = fault.partition(":")
    levels: list[str] = []
    offs: list[float] = []
    scores: list[tuple[float, float, float, float]] = []
    confidences: list[np.ndarray] = []

    def source(episode: int) -> Fault | None:
        if len(levels) < BEGIN or episode:
            return None
        whole = make_fault(name, int(severity), rate_hz=world.rate_hz, seed=seed)
        return replace(
            whole, sensor=whole.sensor and Brief(whole.sensor, FRAMES), command=whole.command and Brief(whole.command, FRAMES)
        )

    for tick in drive(
        world, nominal_driver(world.track, pilot, seed), BEGIN + FRAMES + AFTER, source, Marshal(warm_up_frames=0), car
    ):
        if tick.mode == USER_MODE:
            break
        levels.append(car.level)
        offs.append(abs(tick.observation.cte_m) - world.track.half_width_m)
        plain = {"rho": car.scores.get("rho", 0.0), "delta": car.scores.get("delta", 0.0)}
        seen = past.step(np.array([np.nan if value is None else value for value in car.signs]), plain) if car.signs else plain
        scores.append((plain["rho"], plain["delta"], seen["rho"], seen["delta"]))
        confidences.append(_confidences(calibrator, car, [seen, plain]))
    end, found = BEGIN + FRAMES, np.array(scores)
    before = found[BEGIN - 40 : BEGIN].max(axis=0) + SLACK
    return Return(
        fault=fault,
        seed=seed,
        seen=any(level != "none" for level in levels[BEGIN:end]),
        alarm_s=_first([level == "none" for level in levels[end:]]),
        confidence_s=_first((found[end:, 2:] <= before[2:]).all(axis=1).tolist()),
        rho_s=_first((found[end:, 0] <= before[0]).tolist()),
        stayed_in_lane=len(offs) >= end + 40 and max(offs[BEGIN : end + 40]) <= 0.0,
        judged=_judged(np.array(confidences), np.array(offs) + world.track.half_width_m, nets.manifest, calibrator, end),
    )


def _confidences(calibrator: Calibrator, car: GovernedCar, readings: Sequence[Mapping[str, float]]) -> np.ndarray:
    """(readings, K) of one frame."""
    known = [{**car.scores, **reading} for reading in readings]
    columns = {name: np.array([each.get(name, 0.0) for each in known]) for name in calibrator.score_names}
    p = np.array([car.p[calibrator.starts_from]] * len(known))
    return calibrator.calibrate_all(p, columns, car.horizons)


def _judged(
    confidences: np.ndarray, cte_m: np.ndarray, manifest: Manifest, calibrator: Calibrator, end: int
) -> np.ndarray | None:
    """cte_m: (frames,) distance from the middle of the lane; the calibrator knows how far back the scores look."""
    if manifest.tau is None or len(cte_m) <= end:
        return None
    labels = horizon_labels(safe_from_cte(cte_m, manifest.tau), np.array(manifest.horizons))
    rows = slice(end, end + calibrator.settings.context)
    return np.stack([*confidences[rows].swapaxes(0, 1), labels[rows]])


def _first(back: list[bool]) -> float | None:
    return back.index(True) / RATE_HZ if True in back else None


def markdown(found: Sequence[Return]) -> str:
    """One row per fault: medians over the drives that stayed in their lane, and how many did not."""
    lines = [
        "| fault | drives in lane | alarm back, s | confidence back, s | rho back, s | drives that left the lane: alarm back, s |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for fault in dict.fromkeys(one.fault for one in found):
        own = [one for one in found if one.fault == fault]
        inside = [one for one in own if one.stayed_in_lane and one.seen]
        cells = [fault, f"{len(inside)} of {len(own)}"]
        cells += [_median([getattr(one, name) for one in inside]) for name in ("alarm_s", "confidence_s", "rho_s")]
        cells.append(_median([one.alarm_s for one in own if not one.stayed_in_lane]))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + f"\n\n{_judgement(found)}\n"


def _judgement(found: Sequence[Return]) -> str:
    """How well the confidence is calibrated behind faults that the alarm saw, with forgetting and without."""
    lines = ["| behind the fault | drives | frames | ECE, NLL: it forgets | ECE, NLL: it does not |", "|---|---|---|---|---|"]
    for name, inside in (("in lane", True), ("left the lane", False)):
        parts = [one.judged for one in found if one.seen and one.judged is not None and one.stayed_in_lane == inside]
        if not parts:
            continue
        forgetting, plain, labels = np.concatenate(parts, axis=1)
        known = np.isfinite(labels)
        cells = [
            f"{ece_binary(p[known], labels[known]).value:.3f}, {nll(p[known], labels[known]).value:.3f}"
            for p in (forgetting, plain)
        ]
        lines.append("| " + " | ".join([name, str(len(parts)), str(len(labels)), *cells]) + " |")
    return "\n".join(lines)


def _median(values: Sequence[float | None]) -> str:
    """`5.1 (2.0-7.0)`; what never came back counts as the longest that was watched."""
    known = [AFTER / RATE_HZ if value is None else value for value in values]
    return f"{np.median(known):.2f} ({min(known):.2f}-{max(known):.2f})" if known else "-"
