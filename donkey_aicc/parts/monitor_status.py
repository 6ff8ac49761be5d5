"""What a person is told beside the numbers: the grade, whether the computer keeps up, and when there can be no confidence."""

from typing import Any

from donkey_aicc.parts import states
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.settings import FULL


class MonitorStatus:
    """Donkeycar part behind the calibrator: status -> (status in full, grade)."""

    def __init__(self, scorer: WorldModelScorer) -> None:
        self._scorer = scorer

    def run(self, status: str | None) -> tuple[str, str]:
        grade, slow = self._scorer.grade, self._scorer.slow
        said = [] if slow and status == states.OK else [status or states.NO_SCORES]
        said += [slow] if slow else []
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
