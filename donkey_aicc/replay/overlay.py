"""One picture of a movie: the camera, the dial and the state in words, the track from above, and strips of the scores."""

import math
from functools import lru_cache

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from donkey_aicc.alarm.outlook import BAD as DANGER
from donkey_aicc.alarm.outlook import BLIND, CAREFUL, WELL
from donkey_aicc.replay.pictures import picture_of
from donkey_aicc.replay.run import Run
from donkey_aicc.tubs.near_duplicates import stretches

WIDTH, HEIGHT = 960, 540
CAMERA = (560, 420)  # width, height; left above
STRIP_TOP, STRIP_S = 432, 20.0
SIDE_LEFT, DIAL_AT, DIAL_RADIUS = 580, (770, 132), 96
MAP_BOX = (590, 262, 950, 424)  # left, top, right, bottom
# The dark theme of web/look/look.css.
PAPER, CARD, INK, QUIET, TRACK = (13, 17, 20), (23, 29, 34), (241, 244, 246), (167, 178, 188), (43, 52, 60)
ACCENT, GOOD, WATCH, BAD, SHADE = (108, 182, 255), (79, 214, 168), (255, 194, 77), (217, 72, 15), (74, 42, 27)
STRIPS = (("stays", (79, 214, 168)), ("rho", (108, 182, 255)), ("delta", (255, 141, 102)))
NAMES = {"stays": "stays in its lane", "rho": "picture anomaly", "delta": "dynamics anomaly"}
STATE_COLOURS = {WELL: GOOD, CAREFUL: WATCH, DANGER: BAD, BLIND: (213, 155, 232)}
JUMP_STEPS = 8.0  # times the usual step: the car was put elsewhere


class Overlay:
    """Pictures of one run; what does not change from frame to frame is drawn once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._strips = {name: run.at_horizon(name) for name, _ in STRIPS if run.has(name)}
        self._ground = _Ground(run) if run.has_position else None
        self._page, self._page_number = np.zeros(0), -1

    def picture(self, row: int) -> np.ndarray:
        """(540, 960, 3) uint8 RGB."""
        canvas = np.full((HEIGHT, WIDTH, 3), PAPER, np.uint8)
        self._camera(canvas, row)
        self._strip(canvas, row)
        if self._ground is not None:
            self._ground.draw(canvas, row)
        stays = self._strips.get("stays")
        value = float(stays[row]) if stays is not None else math.nan
        state = str(self._run.words["state"][row]) if "state" in self._run.words else ""
        _dial(canvas, value, STATE_COLOURS.get(state, ACCENT))
        return self._text(canvas, row, value, state)

    def _camera(self, canvas: np.ndarray, row: int) -> None:
        pixels = picture_of(self._run, row)
        if pixels is None:
            return
        width, height = CAMERA
        scale = min(width / pixels.shape[1], height / pixels.shape[0])
        size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
        shown = cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR)
        left, top = (width - size[0]) // 2, (height - size[1]) // 2
        canvas[top : top + size[1], left : left + size[0]] = shown

    def _strip(self, canvas: np.ndarray, row: int) -> None:
        """A page of twenty seconds, drawn when it is turned, and a line at the moment."""
        t = float(self._run.t[row])
        number = int(t // STRIP_S)
        if number != self._page_number:
            self._page, self._page_number = self._draw_page(number), number
        canvas[STRIP_TOP:] = self._page
        x = round((t - number * STRIP_S) / STRIP_S * (WIDTH - 1))
        cv2.line(canvas, (x, STRIP_TOP), (x, HEIGHT), INK, 2)

    def _draw_page(self, number: int) -> np.ndarray:
        run, tall = self._run, HEIGHT - STRIP_TOP
        page = np.full((tall, WIDTH, 3), CARD, np.uint8)
        rows = np.flatnonzero((run.t >= number * STRIP_S) & (run.t <= (number + 1) * STRIP_S))
        x = np.rint((run.t[rows] - number * STRIP_S) / STRIP_S * (WIDTH - 1)).astype(np.int32)
        if "inject_protocol" in run.words and len(rows):
            faulty = run.words["inject_protocol"][rows] != ""
            for place in np.flatnonzero(faulty):
                left, following = int(x[place]), int(x[min(int(place) + 1, len(x) - 1)])
                page[:, left : max(following, left + 1)] = SHADE
        for name, colour in STRIPS:
            if name in self._strips:
                values = self._strips[name][rows]
                y = np.rint((tall - 8) - np.clip(values, 0, 1) * (tall - 30)) if len(rows) else values
                _broken_line(page, x, y, colour)
        return page

    def _text(self, canvas: np.ndarray, row: int, value: float, state: str) -> np.ndarray:
        image = Image.fromarray(canvas)
        draw = ImageDraw.Draw(image)
        run = self._run
        shown = f"{100 * value:.0f} %" if math.isfinite(value) else "–"
        draw.text((DIAL_AT[0], DIAL_AT[1] - 4), shown, INK, _font(50), anchor="ms")
        ahead = (
            f"stays in its lane for {run.horizons[run.main_horizon] / run.rate_hz:.1f} s"
            if run.horizons and "stays" in self._strips
            else ""
        )
        draw.text((DIAL_AT[0], DIAL_AT[1] + 22), ahead, QUIET, _font(18), anchor="ms")
        self._state(draw, row, state)
        left = 8
        for name, colour in STRIPS:
            if name in self._strips:
                draw.text((left, STRIP_TOP + 16), NAMES[name], colour, _font(15), anchor="ls")
                left += round(_font(15).getlength(NAMES[name])) + 24
        minutes, seconds = divmod(float(run.t[row]), 60)
        draw.text((WIDTH - 8, STRIP_TOP + 16), f"{minutes:.0f}:{seconds:04.1f}", QUIET, _font(15), anchor="rs")
        fault = str(run.words["inject_protocol"][row]) if "inject_protocol" in run.words else ""
        if fault:
            severity = run.numbers.get("inject_severity", np.full(len(run), np.nan))[row]
            said = f"fault {fault}" + (f":{severity:.0f}" if np.isfinite(severity) else "")
            draw.text((12, 12), said, INK, _font(24), anchor="lt", stroke_width=3, stroke_fill=(0, 0, 0))
        return np.asarray(image)

    def _state(self, draw: ImageDraw.ImageDraw, row: int, state: str) -> None:
        """In the cockpit's words; what the monitor says of itself where there is no alarm."""
        run = self._run
        status = str(run.words["status"][row]) if "status" in run.words else ""
        word = state or ("" if status == "" or status.startswith("ok") else f"monitor: {status}")
        colour = STATE_COLOURS.get(state, QUIET)
        draw.text((DIAL_AT[0], 192), word[:40], colour, _font(28), anchor="ms")
        reason = str(run.words["reason"][row]) if "reason" in run.words else ""
        for number, line in enumerate(_wrapped(reason, WIDTH - SIDE_LEFT - 10)):
            draw.text((DIAL_AT[0], 216 + 20 * number), line, INK, _font(16), anchor="ms")


class _Ground:
    """The track from above, or the whole way where no track is known, and the car on it."""

    def __init__(self, run: Run) -> None:
        self._xy = np.stack([run.numbers["x"], run.numbers["y"]], axis=1).astype(np.float64)
        shape = np.array(run.track["points"]) if run.track else self._xy[np.isfinite(self._xy).all(axis=1)]
        left, top, right, bottom = MAP_BOX
        edge = (run.track["half_width_m"] if run.track else 0.0) + 0.15
        low, high = shape.min(axis=0) - edge, shape.max(axis=0) + edge
        self._scale = min((right - left) / max(high[0] - low[0], 1e-6), (bottom - top) / max(high[1] - low[1], 1e-6))
        self._middle = (low + high) / 2
        self._centre = np.array([(left + right) / 2, (top + bottom) / 2])
        self._box = np.full((bottom - top, right - left, 3), PAPER, np.uint8)
        if run.track:
            outline = [np.rint(self._pixels(shape) - (left, top)).astype(np.int32).reshape(-1, 1, 2)]
            width = max(1, round(2 * run.track["half_width_m"] * self._scale))
            cv2.polylines(self._box, outline, True, TRACK, width, cv2.LINE_AA)
        else:
            way = self._pixels(self._xy) - (left, top)
            steps = np.hypot(*np.diff(way, axis=0).T)
            jump = JUMP_STEPS * max(float(np.nanmedian(steps)), 1.0) if len(steps) else 1.0
            way[1:][~(steps < jump)] = np.nan
            _broken_line(self._box, way[:, 0], way[:, 1], TRACK)

    def _pixels(self, xy: np.ndarray) -> np.ndarray:
        away = (xy - self._middle) * self._scale
        return self._centre + away * (1.0, -1.0)

    def draw(self, canvas: np.ndarray, row: int) -> None:
        left, top, right, bottom = MAP_BOX
        canvas[top:bottom, left:right] = self._box
        here = self._pixels(self._xy[row])
        if np.isfinite(here).all():
            cv2.circle(canvas, (round(here[0]), round(here[1])), 7, INK, -1, cv2.LINE_AA)


def _dial(canvas: np.ndarray, value: float, colour: tuple[int, int, int]) -> None:
    cv2.ellipse(canvas, DIAL_AT, (DIAL_RADIUS, DIAL_RADIUS), 0, 180, 360, TRACK, 18, cv2.LINE_AA)
    if math.isfinite(value) and value > 0:
        cv2.ellipse(canvas, DIAL_AT, (DIAL_RADIUS, DIAL_RADIUS), 0, 180, 180 + 180 * min(value, 1.0), colour, 18, cv2.LINE_AA)


def _broken_line(picture: np.ndarray, x: np.ndarray, y: np.ndarray, colour: tuple[int, int, int]) -> None:
    """Through the points that are known, with gaps where they are not."""
    for start, stop in stretches(np.isfinite(x) & np.isfinite(y)):
        points = np.stack([x[start:stop], y[start:stop]], axis=1)
        cv2.polylines(picture, [np.rint(points).astype(np.int32).reshape(-1, 1, 2)], False, colour, 2, cv2.LINE_AA)


def _wrapped(text: str, width_px: int, most: int = 2) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if _font(16).getlength(longer) <= width_px or not lines[-1]:
            lines[-1] = longer
        elif len(lines) == most:
            break
        else:
            lines.append(word)
    return lines if text else []


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)  # type: ignore[return-value]
