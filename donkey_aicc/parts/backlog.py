"""Backlog: the frames that wait for the scorer, and what a computer does that is too slow for all of them. No threads here."""

from collections import deque

from donkey_aicc.parts.monitor_stream import Frame

MOST_WAITING = 3  # more than that, and the scorer jumps to the newest: scores of the past help nobody
WINDOW_S = 3.0  # over which frames are counted
KEEPS_UP = 0.9  # scored share of the frames from which on nobody need know
STEP_DOWN_AFTER_S = 4.0  # too slow for so long: the next lower grade


class Backlog:
    """Frames in order of time. Those that are jumped over are handed out too: their commands count, their pictures do not."""

    def __init__(self) -> None:
        self._waiting: deque[Frame] = deque()
        self._came: deque[float] = deque()
        self._scored: deque[float] = deque()
        self._slow_since: float | None = None
        self.frames_skipped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, frame: Frame) -> None:
        """The newest frame of the camera."""
        self._waiting.append(frame)
        self._came.append(frame.time_s)

    def take(self) -> tuple[Frame, tuple[Frame, ...]] | None:
        """The frame to score next and the ones before it that will not be looked at; None if none waits.

        A frame that starts a sequence ends the one before: what waits of that is forgotten.
        """
        if not self._waiting:
            return None
        if len(self._waiting) <= MOST_WAITING:
            return self._waiting.popleft(), ()
        everything = tuple(self._waiting)
        self._waiting.clear()
        starts = [number for number, frame in enumerate(everything) if frame.starts_sequence]
        skipped = everything[starts[-1] if starts else 0 : -1]
        self.frames_skipped += len(everything) - 1
        return everything[-1], skipped

    def note_scored(self, now: float) -> None:
        """A frame is done."""
        self._scored.append(now)
        for times in (self._came, self._scored):
            while times and times[0] <= now - WINDOW_S:
                times.popleft()
        if not self.slow():
            self._slow_since = None
        elif self._slow_since is None:
            self._slow_since = now

    def slow(self) -> str:
        """What to tell a person while fewer frames are scored than come; empty while it keeps up or nobody knows yet."""
        span_s = self._came[-1] - self._came[0] if self._came else 0.0
        if span_s < 0.8 * WINDOW_S:
            return ""
        came_hz, scored_hz = (len(self._came) - 1) / span_s, len(self._scored) / WINDOW_S
        if scored_hz >= KEEPS_UP * came_hz:
            return ""
        return f"computer too slow: scoring {scored_hz:.0f} of {came_hz:.0f} frames a second"

    def should_step_down(self, now: float) -> bool:
        """True once after it has been too slow for a while; then the clock starts again."""
        if self._slow_since is None or now - self._slow_since < STEP_DOWN_AFTER_S:
            return False
        self._slow_since = None
        return True
