"""When the alarm speaks: persistence, levels, hysteresis. Pure: a score per frame in, a level out."""

from collections import deque

from donkey_aicc.calibration.alarm_threshold import AdaptiveThreshold, Threshold

NONE, WATCH, DANGER = LEVELS = ("none", "watch", "danger")
PERSISTENCE = 3  # frames in a row above the threshold: one odd frame is no alarm
# Frames in a row below it until the evidence counts as gone. The hysteresis is in time alone: a nominal drive may stay just below
# its threshold from start to end, and a release at a lower one would never come.
RELEASE_FRAMES = 10


class AlarmPolicy:
    """Scores in [0, inf) -> none, watch or danger.

    A level begins when the score has been above its threshold for PERSISTENCE frames in a row, and ends when it has not been for
    RELEASE_FRAMES in a row. `stretch`: frames of a usual nominal drive, after which the promise counts anew.
    """

    def __init__(self, watch: Threshold, danger: Threshold, stretch: int) -> None:
        self._thresholds = {WATCH: AdaptiveThreshold(watch), DANGER: AdaptiveThreshold(danger)}
        self._stretch = stretch
        self._quiet_frames = 0
        self.reset()

    def reset(self) -> None:
        """A new sequence: no level, but what the driver said stays."""
        self._recent: deque[float] = deque(maxlen=PERSISTENCE)
        self._calm = dict.fromkeys(self._thresholds, 0)
        self._on = dict.fromkeys(self._thresholds, False)

    @property
    def level(self) -> str:
        return DANGER if self._on[DANGER] else WATCH if self._on[WATCH] else NONE

    def threshold(self, level: str) -> float:
        """The score above which that level begins."""
        return self._thresholds[level].value

    def step(self, score: float) -> str:
        """The next frame's score; an unknown one counts as 0."""
        self._recent.append(score if score == score else 0.0)
        held = min(self._recent) if len(self._recent) == PERSISTENCE else 0.0
        for level, threshold in self._thresholds.items():
            if held > threshold.value:
                self._on[level], self._calm[level] = True, 0
                continue
            self._calm[level] = self._calm[level] + 1 if self._recent[-1] <= threshold.value else 0
            if self._calm[level] >= RELEASE_FRAMES:
                self._on[level] = False
        self._count_stretch()
        return self.level

    def _count_stretch(self) -> None:
        self._quiet_frames += 1
        if self._quiet_frames >= self._stretch:
            self._quiet_frames = 0
            for threshold in self._thresholds.values():
                threshold.quiet()

    def false_alarm(self) -> str:
        """The driver says that the present level, or the last one, means nothing: returns the level it was about.

        A press without any level is no report. The level ends at once.
        """
        level = self.level
        if level == NONE:
            return NONE
        self._quiet_frames = 0
        self._thresholds[WATCH].false_alarm()
        if level == DANGER:
            self._thresholds[DANGER].false_alarm()
        self.reset()
        return level
