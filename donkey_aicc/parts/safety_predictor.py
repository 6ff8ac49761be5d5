"""SafetyPredictor: from a camera frame, or the last few, to the probability that the car is still safe k steps from now.

TTA: the same averaged over slightly altered views of the frame, in one batched pass.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc import channels
from donkey_aicc.nets.preprocess import History
from donkey_aicc.parts.frame_intake import FrameIntake, SeenFrame
from donkey_aicc.parts.monitor_stream import Scored
from donkey_aicc.parts.right_of_way import RightOfWay
from donkey_aicc.scoring.hindsight import Hindsight
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.restored_view import Restoration, share_at
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.statistics import PREDICTED_SCORES, ScoreStatistics
from donkey_aicc.scoring.tta_views import TTAPrediction, predict_tta, sigmoid

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

logger = logging.getLogger(__name__)


class SafetyPredictor:
    """Donkeycar part: image, steering -> p_safe, one probability per horizon; an empty list when there is none.

    A predictor with history remembers the last frames and their steering; one without takes no notice of the steering.
    An empty list and not None, because donkeycar keeps a channel's old value when a part returns None.

    Args:
        bundle: a loaded `Bundle` with a predictor.
        intake: the one that the monitor's parts share; without one it looks for itself where a sequence begins.

    Example:
        >>> from donkey_aicc import Bundle, SafetyPredictor
        >>> p_safe = SafetyPredictor(Bundle.load("reference")).run(np.zeros((120, 160, 3), dtype=np.uint8), 0.0)
        >>> len(p_safe), 0.0 <= min(p_safe) <= max(p_safe) <= 1.0
        (11, True)
    """

    def __init__(self, bundle: "Bundle", intake: FrameIntake | None = None) -> None:
        self.bundle = bundle
        self.intake = intake or FrameIntake()
        self.horizons = self.bundle.horizons
        self._history = History(self.bundle.lags, self.bundle.steering_stats)
        self._needs_command = self.bundle.steering_stats is not None
        self._usual = self.bundle.action_stats.mean[None]  # (1, 2) steering, throttle
        self._complained = False

    def reset(self) -> None:
        """The next frame is the first of a new sequence."""
        self.intake.reset()

    def run(self, image: Any, steering: Any = None) -> list[float]:
        """image: (H, W[, C]) of any size, or what the intake has seen; never raises."""
        images = self.to_input(self.intake.see(image), steering)
        if images is None:
            return []
        try:
            return finite_list(sigmoid(self.bundle.predict(images)[1])[0])
        except Exception as error:  # a net that fails must not end the drive
            self.complain(error)
            return []

    def complain(self, error: Exception) -> None:
        """Say that a net failed, but only once: it may do so in every tick that follows."""
        if not self._complained:
            self._complained = True
            logger.error("no safety prediction: %r", error)

    def to_input(self, seen: SeenFrame, steering: Any = None) -> np.ndarray | None:
        """(1, C, 64, 64) for the net, or None for a frame that cannot be used: the next one then starts a sequence."""
        command = self._command(steering)
        if seen.image is None or command is None:
            self.reset()
            return None
        if seen.number == 0:
            self._history.reset()
        return self._history.push(seen.image[None], command)

    def _command(self, steering: Any) -> np.ndarray | None:
        """(1, 2), the steering within [-1, 1] as tubs are read, or None where a predictor with history lacks it."""
        if not self._needs_command:
            return self._usual
        command = self._usual.copy()  # of the throttle it takes no notice
        try:
            command[0, 0] = steering
        except Exception:  # a text, 10**400
            return None
        return np.clip(command, -1.0, 1.0) if np.isfinite(command).all() else None

    def shutdown(self) -> None:
        """Ready for another drive."""
        self._complained = False
        self.intake.shutdown()


def finite_list(values: np.ndarray) -> list[float]:
    """Plain floats; empty if one of them is not finite."""
    return values.tolist() if bool(np.isfinite(values).all()) else []


NO_FEATURES = np.zeros(len(FEATURE_NAMES))


@dataclass(frozen=True)
class Restoring:
    """What the restored view needs besides the picture: how to restore, and what the scorer found last."""

    restoration: Restoration
    newest: Callable[[], Scored | None]

    def share(self, began_s: float, number: int) -> np.ndarray | None:
        """(1,) of the restored view at this frame of the sequence that began then; None while its checks say nothing."""
        newest = self.newest()
        return share_at(newest.checks, number) if newest is not None and newest.began_s == began_s else None


class TTA:
    """Donkeycar part around a SafetyPredictor, with its inputs -> p_tta, or with `details` the channels of `DETAILS`.

    p_safe is the unaltered view of the same pass, so the predictor need not run again. Frame scores are those anomaly
    scores of `score_names` that come from the prediction; they need the calibrator's statistics. The views depend on the seed
    and on the frame's number in its sequence, as in offline scoring.

    Args:
        predictor: the `SafetyPredictor` whose net it runs; that part itself need not be in the vehicle.
        settings: number of views and seed, those of the calibrator (`calibrator.settings`); None: nine views, seed 0.
        details: False: `run` returns p_tta alone, a list of K probabilities. True: the channels of `DETAILS`, for `add_aicc`.
        statistics: of the calibrator, for the frame scores.
        score_names: which scores the calibrator wants.
        right_of_way: shared with the scorer's thread, which then waits while this part computes.
        restoring: how pictures are restored, and the scorer that says when.

    Example:
        >>> from donkey_aicc import TTA, Bundle, SafetyPredictor
        >>> p_tta = TTA(SafetyPredictor(Bundle.load("reference"))).run(np.zeros((120, 160, 3), dtype=np.uint8), 0.0)
        >>> len(p_tta)
        11
    """

    DETAILS = (channels.P_TTA, channels.P_SAFE, channels.P_RESTORED, channels.RESTORED, channels.HINDSIGHT, channels.FRAME_SCORES)

    def __init__(
        self,
        predictor: SafetyPredictor,
        settings: ScoreSettings | None = None,
        *,
        details: bool = False,
        statistics: ScoreStatistics | None = None,
        score_names: Sequence[str] = (),
        right_of_way: RightOfWay | None = None,
        restoring: Restoring | None = None,
    ) -> None:
        self.predictor = predictor
        self.details = details
        self._settings = settings or ScoreSettings()
        self._statistics = statistics
        self._score_names = tuple(name for name in score_names if name in PREDICTED_SCORES)
        self._randomness = FrameRandomness(self._settings.seed, samples=1)
        self._right_of_way = right_of_way or RightOfWay()  # without a scorer there is nobody to wait
        self._restoring = restoring
        self._hindsight = Hindsight(predictor.horizons, 1, self._settings.context)
        self._began_s = 0.0

    def reset(self) -> None:
        """The next frame is the first of a new sequence."""
        self.predictor.reset()

    def run(self, image: Any, steering: Any = None) -> Any:
        """Never raises; without a usable frame the lists are empty."""
        with self._right_of_way:
            try:
                return self._predict(image, steering)
            except Exception as error:  # a net that fails must not end the drive
                self.predictor.complain(error)
                return self._nothing()

    def _nothing(self) -> Any:
        return ([], [], [], None, None, {}) if self.details else []

    def _predict(self, image: Any, steering: Any) -> Any:
        seen = self.predictor.intake.see(image)
        images = self.predictor.to_input(seen, steering)
        if images is None:
            return self._nothing()
        if seen.number == 0:
            self._began_s = seen.time_s
            self._hindsight.reset(1)
        restoring = self._restoring
        share = None if restoring is None else restoring.share(self._began_s, seen.number)
        restoration = None if restoring is None else restoring.restoration
        bundle, settings = self.predictor.bundle, self._settings
        found = predict_tta(bundle, images, self._randomness.tta(seen.number), settings.views, restoration, share)
        p_tta = finite_list(found.p_tta[0])
        if not self.details:
            return p_tta
        scores = self._frame_scores(found)
        restored = 0.0 if share is None else float(share[0])
        return (
            p_tta,
            finite_list(found.p_identity[0]),
            finite_list(found.p_restored[0]),
            restored,
            scores.get("hindsight"),
            scores,
        )

    def _frame_scores(self, found: TTAPrediction) -> dict[str, float]:
        hindsight = self._hindsight.update(found.p_restored)
        if self._statistics is None or not self._score_names:
            return {}
        kinds = set(self._score_names)
        spread = found.spread[0] if "tta_spread" in kinds else None
        features = found.features[0] if kinds & {"density", "dac"} else None
        # The scores of the world model come from elsewhere: what is handed in for them here does not matter.
        scores = self._statistics.frame_scores(1.0, NO_FEATURES, None, spread, features)
        foreseen = self._statistics.of_forecasts(hindsight)
        scores |= {name: float(np.clip(values[0], 0.0, 1.0)) for name, values in foreseen.items()}
        return {name: scores[name] for name in self._score_names if name in scores}

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next."""
        self.predictor.shutdown()
