"""A run without a tub: a straight way at 20 Hz, sure until a fault, unsure in it."""

from pathlib import Path

import numpy as np

from donkey_aicc.replay.run import Run


def made_up_run(cte, action=None, alarm=None, *, fault="dark", fault_at=20, fault_ends=None) -> Run:
    """cte: (N,) metres; action, alarm: N words; the fault lasts to the end unless told otherwise."""
    count = len(cte)
    faulty = np.zeros(count, bool)
    faulty[fault_at:fault_ends] = True
    alarm = np.array(alarm if alarm is not None else ["none"] * count)
    words = {"inject_protocol": np.where(faulty, fault, ""), "alarm": alarm, "reason": np.where(alarm == "danger", "why", "")}
    confidence = np.where(faulty[:, None], [[0.5, 0.6]], [[0.9, 0.1]])
    numbers = {
        "x": np.linspace(0, 6, count),
        "y": np.asarray(cte, float),
        "cte": np.asarray(cte, float),
        "confidence": confidence,
        "p_safe": np.tile([0.95, 0.05], (count, 1)),
        "rho": faulty.astype(float),
        "delta": faulty.astype(float),
        "scores_valid": np.ones(count),
    }
    return Run(
        tub=Path("nowhere"),
        name="made_up",
        index=np.arange(count),
        t=np.arange(count) / 20.0,
        rate_hz=20.0,
        image_paths=[None] * count,
        numbers={name: values.astype(np.float32) for name, values in numbers.items()},
        words=words | ({} if action is None else {"action": np.array(action)}),
        departed=np.zeros(count, np.float32),
        horizons=(10, 20),
    )
