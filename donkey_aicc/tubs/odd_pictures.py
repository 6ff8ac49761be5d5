"""What is odd about the pictures of a whole tub: a camera upside down, and pictures of black and white alone."""

from collections.abc import Sequence

import cv2
import numpy as np

from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.tub_contents import NOTE, Finding

PAIRS = 60  # of neighbouring frames
LEAST_PAIRS = 30
EDGE = 4  # rows at the edges, and on both sides of the middle, that say little
RISING = -0.3  # pixels of 64 a frame: six recordings of cars that drive forwards have +0.9 to +2.2, upside down the opposite
EXTREME = 24  # grey levels from black or from white
NEARLY_ALL = 0.8  # of the pixels: 19 % at most in those six recordings


def odd_pictures(drives: Sequence[Drive]) -> list[Finding]:
    """Notes. Judged on a sample of neighbouring frames in which the car drives."""
    pairs = [
        drive.images[row : row + 2].mean(axis=3).astype(np.uint8)
        for drive in drives
        for row in np.flatnonzero(drive.actions[:-1, 1] > 0.0)[:: max(sum(map(len, drives)) // PAIRS, 1)]
    ]
    if len(pairs) < LEAST_PAIRS:
        return []
    findings, grey = [], np.stack(pairs)
    share = float(((grey < EXTREME) | (grey >= 256 - EXTREME)).mean())
    if share > NEARLY_ALL:
        message = f"{100 * share:.0f} % of the pixels are black or white: light, contrast and colour say little"
        findings.append(Finding(NOTE, "near-binary", f"{message}; record the camera's own picture"))
    if float(np.mean([_falling(*pair) for pair in pairs])) < RISING:
        message = "the floor moves upwards in the picture: the camera is mounted upside down, or the car drives backwards"
        findings.append(Finding(NOTE, "upside-down", message))
    return findings


def _falling(before: np.ndarray, after: np.ndarray) -> float:
    """Pixels by which the picture moves downwards: the floor, which is near, moves more than what is above the horizon."""
    flow = cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 3, 9, 3, 5, 1.1, 0)[:, :, 1]
    half = len(flow) // 2
    return float(flow[EDGE : half - EDGE].mean() + flow[half + EDGE : -EDGE].mean())
