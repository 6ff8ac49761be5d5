"""The colour of a line on the floor: clicked on a few frames, given as a range, or proposed from the pictures alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import read_json, write_json

HUES = 180  # of OpenCV
WIDTH = 160  # pixels: every picture is looked at in this width, and offsets are in its pixels
BAND = (2 / 3, 0.97)  # rows that are looked at, as shares of the height: the floor just before the car
LEAST_REACH, MOST_REACH = 8, 25  # hue to each side of a picked one
FADED, DIMMED = 0.5, 0.4  # of a picked line's saturation and brightness: less is not the line
LEAST_SATURATION, LEAST_VALUE = 40, 30
THIN = 0.22  # of the width: a line covers no more of a row
PRESENT = 0.6  # of the frames that a proposed colour must be found in
LEAST_PIXELS = 25  # of a line in the band of a picture of 160 by 120


@dataclass(frozen=True)
class LineColour:
    """Hue from..to of 180 (from > to goes through red), least saturation and brightness of 255, and how bright the pictures
    were in which it was picked: in darker ones less is enough."""

    hue_from: int
    hue_to: int
    saturation: int
    value: int
    brightness: float = 0.0  # 0: the limits hold whatever the light

    def __post_init__(self) -> None:
        for name, most in (("hue_from", HUES - 1), ("hue_to", HUES - 1), ("saturation", 255), ("value", 255)):
            value = getattr(self, name)
            if not (isinstance(value, int) and 0 <= value <= most):
                raise AiccError(f"a line's {name} must be a whole number from 0 to {most}, got {value!r}")
        if not 0.0 <= self.brightness <= 255.0:
            raise AiccError(f"a line's brightness must be from 0 to 255, got {self.brightness}")

    @classmethod
    def parse(cls, text: str) -> "LineColour":
        """`18-36,90,90`: hue from-to of 180, and least saturation and brightness of 255 (90 each if left out)."""
        try:
            hues, *rest = text.split(",")
            first, last = (int(word) for word in hues.split("-"))
            limits = [int(word) for word in rest] + [90, 90][len(rest) :]
            saturation, value = limits
        except ValueError:
            raise AiccError(
                f"a line's colour must be a range such as 18-36,90,90 (hue of 180, least saturation and brightness), got {text!r}"
            ) from None
        return cls(first, last, saturation, value)

    @classmethod
    def of_picks(cls, picks: Sequence[tuple[int, int, int]], brightness: float) -> "LineColour":
        """RGB colours clicked on the line, in pictures of that brightness."""
        if not picks:
            raise AiccError("click on the line in at least one frame")
        hsv = cv2.cvtColor(np.array(picks, dtype=np.uint8)[None], cv2.COLOR_RGB2HSV)[0].astype(float)
        turn = hsv[:, 0] * 2 * np.pi / HUES
        middle = np.angle(np.exp(1j * turn).mean())
        away = np.abs(np.angle(np.exp(1j * (turn - middle)))) * HUES / (2 * np.pi)
        reach, centre = float(np.clip(2.0 * away.std() + LEAST_REACH, LEAST_REACH, MOST_REACH)), middle * HUES / (2 * np.pi)
        low, high = round(centre - reach) % HUES, round(centre + reach) % HUES
        saturation = max(int(FADED * np.quantile(hsv[:, 1], 0.25)), LEAST_SATURATION)
        return cls(low, high, saturation, max(int(DIMMED * np.median(hsv[:, 2])), LEAST_VALUE), brightness)

    def mask(self, band: np.ndarray) -> np.ndarray:
        """(H, W, 3) uint8 RGB -> (H, W) bool."""
        hsv = cv2.cvtColor(band, cv2.COLOR_RGB2HSV)
        light = float(np.clip(brightness_of(hsv) / self.brightness, 0.25, 1.5)) if self.brightness else 1.0
        hue = hsv[..., 0]
        inside = (hue >= self.hue_from) & (hue <= self.hue_to)
        if self.hue_from > self.hue_to:
            inside = (hue >= self.hue_from) | (hue <= self.hue_to)
        found: np.ndarray = inside & (hsv[..., 1] >= self.saturation) & (hsv[..., 2] >= self.value * light)
        return found

    def save(self, path: str | Path) -> None:
        write_json(path, vars(self))

    @classmethod
    def load(cls, path: str | Path) -> "LineColour":
        stored: Any = read_json(path, "it must hold hue_from, hue_to, saturation, value and brightness of a line")
        try:
            return cls(**stored)
        except TypeError as error:
            raise AiccError(f"{path} is no colour of a line: {error}") from error

    def __str__(self) -> str:
        return f"{self.hue_from}-{self.hue_to},{self.saturation},{self.value}"


def band_of(picture: np.ndarray) -> np.ndarray:
    """(height, width, 3) -> the rows that are looked at, WIDTH wide."""
    height = max(round(picture.shape[0] * WIDTH / picture.shape[1]), 8)
    if picture.shape[:2] != (height, WIDTH):
        picture = cv2.resize(picture, (WIDTH, height), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(picture[round(BAND[0] * height) : round(BAND[1] * height)])


def brightness_of(hsv: np.ndarray) -> float:
    """How bright the brighter tenth of a band is: line and glare are in it in every light."""
    return float(np.quantile(hsv[..., 2], 0.9))


def propose_colour(bands: Sequence[np.ndarray]) -> LineColour:
    """The hue that is there in most of these bands and thin in each row of them; refuses where none is."""
    found: dict[int, tuple[float, list[np.ndarray]]] = {}
    every = [cv2.cvtColor(band, cv2.COLOR_RGB2HSV) for band in bands]
    for centre in range(5, HUES, 5):
        present, pixels, thin = 0, [], []
        for hsv in every:
            away = np.abs((hsv[..., 0].astype(int) - centre + HUES // 2) % HUES - HUES // 2)
            mask = (away <= LEAST_REACH) & (hsv[..., 1] >= 2 * LEAST_SATURATION) & (hsv[..., 2] >= 2 * LEAST_VALUE)
            rows = mask.sum(axis=1)
            if mask.sum() >= LEAST_PIXELS and (rows > 0).mean() > 0.5:
                present += 1
                thin.append(float((rows[rows > 0] <= THIN * WIDTH).mean()))
                pixels.append(hsv[mask])
        if present >= PRESENT * len(every):
            found[centre] = (present / len(every) * float(np.mean(thin)) ** 2, pixels)
    good = {centre: score for centre, (score, _) in found.items() if score >= PRESENT}
    if not good:
        raise AiccError("no colour is a thin line in most frames: click on the line on the page, or give its range: --line")
    of_line = np.concatenate(found[max(good, key=lambda centre: good[centre])][1])
    typical = np.median(of_line, axis=0)
    picks = of_line[np.linspace(0, len(of_line) - 1, 200).astype(int)]
    near = (np.abs(picks[:, 0].astype(int) - int(typical[0])) <= LEAST_REACH // 2) & (picks[:, 1] >= 0.8 * typical[1])
    rgb = cv2.cvtColor(picks[near][None], cv2.COLOR_HSV2RGB)[0]
    light = float(np.median([brightness_of(hsv) for hsv in every]))
    return LineColour.of_picks([(int(red), int(green), int(blue)) for red, green, blue in rgb], light)
