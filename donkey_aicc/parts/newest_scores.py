"""NewestScores: what the scorer knows by now, at the place in the loop where it is needed."""

from typing import Any

from donkey_aicc.parts.world_model_scorer import WorldModelScorer


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
