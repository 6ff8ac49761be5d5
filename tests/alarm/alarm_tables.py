"""Score tables of made-up drives whose pictures and commands behave: what the alarm is fitted and tried on."""

from dataclasses import replace

import numpy as np

from donkey_aicc.scoring.frame_stats import FRAME_STATS
from donkey_aicc.scoring.score_table import ScoreTable
from tests.synthetic_scores import synthetic_table

LIGHT, REPEATED, TURN = (FRAME_STATS.index(name) for name in ("light", "repeated", "turn_px"))


def alarm_table(
    rng: np.random.Generator,
    drives: int = 8,
    length: int = 300,
    *,
    dark: tuple[int, int] | None = None,
    less_light: float = 3.0,
    departs_after: int | None = None,
    standing: int = 0,
    horizons: tuple[int, ...] = (1, 5, 20),
    prefix: str = "",
    drive_spread: float = 0.3,
) -> ScoreTable:
    """Nominal drives, spread by 0.3; `dark` frames have `less_light`, and the car is out of the lane `departs_after` them."""
    table = synthetic_table(rng, drives, length, horizons, prefix=prefix)
    stats = rng.normal(0.0, 0.1, (drives, length, len(FRAME_STATS))) + drive_spread * rng.normal(
        size=(drives, 1, len(FRAME_STATS))
    )
    steering = np.cumsum(rng.normal(0.0, 0.02, (drives, length)), axis=1)
    steering -= steering.mean(axis=1, keepdims=True)
    throttle = np.full((drives, length), 0.4)
    throttle[:, :standing] = 0.0
    stats[..., REPEATED] = 0.0
    stats[..., TURN] = 3.0 * np.roll(steering, 2, axis=1) + rng.normal(0.0, 0.1, (drives, length))
    departed = np.zeros((drives, length))
    if dark is not None:
        stats[:, dark[0] : dark[1], LIGHT] -= less_light
        if departs_after is not None:
            departed[:, dark[0] + departs_after :] = 1.0
    rows = drives * length
    return replace(
        table,
        frame_stats=stats.reshape(rows, -1).astype(np.float32),
        actions=np.stack([steering, throttle], axis=-1).reshape(rows, 2).astype(np.float32),
        departed=departed.reshape(rows).astype(np.float32),
        protocol=np.full(rows, "fog" if dark is not None else ""),
    )
