"""What passes between the drive and the cockpit: the newest tick out, the actions that this car has in.

CockpitFeed is the drive loop's side. It only keeps what the tick held; all work is done where it is looked at: a message says
the tick as JSON, then the camera picture as JPEG. Layout: 4 bytes length of the JSON (big end first), the JSON, the rest is the
JPEG (may be empty). What the page may do to the drive goes by name; an action that this car does not have is not in the table.
"""

import base64
import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.web.ride_book import RideBook

# Key in the page's messages -> donkeycar channel. Channels that a car does not have stay None and are not shown.
SHOWN = {
    "image": channels.IMAGE,
    "mode": channels.MODE,
    "recording": "recording",
    "records": "tub/num_records",
    "steering": channels.STEERING,
    "throttle": channels.THROTTLE,
    "p_safe": channels.P_SAFE,
    "p_tta": channels.P_TTA,
    "p_restored": channels.P_RESTORED,
    "restored": channels.RESTORED,
    "confidence": channels.CONFIDENCE,
    "rho": channels.RHO,
    "delta": channels.DELTA,
    "hindsight": channels.HINDSIGHT,
    "scores_age_s": channels.SCORES_AGE_S,
    "scores_valid": channels.SCORES_VALID,
    "status": channels.STATUS,
    "grade": channels.GRADE,
    "health": channels.HEALTH,
    "hazard": channels.HAZARD,
    "stays": channels.STAYS,
    "alarm": channels.ALARM,
    "reason": channels.REASON,
    "state": channels.STATE,
    "action": channels.ACTION,
    "advice": channels.ADVICE,
    "inject_protocol": channels.INJECT_PROTOCOL,
    "inject_severity": channels.INJECT_SEVERITY,
    "mark": channels.UNSAFE_MARK,
    "lap": channels.LAP,
    "hit": channels.HIT,
    "cte": channels.CTE,
    "x": channels.POS_X,
    "y": channels.POS_Z,
    "speed": channels.SPEED,
}


_PLACES = {name: place for place, name in enumerate(SHOWN)}
_BOOKED = [_PLACES[name] for name in ("lap", "cte", "hit", "mark")]
HISTORY = ("rho", "delta", "confidence", "stays", "throttle", "state", "inject_protocol", "inject_severity", "x", "y", "hit")
_REMEMBERED = [_PLACES[name] for name in HISTORY]
HISTORY_S, HISTORY_STEP_S = 30.0, 0.2


@dataclass(frozen=True)
class Tick:
    """What the channels held in one tick; `values` in the order of SHOWN."""

    number: int
    time_s: float
    values: Sequence[Any]

    def named(self) -> dict[str, Any]:
        return dict(zip(SHOWN, self.values, strict=False))


class CockpitFeed:
    """Donkeycar part: all shown channels in, nothing out."""

    inputs = tuple(SHOWN.values())

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, half_width: float | None = None, step_s: float | None = None
    ) -> None:
        """half_width: of the lane. step_s: that a tick stands for, where the drive does not follow the clock."""
        self._clock, self._step_s = clock, step_s
        self._number = 0
        self.latest: Tick | None = None
        self.book = RideBook(half_width)
        self._past: deque[Tick] = deque(maxlen=round(HISTORY_S / HISTORY_STEP_S))  # for whoever opens the page late

    def run(self, *values: Any) -> None:
        """Never raises, copies nothing."""
        self._number += 1
        self.latest = tick = Tick(self._number, self._clock(), values)
        self.book.note(tick.number * self._step_s if self._step_s else tick.time_s, *(values[place] for place in _BOOKED))
        if not self._past or tick.time_s - self._past[-1].time_s >= HISTORY_STEP_S:
            self._past.append(Tick(tick.number, tick.time_s, [values[place] for place in _REMEMBERED]))

    def history(self) -> list[dict[str, Any]]:
        """The last seconds as messages, with what the strips and the map show; called in another thread."""
        return [
            {"tick": tick.number, "t": plain(tick.time_s)}
            | {name: shown for name, each in zip(HISTORY, tick.values, strict=True) if (shown := plain(each)) is not None}
            for tick in tuple(self._past)
        ]

    def age_s(self) -> float | None:
        """Seconds since the last tick; None before the first."""
        return None if self.latest is None else self._clock() - self.latest.time_s

    def shutdown(self) -> None:
        """Nothing to close."""


LARGEST_JPEG = 9_000  # bytes; at 10 Hz a viewer then stays well under 150 kB/s
_WIDEST_PX = 320
_LONGEST_TEXT = 200
_LONGEST_LIST = 64
HEAT_SIDE = 16
USUAL_TIMES = 4.0  # the mean error: edges and small things of nominal frames reach it, 19 of 20 places stay below


def pack(said: dict[str, Any], jpeg: bytes = b"") -> bytes:
    """The bytes of one message."""
    text = json.dumps(said, separators=(",", ":"), allow_nan=False).encode()
    return len(text).to_bytes(4, "big") + text + jpeg


def plain(value: Any) -> Any:
    """A channel's value as JSON can hold it, short: numbers rounded, what is not finite or not known None."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return value[:_LONGEST_TEXT]
    if isinstance(value, int | float | np.number):
        try:
            number = float(value)
        except OverflowError:
            return None
        return round(number, 4) if math.isfinite(number) else None
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in list(value)[:_LONGEST_LIST]] if np.ndim(value) == 1 else None
    return None


def jpeg_of(image: Any) -> bytes:
    """(rows, columns[, 1 or 3]) uint8 RGB -> JPEG of bounded size; empty when this is no picture."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim not in (2, 3) or 0 in image.shape:
        return b""
    if image.ndim == 3 and image.shape[2] not in (1, 3):
        return b""
    picture = cv2.cvtColor(image, cv2.COLOR_RGB2BGR) if image.ndim == 3 and image.shape[2] == 3 else image
    for width, quality in ((_WIDEST_PX, 75), (_WIDEST_PX, 50), (160, 50), (96, 40)):
        if picture.shape[1] > width:
            size = (width, max(1, round(picture.shape[0] * width / picture.shape[1])))
            picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        done, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
        if done and len(encoded) <= LARGEST_JPEG:
            return bytes(encoded.tobytes())
    return b""


def heat_of(squared_error: np.ndarray, nominal_error: float, lost_detail: float = 0.0) -> str:
    """Where the picture cannot be rebuilt: (C, H, W) squared error -> base64 of HEAT_SIDE x HEAT_SIDE bytes, row by row.

    128: at most USUAL_TIMES the mean error of nominal frames; 255: ten times that, or more; logarithmic in between. Below 128:
    lost_detail, 0..1, by how much the picture is blurrier than nominal; a blurry one is easily rebuilt, and would show nothing.
    """
    per_pixel = np.asarray(squared_error, np.float32).mean(axis=0)
    coarse = cv2.resize(per_pixel, (HEAT_SIDE, HEAT_SIDE), interpolation=cv2.INTER_AREA)
    times = np.nan_to_num(np.log10(np.maximum(coarse / (USUAL_TIMES * max(nominal_error, 1e-9)), 1.0)))
    shown = np.where(times > 0.0, 128.0 + 127.0 * times, 128.0 - 128.0 * lost_detail)
    return base64.b64encode(np.clip(shown, 0, 255).round().astype(np.uint8).tobytes()).decode()


# What was asked -> one line for the person who pressed; AiccError says why not.
Action = Callable[[Mapping[str, Any]], str]


class Controls:
    """Runs in the web server's thread, as donkeycar's own buttons do."""

    def __init__(self, actions: Mapping[str, Action], let_go: Callable[[], None] = lambda: None) -> None:
        self._actions = dict(actions)
        self.let_go = let_go  # what is held by a page ends when it goes

    @property
    def names(self) -> list[str]:
        return list(self._actions)

    def act(self, given: Mapping[str, Any]) -> str:
        """Do what {"do": NAME, ...} asks."""
        name = given.get("do")
        action = self._actions.get(name) if isinstance(name, str) else None
        if action is None:
            raise AiccError(f"this car has no action {str(name)[:40]!r}; it has {', '.join(self._actions)}")
        return action(given)


class Hold:
    """A button that counts only while it is held: the page repeats itself, and silence lets go."""

    SILENCE_S = 1.0

    def __init__(
        self, press: Callable[[], None], release: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._press, self._release, self._clock = press, release, clock
        self._until: float | None = None

    def set(self, held: object) -> None:
        if held is True:
            if self._until is None:
                self._press()
            self._until = self._clock() + self.SILENCE_S
        else:
            self.let_go()

    def let_go(self) -> None:
        if self._until is not None:
            self._until = None
            self._release()

    def check(self) -> None:
        """Call it often."""
        if self._until is not None and self._clock() > self._until:
            self.let_go()


def flag(given: Mapping[str, Any], name: str) -> bool:
    """A true or false out of a message."""
    value = given.get(name)
    if not isinstance(value, bool):
        raise AiccError(f"{name} must be true or false, got {str(value)[:40]!r}")
    return value
