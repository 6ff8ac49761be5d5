"""A cockpit that shows everything it can, fed by a made-up drive: no nets, no simulator, the same every time."""

import math
import threading
import time
from contextlib import contextmanager

import numpy as np
from tornado.web import Application

from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.web.access import Access
from donkey_aicc.web.cockpit_exchange import SHOWN, CockpitFeed, Controls, heat_of
from donkey_aicc.web.cockpit_hub import CockpitHub
from donkey_aicc.web.cockpit_socket import add_cockpit_handlers
from tests.web.cockpit_under_test import TOKEN, running

HORIZONS = (1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
ACTIONS = ("mode", "record", "mark", "arm", "inject", "stop", "halt", "governor", "confirm", "false_alarm", "lap_was_normal")
ALARMS = {
    "none": "",
    "watch": "steering jerks 11 times its usual spread",
    "danger": "picture much darker than in training",
}
STATES = {"none": "All well", "watch": "Careful", "danger": "Danger"}
_ANGLES = np.linspace(0, 2 * math.pi, 80, endpoint=False)
TRACK = {"points": np.stack([3 * np.cos(_ANGLES), 2 * np.sin(_ANGLES)], axis=1).round(2).tolist(), "half_width_m": 0.35}


class ScriptedDrive:
    """Ticks at 20 Hz. `fault` and `alarm` can be set; `asked` holds what the page's buttons asked for."""

    def __init__(self, view="open", **about):
        self.asked, self.fault, self.alarm, self.mode, self.held = [], None, "none", "local", ("full", "")
        self.feed = CockpitFeed()
        self.about = {
            "version": "0", "rate_hz": 20, "simulated": False, "actions": list(ACTIONS),
            "protocols": ["dark", "blur", "colour_jitter"],
            "severities": [1, 2, 3, 4, 5], "severity": 3, "arm_s": 30.0, "governor_modes": ["off", "advise", "slow", "stop"],
            "monitor": "reference", "horizons": list(HORIZONS), "features": list(FEATURE_NAMES),
            "beside": "within 8 cm of the centre", "track": TRACK,
        } | about  # fmt: skip
        instruments = {
            "features": lambda: [0.4, -1.0, 0.2, 1.1, -2.6, 0.0, 4.4, 11.0, -0.3, 2.1, 0.9, -0.7],
            "ride": lambda: {"lap_s": 4.2, "last_lap_s": 15.1, "best_lap_s": 14.8, "departures": 1},
            "governor_mode": lambda: "slow",
            "injection": lambda: {"armed": bool(self.fault), "left_s": 12.0 if self.fault else 0.0, "asked_for": []},
        }
        self.hub = CockpitHub(self.feed, Access(TOKEN, view), self.about, instruments, lambda: heat_of(self._error(), 0.003))
        self.controls = Controls(dict.fromkeys(self.about["actions"], self._ask))
        self._over = threading.Event()

    def _ask(self, given):
        self.asked.append(given)
        if given["do"] in ("inject", "stop", "halt"):
            self.fault = given.get("protocol")
        if given["do"] == "mode":
            self.mode = given["mode"]
        return f"{given['do']} done"

    def _error(self):
        rows, columns = np.mgrid[0:64, 0:64]
        return 0.1 * np.exp(-((rows - 20) ** 2 + (columns - 40) ** 2) / 150)[None]

    def tick(self, number):
        """What the channels hold in one tick."""
        angle = number / 60
        sure = 0.5 + 0.45 * math.sin(angle)
        values = {
            "image": np.full((120, 160, 3), 90 + number % 60, np.uint8), "mode": self.mode, "recording": True, "records": number,
            "steering": 0.1, "throttle": 0.4 + 0.1 * math.sin(angle), "p_safe": [sure] * 11, "p_tta": [0.9 * sure] * 11,
            "confidence": [sure * 0.97**k for k in range(11)], "hazard": [0.02 * k for k in range(11)],
            "rho": 0.5 + 0.4 * math.cos(angle), "delta": 0.3, "scores_age_s": 0.12, "scores_valid": True, "status": "ok",
            "grade": "half", "stays": [1 - 0.002 * k for k in range(11)],
            "state": "Careful" if self.held[1] else STATES[self.alarm], "advice": self.held[1],
            "alarm": self.alarm, "reason": ALARMS[self.alarm], "action": self.held[0],
            "inject_protocol": self.fault or "", "inject_severity": 3 if self.fault else 0, "lap": 2, "hit": False, "cte": 0.12,
            "x": 3 * math.cos(angle), "y": 2 * math.sin(angle), "speed": 1.1,
        }  # fmt: skip
        self.feed.run(*(values.get(name) for name in SHOWN))

    def run(self):
        number = 0
        while not self._over.is_set():
            number += 1
            self.tick(number)
            time.sleep(0.05)

    def end(self):
        self._over.set()


@contextmanager
def served(drive, moving=True):
    """Yields the cockpit's address."""
    app = Application([])
    add_cockpit_handlers(app, drive.hub, drive.controls)
    thread = threading.Thread(target=drive.run, daemon=True)
    with running(app) as port:
        if moving:
            thread.start()
        yield f"http://localhost:{port}/aicc"
        drive.end()
