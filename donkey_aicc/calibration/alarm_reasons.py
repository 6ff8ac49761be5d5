"""Why there is an alarm, in one line that a person understands."""

import numpy as np

from donkey_aicc.calibration.alarm_evidence import SignScales
from donkey_aicc.calibration.alarm_signs import FAST, PICTURE, SIGN_NAMES

HAZARD = "hazard"  # no sign of its own: the signs together
TELLING = 0.5  # of its nominal range: a part of the picture that is so far off names the whole
# (what it means above the nominal middle, below it)
TEXTS = {
    "log_error": ("the picture shows things that training did not", "the picture is emptier than in training"),
    "light": ("the picture is much brighter than in training", "the picture is much darker than in training"),
    "contrast": ("the picture has much harder contrasts than in training", "the picture has lost its contrast"),
    "sharpness": ("the picture is much grainier than in training", "the picture is much blurrier than in training"),
    "colour": ("the colours are much stronger than in training", "the picture has lost its colours"),
    "picture": ("the picture as a whole is unlike training", ""),
    "motion": ("the picture moves or flickers much more than usual", "the picture hardly moves although the car drives"),
    "repeated": ("the camera repeats old frames", ""),
    "jerk": ("the steering jerks {times:.0f} times its usual spread", ""),
    "reaction": ("the picture does not follow the steering as usual: late or too weak", ""),
    "log_rho": ("the last seconds of pictures do not look like training", ""),
    "control": ("the steering of the last seconds is not how this car drives", ""),
    "latent": ("the scene is unlike every scene of training", ""),
    HAZARD: ("the car is about to leave its lane", ""),
}


def reason(deviations: np.ndarray, signs: np.ndarray, scales: SignScales, hazard_score: float = 0.0) -> str:
    """deviations, signs: (S,) of one frame; hazard_score: the hazard on the scale of the deviations. '' when nothing rose."""
    fast = np.where(FAST, deviations, 0.0)
    leader = int(np.argmax(fast if fast.max() >= 1.0 else deviations))  # what one can see says more than a score
    if leader == PICTURE and deviations[:PICTURE].max() > TELLING:  # what stands out of it says more
        leader = int(np.argmax(deviations[:PICTURE]))
    if hazard_score > deviations.max():
        name, below = HAZARD, False
    elif deviations[leader] <= 0.0:
        return ""
    else:
        name, below = SIGN_NAMES[leader], bool(signs[leader] < scales.middle[leader])
    times = float(deviations[leader])
    return TEXTS[name][int(below)].format(times=times)
