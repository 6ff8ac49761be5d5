"""DONKEY_GYM = True: what the Unity simulator knows beside the picture, and what the tub must say of its scene."""

import logging
import os
from typing import Any

from donkey_aicc import channels
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.drive_loop import inserting_at
from donkey_aicc.simulator.unity_scenes import SCENES, scene_of_env
from donkey_aicc.tubs.assemble import LANE_HALF_WIDTH
from donkey_aicc.tubs.home import SCENE

logger = logging.getLogger(__name__)


class UnityProgress:
    """Runs right after donkeycar's DonkeyGymEnv: the lap being driven, from 1, and whether the car has hit something just now."""

    def __init__(self, gym: Any) -> None:
        self._gym, self._was = gym, "none"

    def run(self) -> tuple[int, bool]:
        info = self._gym.info
        before, self._was = self._was, str(info.get("hit", "none"))
        laps = info.get("lap_count")
        return (laps if isinstance(laps, int) else 0) + 1, self._was not in ("none", before)


def known_half_width(car: Assembly) -> float | None:
    """|cte| at which the car has left its lane, in the unit of its cte."""
    if car.config.sim:
        from donkey_aicc.simulator.tracks import make_track

        return float(make_track(car.config.sim_track).half_width_m)
    scene = scene_of_env(str(getattr(car.cfg, "DONKEY_GYM_ENV_NAME", ""))) if getattr(car.cfg, "DONKEY_GYM", False) else ""
    return car.config.lane_half_width or (SCENES[scene].half_width if scene else None)


def add_unity(car: Assembly) -> None:
    """Laps and hits into the loop, and into the tub's metadata its scene and its lane's width."""
    notes = {}
    if getattr(car.cfg, "DONKEY_GYM", False):
        places = [place for place, entry in enumerate(car.V.parts) if type(entry["part"]).__name__ == "DonkeyGymEnv"]
        if places:
            os.environ.setdefault(
                "RACE", "True"
            )  # else gym-donkeycar hides every hit after an episode's end, and donkeycar has none
            with inserting_at(car.V, places[0] + 1):
                car.V.add(UnityProgress(car.V.parts[places[0]]["part"]), outputs=[channels.LAP, channels.HIT])
            car.recorded |= {channels.LAP: "int", channels.HIT: "boolean"}
        env = str(getattr(car.cfg, "DONKEY_GYM_ENV_NAME", ""))
        scene = scene_of_env(env)
        notes[SCENE] = scene
        half_width = known_half_width(car)
        if half_width is None:
            car.said.append(f"no departures known: the lane of {scene or env} needs AICC_LANE_HALF_WIDTH")
        if not getattr(car.cfg, "SIM_RECORD_LOCATION", False):
            car.said.append("no cte in the tub: SIM_RECORD_LOCATION is False")
    else:
        half_width = car.config.lane_half_width
    if half_width is not None and not car.config.sim:
        notes[LANE_HALF_WIDTH] = f"{half_width:g}"
    car.cfg.METADATA = [*getattr(car.cfg, "METADATA", []), *(f"{key}:{value}" for key, value in notes.items())]
