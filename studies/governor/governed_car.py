"""The monitor's own parts in the order of the car's loop, without the vehicle loop around them."""

import math

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.parts.departure_alarm import DepartureAlarm
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.governor_policy import GovernorPolicy
from donkey_aicc.parts.newest_scores import NewestScores
from donkey_aicc.parts.safety_governor import SafetyGovernor
from donkey_aicc.parts.safety_predictor import SafetyPredictor
from donkey_aicc.parts.tta import TTA
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from studies.governor.rivals import Rival

PILOT = "local"
TICK_S = 0.05  # of the simulated loop


class GovernedCar:
    """(image, command) -> the command as sent; what it judged stands in `level`, `action`, `reason` and `hazard`.

    rival: decides in the alarm's place. mode: of the governor; `off` only watches.
    """

    def __init__(self, bundle: Bundle, calibrator: Calibrator, mode: str = "stop", rival: Rival | None = None) -> None:
        alarm = calibrator.alarm
        if alarm is None or calibrator.statistics is None:
            raise AiccError("the bundle's calibrator has no alarm; make it with donkey-aicc calibrate")
        settings = calibrator.settings
        self._scorer = WorldModelScorer(
            bundle, calibrator.statistics, settings, intake=FrameIntake(tick_s=TICK_S), reaction=alarm.reaction
        )
        self._newest = NewestScores(self._scorer)
        self._tta = TTA(
            SafetyPredictor(bundle, self._scorer.intake),
            settings.views,
            settings.seed,
            details=True,
            statistics=calibrator.statistics,
            score_names=(*calibrator.score_names, "tta_spread"),
        )
        self._horizons = [int(step) for step in bundle.horizons]
        self._alarm = DepartureAlarm(alarm, tuple(self._horizons), max_age_s=math.inf)
        self._rival, self._rival_policy = rival, None if rival is None else rival.policy()
        stop_hazard = alarm.stop_hazard if rival is None else 0.0
        steps = alarm.hazard.horizons if alarm.hazard is not None else ()
        self._governor = SafetyGovernor(GovernorPolicy(mode, cruise=alarm.cruise, stop_hazard=stop_hazard), steps)
        self.level, self.action, self.reason = "none", "full", ""
        self.hazard: list[float] = []

    def __call__(self, image: np.ndarray, command: tuple[float, float]) -> tuple[float, float]:
        rho, delta, age_s, _, state, scores, signs = self._newest.run()
        seen = self._scorer.intake.see(image)
        p_tta, p_safe, frame_scores = self._tta.run(seen, command[0])
        self.hazard, self.level, self.reason = self._alarm.run(signs, p_tta, frame_scores, state, age_s)
        if self._rival is not None and self._rival_policy is not None:
            known = {**scores, **frame_scores, "rho": rho, "delta": delta} if scores else {}
            self.level = self._rival_policy.step(self._rival.score(p_safe, p_tta, known, self._horizons))
        throttle, self.action = self._governor.run(self.level, self.hazard, command[1], PILOT)
        sent = command[0], throttle
        self._scorer.run(seen, *sent)
        return sent
