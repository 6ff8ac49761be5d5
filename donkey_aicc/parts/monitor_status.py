"""What the scorer knows by now, where the loop needs it, and what a person is told beside the numbers."""

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

from donkey_aicc.alarm.health import BLIND, Glance, MonitorHealth
from donkey_aicc.parts import states
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.settings import FULL

logger = logging.getLogger(__name__)


class NewestScores:
    """Donkeycar part before the drivetrain: -> the scorer's outputs, and its signs for the alarm (a list, or None).

    The scorer itself stands behind the drivetrain, because it is fed with the commands that were really sent; its newest
    result is of the tick before, or older when it runs beside the loop: `scores_age_s` says how old.
    """

    def __init__(self, scorer: WorldModelScorer) -> None:
        self._scorer = scorer

    def run(self) -> tuple[Any, ...]:
        newest = self._scorer.newest
        return *self._scorer.read(), None if newest is None else newest.signs

    def shutdown(self) -> None:
        """The scorer ends itself."""


class HealthCheck:
    """Donkeycar part behind the predictor: (frame, scorer's state, p) -> health. The scorer knows what was scored and sent.

    p: this tick's probabilities, None where there is no predictor.
    """

    UNSURE = {
        states.SCORER_DOWN: "the scorer is down and starts again",
        states.STALE: "the look ahead is late",
        states.NOT_FINITE: "the monitor computed no numbers",
    }

    def __init__(self, scorer: WorldModelScorer, health: MonitorHealth) -> None:
        self._scorer, self._health = scorer, health
        self.shutdown()

    def run(self, frame: Any, state: Any, p: Any = None) -> str:
        """Never raises."""
        try:
            newest = self._scorer.newest
            if newest is not None and newest.state != states.NOT_FINITE:
                self._scored_s = newest.time_s
            unsure = self.UNSURE.get(state, "") or ("the predictor gives no numbers" if p is not None and not len(p) else "")
            glance = Glance(
                frame.time_s,
                frame.usable_s,
                frame.fresh_s,
                frame.new_s,
                self._scored_s,
                self._scorer.sent_throttle,
                frame.trouble or (state if state in self.UNSURE else ""),
                unsure,
            )
            return self._health.step(glance)
        except Exception:  # an exception here would stop the car
            logger.exception("the monitor's health could not be judged")
            return f"{BLIND}: its health could not be judged"

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next."""
        self._health.reset()
        self._scored_s = math.nan


class ByGrade:
    """Stands for the part of the current grade: a number means what it was fitted for, also after a step down."""

    def __init__(self, parts: Mapping[str, Any], grade: Callable[[], str]) -> None:
        self._parts, self._grade = dict(parts), grade

    @property
    def now(self) -> Any:
        """The part whose turn it is."""
        return self._parts[self._grade()]

    def run(self, *inputs: Any) -> Any:
        return self.now.run(*inputs)

    def shutdown(self) -> None:
        for part in self._parts.values():
            part.shutdown()

    def reset(self) -> None:
        """The next frame starts a new sequence."""
        for part in self._parts.values():
            part.reset()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.now, name)


class MonitorStatus:
    """Donkeycar part behind calibrator and alarm: status -> (status in full, grade). day: what the watch of the day says."""

    def __init__(self, scorer: WorldModelScorer, day: Callable[[], str] = lambda: "") -> None:
        self._scorer, self._day = scorer, day

    def run(self, status: str | None) -> tuple[str, str]:
        grade, slow = self._scorer.grade, self._scorer.slow
        further = [each for each in (slow, self._day()) if each]
        said = [*([] if further and status == states.OK else [status or states.NO_SCORES]), *further]
        said += [f"grade {grade}"] if grade != FULL else []
        return ", ".join(said), grade

    def shutdown(self) -> None:
        """Nothing to close."""


class NoConfidence:
    """Donkeycar part: state of the scorer -> status. The channels of probability and confidence stay empty."""

    def run(self, state: Any) -> str:
        """For example `no safety predictor: warming up`; without a complaint of the scorer only the first half."""
        trouble = state if isinstance(state, str) and state != states.OK else ""
        return f"{states.NO_PREDICTOR}: {trouble}" if trouble else states.NO_PREDICTOR

    def shutdown(self) -> None:
        """Nothing to close."""
