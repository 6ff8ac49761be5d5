"""Why the alarm speaks, in one line for a person: the sign that rose most, or what several of them mean together."""

import numpy as np

from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import FAST, PICTURE, SIGN_NAMES
from donkey_aicc.alarm.timing import WINDOW_S

HAZARD = "hazard"  # no sign of its own: the signs together
LIKELY = 0.5  # from this hazard on the car is said to be about to leave its lane
TELLING = 0.5  # of its nominal range: so far off, a sign may name what the picture as a whole only hints at
CLEAR, CLEAR_COLOUR = 1.5, 2.5  # times the next of the picture's signs: else it is the picture, and no more is known
SPOILS = 0.5  # times what moves or turns strangely: a bad picture alone would be enough to make it seem so
MANY = 2.0  # times the usual, from which a number says more than a word
PICTURE_TEXT = "something is wrong with the picture"
# (what it means above the nominal middle, below it)
TEXTS = {
    "log_error": ("the picture shows things that training did not", PICTURE_TEXT),
    "light": ("the picture is much brighter than in training", "the picture is much darker than in training"),
    "contrast": ("the picture has much harder contrasts than in training", "the picture has lost its contrast"),
    "sharpness": ("the picture is much grainier than in training", "the picture is much blurrier than in training"),
    "colour": ("the colours are much stronger than in training", "the colours are weaker or coarser than in training"),
    "picture": (PICTURE_TEXT, ""),
    "motion": ("the picture moves or flickers much more than usual", "the picture hardly moves although the car drives"),
    "repeated": ("the camera repeats old frames", ""),
    "jerk": ("the steering jerks more than in usual laps", ""),
    "pull_short": ("the car pulls to the left of what is steered", "the car pulls to the right of what is steered"),
    "gain": ("the car turns more than it is steered", "the car turns less than it is steered"),
    "late": ("the picture follows the steering late", ""),
    "log_rho": ("the last seconds of pictures do not look like training", ""),
    "control": ("the steering of the last seconds is not how this car drives", ""),
    "latent": ("the scene is unlike every scene of training", ""),
    "own": ("an anomaly score of your own is far above its nominal drives", ""),
    HAZARD: ("the car is about to leave its lane", ""),
}
TEXTS |= dict.fromkeys(("pull", "pull_long"), TEXTS["pull_short"])
KINDS = ("picture", "timing", "steering", "steering or timing", "picture moves", "scores", "lane")  # what a reason is about
_KIND_OF = {"motion": "picture moves", "repeated": "timing", "late": "timing", HAZARD: "lane"}
_KIND_OF |= dict.fromkeys(("jerk", "pull_short", "pull", "pull_long", "gain", "control"), "steering")
_KIND_OF |= dict.fromkeys(("log_rho", "latent"), "scores")
ANSWER_TEXT = "something is wrong with the steering or the timing: the picture does not follow it"
REVERSED = "the picture turns against the steering: it is reversed, or the picture mirrored"
MAY_LEAVE = "the car may leave its lane"
_NAMING = [SIGN_NAMES.index(name) for name in ("light", "contrast", "sharpness", "colour")]  # of the picture
_ANSWERS = slice(SIGN_NAMES.index("pull_short"), SIGN_NAMES.index("late") + 1)
_LOG_ERROR, _COLOUR = (SIGN_NAMES.index(name) for name in ("log_error", "colour"))
_GAIN, _LATE, _JERK, _REPEATED = (SIGN_NAMES.index(name) for name in ("gain", "late", "jerk", "repeated"))
AGAINST = -1.0  # of the usual answer, missed: the picture turns the other way


def reason(deviations: np.ndarray, signs: np.ndarray, scales: SignScales, hazard_score: float = 0.0, hazard: float = 0.0) -> str:
    """deviations, signs: (S,) of one frame. hazard: P(leaves within a second), hazard_score: on the scale of the deviations.

    '' when nothing rose.
    """
    strangest = float(deviations.max())
    if hazard_score > strangest and hazard >= LIKELY:
        return TEXTS[HAZARD][0]
    if strangest < TELLING and hazard_score > strangest:
        return MAY_LEAVE
    if strangest <= 0.0:
        return ""
    fast = np.where(FAST, deviations, 0.0)
    leader = int(np.argmax(fast if fast.max() >= 1.0 else deviations))  # what one can see says more than a score
    picture = float(deviations[: PICTURE + 1].max())
    spoilt = picture >= 1.0 and picture >= SPOILS * deviations[leader] and leader != _REPEATED
    if leader <= PICTURE or spoilt:
        return _of_picture(deviations, signs, scales)
    if _ANSWERS.start <= leader < _ANSWERS.stop:
        return _of_answer(deviations, signs, scales)
    text, times = _text(leader, signs, scales), float(deviations[leader])
    if leader == _REPEATED:
        return f"{text}: {signs[leader] * WINDOW_S:.2g} s of the last {WINDOW_S:g} s"
    return f"{text}: {times:.0f} times as much" if leader == _JERK and times >= MANY else text


def kind_of(text: str) -> str:
    """Which of KINDS a reason is about."""
    if text in (MAY_LEAVE, ANSWER_TEXT):
        return "lane" if text == MAY_LEAVE else "steering or timing"
    for name, texts in TEXTS.items():
        if any(each and text.startswith(each) for each in texts):
            return _KIND_OF.get(name, "picture")
    return "steering"


def _text(sign: int, signs: np.ndarray, scales: SignScales) -> str:
    return TEXTS[SIGN_NAMES[sign]][int(signs[sign] < scales.middle[sign])]


def _of_picture(deviations: np.ndarray, signs: np.ndarray, scales: SignScales) -> str:
    """By the one sign that stands out of it, if one does. Many faults take colours too: those must stand out of everything."""
    first, second = sorted(_NAMING, key=lambda sign: -deviations[sign])[:2]
    rest, clear = float(deviations[second]), CLEAR
    if first == _COLOUR:
        rest, clear = max(rest, float(deviations[_LOG_ERROR])), CLEAR_COLOUR
    return _text(first, signs, scales) if deviations[first] > max(TELLING, clear * rest) else PICTURE_TEXT


def _of_answer(deviations: np.ndarray, signs: np.ndarray, scales: SignScales) -> str:
    """What is missed has a shape: against the steering, late, less of it, to one side. In one bend two may look alike."""
    if signs[_GAIN] < AGAINST:
        return REVERSED
    side = max((SIGN_NAMES.index(name) for name in ("pull_short", "pull", "pull_long")), key=lambda sign: deviations[sign])
    shapes = sorted((_LATE, _GAIN, side), key=lambda sign: -deviations[sign])
    clear = deviations[shapes[0]] > CLEAR * deviations[shapes[1]]
    return _text(shapes[0], signs, scales) if clear else ANSWER_TEXT
