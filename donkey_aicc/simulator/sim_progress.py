"""SimProgress and SessionCut: laps and walls of the embedded simulator in the drive loop."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from donkey_aicc.simulator.driving import SimulatorPart


class SimProgress:
    """Runs right after the simulator and says how far the drive is."""

    def __init__(self, simulator: "SimulatorPart") -> None:
        from donkey_aicc.simulator.world import NO_HIT  # manage.py of a real car loads this file, and needs no world

        self._simulator, self._no_hit = simulator, NO_HIT

    def run(self) -> tuple[int, bool]:
        """Number of the lap being driven (from 1) and whether the car has hit the wall."""
        return self._simulator.laps + 1, self._simulator.observation.hit != self._no_hit


class SessionCut:
    """Runs after the tub: a hit ends the tub session, because the simulator puts the car back in the next tick.

    The cut keeps windows, rollouts and labels from reaching across the jump.
    """

    def __init__(self, tub: Any) -> None:
        self._tub = tub

    def run(self, hit: bool) -> None:
        """Give the records that follow another session id, as closing and reopening donkeycar's Tub would."""
        if hit:
            manifest = self._tub.manifest
            manifest._update_session_info()
            manifest.session_id = manifest.create_new_session_id()
