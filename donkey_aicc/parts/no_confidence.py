"""NoConfidence: stands where the calibrator would for a bundle trained without labels, and says so."""

from typing import Any

from donkey_aicc.parts import states


class NoConfidence:
    """Donkeycar part: state of the scorer -> status. The channels of probability and confidence stay empty."""

    def run(self, state: Any) -> str:
        """For example `no safety predictor: warming up`; without a complaint of the scorer only the first half."""
        trouble = state if isinstance(state, str) and state != states.OK else ""
        return f"{states.NO_PREDICTOR}: {trouble}" if trouble else states.NO_PREDICTOR

    def shutdown(self) -> None:
        """Nothing to close."""
