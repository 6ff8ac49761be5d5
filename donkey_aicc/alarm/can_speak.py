"""Whether a fitted alarm can speak at all: frames that nobody can drive by must be danger, whatever its numbers are.

Asked when a calibrator is made and again before a car drives with it: an alarm that sleeps through a black picture is worse than
none, because it is trusted. (A frozen picture needs no fitted number: `health.py` knows it by the clock.)
"""

from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel, AlarmStream
from donkey_aicc.alarm.alarm_policy import DANGER
from donkey_aicc.alarm.signs import FROM_SCORES, SignStream
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.preprocess import IMAGE_SIZE
from donkey_aicc.scoring.settings import LIGHT, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

WITHIN_FRAMES = 20  # a second at 20 Hz
_SHAPE = (1, IMAGE_SIZE, IMAGE_SIZE, 3)


def check_can_speak(alarm: AlarmModel, bundle: "Bundle") -> None:
    """Raise unless black, white and noise are danger within WITHIN_FRAMES."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (WITHIN_FRAMES, *_SHAPE), dtype=np.uint8)
    pictures = {"black": np.zeros_like(noise), "white": np.full_like(noise, 255), "noise": noise}
    silent = [name for name, frames in pictures.items() if not _is_danger(alarm, bundle, frames)]
    if silent:
        raise AiccError(
            f"the alarm stays below danger at {' and '.join(silent)}: with such thresholds ({alarm.danger.value:.3g}) and scales "
            "it cannot warn; calibrate on calmer drives"
        )


def _is_danger(alarm: AlarmModel, bundle: "Bundle", frames: np.ndarray) -> bool:
    settings = ScoreSettings(grade=LIGHT, samples=0, rollout_steps=0, rollout_every=0)
    scorer, signs = StreamScorer(bundle, settings), SignStream(1, alarm.signs)
    stream, action = AlarmStream(alarm, bundle.horizons), np.array([[0.0, alarm.cruise]], dtype=np.float32)
    slow = np.full((1, FROM_SCORES), np.nan)
    for image in frames:
        stats = scorer.step(image, action).frame_stats
        if stream.step(signs.update(stats, action, slow)[0], None, None).level == DANGER:
            return True
    return False
