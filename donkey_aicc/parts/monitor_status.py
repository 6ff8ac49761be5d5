"""MonitorStatus: at which grade the scores are made, and whether the computer keeps up, beside the calibrator's status."""

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
