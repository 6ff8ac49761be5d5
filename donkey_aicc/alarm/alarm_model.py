"""The fitted alarm of one grade: scales of the signs, hazard, thresholds, and why it speaks in one line for a person.

It is part of calibrator.json and checked when it is loaded.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_policy import NONE, AlarmPolicy, Threshold
from donkey_aicc.alarm.day_watch import DayWatch, UsualDays
from donkey_aicc.alarm.evidence import Evidence, EvidenceStream
from donkey_aicc.alarm.hazard import LARGEST_LOGIT, HazardModel
from donkey_aicc.alarm.pieces import Piece
from donkey_aicc.alarm.reasons import reason
from donkey_aicc.alarm.response import Response
from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import SIGNS, SignSettings
from donkey_aicc.alarm.today import Recentred, Today
from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.stored import number

NEAR_STEPS = 20  # the hazard that decides: a departure within about a second
ENOUGH_PIECES = 12
FRESH_LAPS = "twelve fresh laps cure most of it: drive them well, manage.py drive --alarm-laps 12, then calibrate --alarm-drives"


@dataclass(frozen=True)
class Checked:
    """What the alarm did on nominal pieces that were kept aside: how many had which level, and the share of frames in danger."""

    pieces: int
    worth: float  # independent ones
    watch: int
    danger: int
    frames: float

    def statement(self) -> str:
        return f"danger in {self.danger} of {self.pieces} pieces and {100 * self.frames:.1f} % of the frames"


@dataclass(frozen=True)
class AlarmModel:
    """Everything that the alarm and the governor need to know about one car."""

    scales: SignScales
    signs: SignSettings
    hazard: HazardModel | None
    hazard_unit: float  # logit of the hazard that counts as 1: the most of usual nominal drives
    watch: Threshold
    danger: Threshold
    piece: Piece  # what the promises are counted in
    cruise: float  # usual throttle of nominal drives
    stop_hazard: float  # danger with at least this hazard is a case for a stop, below for a crawl
    note: str = ""  # why there is no hazard
    checked: Checked | None = None  # None: no drive was kept aside
    usual: UsualDays | None = None  # None: too little driving to tell one day from another

    def score(self, evidence: Evidence) -> np.ndarray:
        """(L,) the one combined score that the thresholds are for: the strangest sign or the hazard, whichever is larger."""
        return np.maximum(evidence.strangeness, self.hazard_score(evidence))

    def hazard_score(self, evidence: Evidence) -> np.ndarray:
        """(L,) the hazard on the scale of the signs; 0 without a hazard."""
        if self.hazard is None:
            return np.zeros(len(evidence.strangeness))
        return self.hazard.logit(evidence.features) / self.hazard_unit

    def statements(self) -> list[str]:
        """What is promised and what is not, for the person at `calibrate`."""
        said, minutes = [f"  {self.scales.statement()}"], self.piece.seconds / 60.0
        for name in ("watch", "danger"):
            threshold, found = getattr(self, name), ""
            if self.checked is not None:
                found = f"; found on what was kept aside: {getattr(self.checked, name)} of {self.checked.pieces}"
                found += f" ({100 * self.checked.frames:.1f} % of the frames)" if name == "danger" else ""
            if threshold.aim >= 1.0:
                said.append(f"alarm: {name} is not promised, because driving kept aside broke the promise{found}")
            else:
                said.append(f"alarm: {name} {threshold.statement(str(self.piece), minutes)}{found}")
        if self.danger.pieces < ENOUGH_PIECES or self.danger.aim >= 1.0:
            said.append(f"  {FRESH_LAPS}")
        said.append(f"hazard: {self.note}" if self.hazard is None else "hazard: fitted on departures under driven faults")
        return said + ([] if self.usual is None else [self.usual.promise(self.piece)])

    def to_json(self) -> dict[str, Any]:
        return {
            "scales": self.scales.to_json(),
            "response": None if self.signs.response is None else self.signs.response.to_json(),
            "hazard": None if self.hazard is None else self.hazard.to_json(),
            "watch": vars(self.watch),
            "danger": vars(self.danger),
            "piece": vars(self.piece),
            "checked": None if self.checked is None else vars(self.checked),
            "usual": None if self.usual is None else self.usual.to_json(),
        } | {name: getattr(self, name) for name in _PLAIN}

    @classmethod
    def from_json(cls, stored: Any) -> "AlarmModel":
        try:
            scales, piece = SignScales.from_json(stored["scales"]), Piece.from_json(stored["piece"])
            model = cls(
                scales=scales,
                signs=_sign_settings(stored, scales, piece),
                hazard=None if stored["hazard"] is None else HazardModel.from_json(stored["hazard"]),
                watch=Threshold.from_json(stored["watch"]),
                danger=Threshold.from_json(stored["danger"]),
                piece=piece,
                checked=None if stored["checked"] is None else Checked(**stored["checked"]),
                usual=None if stored["usual"] is None else UsualDays.from_json(stored["usual"]),
                hazard_unit=number("the alarm's hazard unit", stored["hazard_unit"], LEAST_HAZARD_UNIT, LARGEST_LOGIT),
                cruise=number("the alarm's cruise", stored["cruise"], 0.0, 1.0),
                stop_hazard=number("the alarm's stop_hazard", stored["stop_hazard"], 0.0, MOST_STOP_HAZARD),
                note=str(stored["note"]),
            )
        except DAMAGE as error:
            raise AiccError(f"the alarm is damaged or of another version: {error!r}") from error
        model.check()
        return model

    def check(self, horizons: list[int] | None = None) -> None:
        """Refuse numbers that would keep the alarm silent, or invert it. horizons: the bundle's."""
        if self.hazard is not None:
            self.hazard.check()
            if horizons is not None and list(self.hazard.horizons) != horizons:
                raise AiccError(f"the hazard is for the horizons {list(self.hazard.horizons)}, the bundle's are {horizons}")
        if self.scales.cloud is not None:
            self.scales.cloud.check("the alarm's cloud of nominal pictures")
        if self.watch.value > self.danger.value:
            raise AiccError(f"watch must not begin after danger, got {self.watch.value:.3g} > {self.danger.value:.3g}")


_PLAIN = ("hazard_unit", "cruise", "stop_hazard", "note")
LEAST_HAZARD_UNIT = 0.5
MOST_STOP_HAZARD = 0.9  # a danger surer than that must end in a stop


def _sign_settings(stored: Any, scales: SignScales, piece: Piece) -> SignSettings:
    response = None if stored["response"] is None else Response.from_json(stored["response"], piece.rate_hz)
    cruise = number("the alarm's cruise", stored["cruise"], 0.0, 1.0)
    return SignSettings(response, piece.rate_hz, cruise, scales.usual("motion"))


@dataclass(frozen=True)
class AlarmReading:
    """Of one frame. hazard: one probability per horizon, empty without a model; near_hazard: within about a second."""

    level: str
    score: float
    hazard: tuple[float, ...]
    near_hazard: float
    reason: str


class AlarmStream:
    """One car's evidence, frame by frame, into level, hazard and reason."""

    def __init__(self, model: AlarmModel, horizons: tuple[int, ...]) -> None:
        self.model, self._horizons = model, horizons
        self._evidence = EvidenceStream(model.scales, horizons, rate_hz=model.signs.rate_hz)
        self.policy = AlarmPolicy(model.watch, model.danger, model.piece.frames, model.signs.rate_hz)
        self._lap: deque[np.ndarray] = deque(maxlen=model.piece.frames)  # signs of the last lap's driving
        self.day = None if model.usual is None else DayWatch(model.usual)
        steps = np.array(model.hazard.horizons if model.hazard is not None else horizons)
        self._near = int(np.argmin(np.abs(steps - NEAR_STEPS)))

    def reset(self) -> None:
        """A new sequence starts."""
        self._evidence.reset()
        self.policy.reset()

    @property
    def today(self) -> Today:
        """What is nominal today."""
        return self._evidence.today

    @property
    def lap_driven(self) -> bool:
        """Whether there is a whole lap that can be taken as today's."""
        return len(self._lap) == self._lap.maxlen

    def recentre(self) -> Recentred:
        """The driver says that the last lap was normal."""
        if not self.lap_driven:
            raise AiccError(f"today's nominal needs a whole lap: {len(self._lap)} of {self._lap.maxlen} frames are driven")
        found = self.today.recentre(np.stack(self._lap))
        self.reset()
        return found

    def step(self, signs: np.ndarray | None, p: np.ndarray | None = None, tta_spread: float | None = None) -> AlarmReading:
        """signs: (S,), None when there are none yet; p: (K,) probability of safe."""
        row = np.full(len(SIGNS), np.nan) if signs is None else np.asarray(signs, dtype=np.float64)
        evidence = self._evidence.update(
            row[None], None if p is None else np.asarray(p)[None], None if tta_spread is None else np.array([tta_spread])
        )
        if signs is not None:
            self._lap.append(row)
        score = float(self.model.score(evidence)[0])
        if self.day is not None and np.isfinite(row).any():
            self.day.step(score)
        level = self.policy.step(score)
        hazard = () if self.model.hazard is None else tuple(self.model.hazard.hazard(evidence.features)[0].tolist())
        by_hazard = float(self.model.hazard_score(evidence)[0])
        near = hazard[self._near] if hazard else 0.0
        why = "" if level == NONE else reason(evidence.deviations[0], row, self.model.scales, by_hazard, near)
        return AlarmReading(level, score, hazard, near, why)
