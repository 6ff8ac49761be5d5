"""Any sequence of what the governor may be handed, rubbish included: its promises hold in every tick."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from donkey_aicc.alarm.brake import COASTS, BrakeSettings
from donkey_aicc.alarm.governor_policy import FULL, GovernorPolicy
from donkey_aicc.limits import drive_command
from donkey_aicc.parts.safety_governor import USER_MODES, SafetyGovernor

CERTAIN = [1.0] * 3
GIVEN = {
    "alarm": ("none", "none", "none", "watch", "danger", "danger", "", "DANGER", None, 3),
    "hazard": ([0.0] * 3, [0.1] * 3, [0.4] * 3, [0.9] * 3, CERTAIN, None, [], [math.nan] * 3, [-1.0] * 3, [7.0] * 3, "high"),
    "throttle": (0.4, 0.5, 1.0, 0.0, -0.3, -1.0, 3.0, math.nan, math.inf, -math.inf, None, "fast", True, 10**400),
    "mode": ("local", "local", "local", "local", "user", "local_angle", None, "unknown"),
    "health": ("ok", "ok", "ok", "doubtful: late", "blind: no picture", "waiting: first", None, 5),
    "frame": (None, SimpleNamespace(time_s=5.0, new_s=4.9), SimpleNamespace(time_s=5.0, new_s=math.nan)),
    "speed": (None, 0.0, 0.8, math.nan, "fast"),
}


def check_steps(brake, count, seed):
    rng, now = np.random.default_rng(seed), [0.0]
    picks = {name: rng.integers(0, len(values), count) for name, values in GIVEN.items()}
    events, passes = rng.random(count), rng.choice([0.0, 0.016, 0.05, 0.05, 0.05, 5.0], count)
    governor = SafetyGovernor(GovernorPolicy("stop", cruise=0.5, stop_hazard=0.3, brake=brake, clock=lambda: now[0]), (1, 20, 50))
    seen = stopped = False
    for tick in range(count):
        given = {name: GIVEN[name][place[tick]] for name, place in picks.items()}
        now[0] += passes[tick]
        if events[tick] < 0.002:
            governor.set_mode(("off", "advise", "slow", "stop", "stop", "stop")[int(events[tick] * 3000)])
            stopped = False
        elif events[tick] < 0.003:
            governor.shutdown()
            seen = stopped = False
        elif events[tick] < 0.05 and governor.confirm():
            assert stopped or governor.mode == "advise"  # which only says that it would
            stopped = False
        sent, action = governor.run(**given)
        meant, by_user = drive_command(given["throttle"]), given["mode"] is None or given["mode"] in USER_MODES
        seen, acts = seen or given["health"] == "ok", governor.mode in ("slow", "stop")
        assert math.isfinite(sent) and -1.0 <= sent <= max(meant, 0.0), given
        if by_user or not acts:
            assert sent == meant
            stopped = False
        elif not seen:
            assert sent <= 0.0 and action == "waiting"
        else:
            certain = given["alarm"] == "danger" and given["hazard"] in (None, [], "high", CERTAIN)
            stopped = stopped or action == "stopped" or (certain and governor.mode == "stop")
            assert not stopped or (sent <= 0.0 and action == "stopped"), given
            assert action != FULL or sent == meant


BRAKES = {"coasts": COASTS, "brakes": BrakeSettings(-0.5, 0.6, 0.1)}


@pytest.mark.parametrize("brake", BRAKES)
def test_the_promises_hold_in_every_step(brake):
    check_steps(BRAKES[brake], 10_000, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("brake", BRAKES)
def test_the_promises_hold_in_a_million_steps(brake, seed):
    check_steps(BRAKES[brake], 100_000, seed)
