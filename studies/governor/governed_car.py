"""The monitor's own parts in the order of the car's loop, without the vehicle loop around them; several governors may listen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_policy import DANGER, AlarmPolicy
from donkey_aicc.alarm.brake import SIMULATED, BrakeSettings
from donkey_aicc.alarm.governor_policy import FULL, STOP, STOPPED, GovernorPolicy
from donkey_aicc.alarm.health import OK, WAITING, MonitorHealth
from donkey_aicc.alarm.timing import tick_clock
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.parts.departure_alarm import DepartureAlarm
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.monitor_status import HealthCheck, NewestScores
from donkey_aicc.parts.safety_governor import SafetyGovernor
from donkey_aicc.parts.safety_predictor import TTA, Restoring, SafetyPredictor
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from studies.governor.rivals import Rival

PILOT = "local"
TICK_S = 0.05  # of the simulated loop


@dataclass
class Seat:
    """One governor and what it judged last. rival: decides in the alarm's place."""

    governor: SafetyGovernor
    rival: Rival | None
    policy: AlarmPolicy | None
    level: str = "none"
    action: str = FULL
    reason: str = ""


class GovernedCar:
    """(image, command) -> the command as sent.

    governors: name -> rival, None for alarm and hazard. All of them listen until the first acts; then `ask(name)` decides who
    goes on: True, that governor drives from here and the others are gone; False, it is gone. So drives that are alike until a
    governor acts are driven, and scored, once. One that has stopped stays stopped, and nobody needs scores any more.
    """

    def __init__(
        self,
        bundle: Bundle,
        calibrator: Calibrator,
        governors: Mapping[str, Rival | None],
        ask: Callable[[str], bool] = lambda name: True,
        brake: BrakeSettings = SIMULATED,
    ) -> None:
        alarm = calibrator.alarm
        if alarm is None or calibrator.statistics is None:
            raise AiccError("the bundle's calibrator has no alarm; make it with donkey-aicc calibrate")
        settings = calibrator.settings
        self._scorer = WorldModelScorer(
            bundle, calibrator.statistics, settings, intake=FrameIntake(tick_s=TICK_S), signs=alarm.signs
        )
        self._newest = NewestScores(self._scorer)
        self._tta = TTA(
            SafetyPredictor(bundle, self._scorer.intake),
            settings,
            details=True,
            statistics=calibrator.statistics,
            score_names=(*calibrator.score_names, "tta_spread", "hindsight"),
            restoring=None if settings.restoration is None else Restoring(settings.restoration, lambda: self._scorer.newest),
        )
        self.horizons = [int(step) for step in bundle.horizons]
        self._model = alarm
        self._alarm = DepartureAlarm(alarm, tuple(self.horizons))
        self._health = HealthCheck(self._scorer, MonitorHealth())
        self._rivals, self.ask, self._brake = dict(governors), ask, brake
        self.speed_of: Callable[[], float | None] = lambda: None  # of the car now, m/s; who drives it knows
        self.keeps_watching = False  # even when no governor listens any more
        self.sit_down()

    def sit_down(self) -> None:
        """All governors at the start of their watch; the monitor keeps what it has seen."""
        self.seats = {name: self._seat(rival) for name, rival in self._rivals.items()}
        self.acting: str | None = None
        self.level = "none"  # of the alarm, whoever listens
        self.hazard: list[float] = []
        self.scores: dict[str, float] = {}
        self.signs: list[float | None] | None = None
        self.p: dict[str, list[float]] = {}  # of the prediction, by the names of the table's columns

    def _seat(self, rival: Rival | None) -> Seat:
        alarm = self._model
        stop_hazard = alarm.stop_hazard if rival is None else 0.0
        steps = alarm.hazard.horizons if alarm.hazard is not None else ()
        clock = tick_clock(1.0 / TICK_S)
        policy = GovernorPolicy(STOP, cruise=alarm.cruise, stop_hazard=stop_hazard, brake=self._brake, clock=clock)
        return Seat(SafetyGovernor(policy, steps), rival, None if rival is None else rival.policy())

    @property
    def governors(self) -> tuple[str, ...]:
        return tuple(self._rivals)

    @property
    def stopped(self) -> bool:
        return self.acting is not None and self.seats[self.acting].action == STOPPED

    def __call__(self, image: np.ndarray, command: tuple[float, float]) -> tuple[float, float]:
        if not self.seats and not self.keeps_watching:
            return command
        seen = self._scorer.intake.see(image)
        if self.acting is not None and self.stopped:
            governor, speed = self.seats[self.acting].governor, self.speed_of()
            return command[0], governor.run(DANGER, [], command[1], PILOT, OK, seen, speed)[0]
        throttles = self._judge(seen, command)
        for name in list(self.seats) if self.acting is None else ():
            if self.seats[name].action == FULL:
                continue
            if self.ask(name):
                self.seats, self.acting = {name: self.seats[name]}, name
                break
            del self.seats[name]
        sent = command[0], command[1] if self.acting is None else throttles[self.acting]
        if self.seats or self.keeps_watching:
            self._scorer.run(seen, *sent)
        return sent

    def _judge(self, seen: Any, command: tuple[float, float]) -> dict[str, float]:
        """The throttle that each governor would send."""
        rho, delta, _, _, state, scores, self.signs = self._newest.run()
        self.scores = {**scores, "rho": rho, "delta": delta} if scores else {}
        p_tta, p_safe, p_restored, _, _, frame_scores = self._tta.run(seen, command[0])
        self.p = {"p_safe": p_safe, "p_tta": p_tta, "p_restored": p_restored}
        health, speed = self._health.run(seen, state, p_tta), self.speed_of()
        self.hazard, self.level, reason = self._alarm.run(self.signs, p_restored, frame_scores, health)
        health = OK if health.startswith(WAITING) else health  # these drives begin in the middle of one
        known = {**frame_scores, **self.scores} if scores else {}
        self.scores |= frame_scores if scores else {}
        throttles = {}
        for name, seat in self.seats.items():
            seat.level, seat.reason = self.level, reason
            if seat.rival is not None and seat.policy is not None:
                seat.level = seat.policy.step(seat.rival.score(self.p, known, self.horizons))
            throttles[name], seat.action = seat.governor.run(seat.level, self.hazard, command[1], PILOT, health, seen, speed)
        return throttles
