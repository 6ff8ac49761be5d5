"""One client's car: what its messages do to it, and what a tick of it looks like on the wire. Knows nothing of sockets."""

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

from donkey_aicc.errors import AiccError, printable
from donkey_aicc.parts.ride import Ride
from donkey_aicc.sim_server.messages import line, number, picture
from donkey_aicc.sim_server.server_settings import ServerSettings
from donkey_aicc.simulator.camera import CameraConfig
from donkey_aicc.simulator.other_cars import OtherCar
from donkey_aicc.simulator.tracks import TRACK_NAMES
from donkey_aicc.simulator.unity_scenes import SCENES
from donkey_aicc.simulator.world import BODY_RADIUS_M, NO_HIT, World

logger = logging.getLogger(__name__)

USUAL_SCENE = "generated_track"
SCENE_NAMES = [*SCENES, *TRACK_NAMES]  # our own tracks by their own names behind Unity's
HEAVY = ("load_scene", "cam_config")  # messages that may take a second
PUT_BACK_S = 3.0  # a car that stands at a wall so long and is not reset is set on the lane: donkeycar never resets
_MOST_PIXELS = 640 * 480
_ROW_M = 0.6  # between the cars at the start
_MOVING_MPS = 0.05
_BASE_S = 1.0  # time of the first crossing of the start line: 0 would mean that there was none
_CAMERA_NUMBERS = (
    *("fov", "fish_eye_x", "fish_eye_y", "img_w", "img_h", "img_d"),
    *("offset_x", "offset_y", "offset_z", "rot_x", "rot_y", "rot_z"),
)
_QUIET = ("racer_info",)
_NOT_HERE = {
    "lidar_config": "there is no lidar",
    "cam_config_b": "there is no second camera",
    "step_mode": "see --rate",
    "regen_road": "load another scene",
    "node_position": "positions are in the telemetry",
}


class ServedCar:
    """`handle` takes a message and gives the answers; `tick` moves on and gives the telemetry."""

    def __init__(self, settings: ServerSettings, number_: int, others: Callable[["ServedCar"], list["ServedCar"]]) -> None:
        """others: the cars on the same track, where the cars are together."""
        self._settings, self.number, self._others = settings, number_, others
        self.name, self._rgb = f"car {number_}", (128, 128, 128)
        self.scene = ""
        self._ride: Ride | None = None
        self._camera, self._encoding, self._depth = CameraConfig(), "JPG", 3
        self._command = (0.0, 0.0, 0.0)
        self._stood_s, self._crossed = 0.0, -1
        self._scale = self._units_per_m()
        self._said: set[str] = set()

    @property
    def loaded(self) -> bool:
        return self._ride is not None

    def say(self, text: str) -> None:
        """Once for each text, and not more than some in all: a client can make as many mistakes as it likes."""
        if text not in self._said and len(self._said) < 20:
            self._said.add(text)
            logger.info("%s: %s", printable(self.name), printable(text[:200]))

    def handle(self, message: Mapping[str, Any]) -> list[bytes]:
        kind = message.get("msg_type")
        work = getattr(self, f"_on_{kind}", None) if isinstance(kind, str) and kind.isidentifier() else None
        try:
            if work is not None:
                return work(message) or []
            if kind not in _QUIET:
                self.say(f"{str(kind)[:40]} is left out: {_NOT_HERE.get(str(kind), 'unknown message')}")
        except AiccError as error:
            self.say(str(error))
        return []

    def _on_get_protocol_version(self, message: Mapping[str, Any]) -> list[bytes]:
        return [line("protocol_version", version="2")]

    def _on_get_scene_names(self, message: Mapping[str, Any]) -> list[bytes]:
        return [line("scene_names", scene_names=SCENE_NAMES)]

    def _on_load_scene(self, message: Mapping[str, Any]) -> list[bytes]:
        scene = str(message.get("scene_name"))[:40]
        if scene not in SCENE_NAMES:
            self.say(f"no scene {scene!r}, it gets {USUAL_SCENE}; there are {', '.join(SCENE_NAMES)}")
            scene = USUAL_SCENE
        self.scene = scene
        self._build()
        return [line("car_loaded")]

    def _units_per_m(self) -> float:
        """A Unity scene speaks in its own unit, in which its clients know when an episode is over; our tracks in metres."""
        if self._settings.scale is not None:
            return self._settings.scale
        return SCENES[self.scene].units_per_m if self.scene in SCENES else 1.0

    def _build(self) -> None:
        """A world of its own with this client's camera."""
        settings, self._scale = self._settings, self._units_per_m()
        track = settings.track or (SCENES[self.scene].track if self.scene in SCENES else self.scene)
        world = World(track, settings.seed + self.number, settings.rate_hz, self._camera)
        self._ride = Ride(world)
        self._begin(settings.seed + self.number)
        self.say(f"scene {self.scene}, track {track}, camera {self._camera.width}x{self._camera.height}")

    def _begin(self, seed: int | None = None, pose: tuple[float, float, float] | None = None) -> None:
        assert self._ride is not None
        row_m = _ROW_M * len(self._others(self)) if pose is None else 0.0
        faults = self._settings.faults_by_name.get(self.name, self._settings.faults)
        place = self._ride.world.track.pose_at(-row_m) if row_m else pose
        self._ride.begin(faults, pose=place, seed=seed, fault_seed=self._settings.seed + self.number)
        self._command, self._stood_s, self._crossed = (0.0, 0.0, 0.0), 0.0, -1

    def _on_car_config(self, message: Mapping[str, Any]) -> None:
        before, self.name = self.name, printable(str(message.get("car_name", self.name)))[:40]
        red, green, blue = (min(max(int(number(message, f"body_{which}", 128)), 0), 255) for which in "rgb")
        self._rgb = (red, green, blue)
        if self._ride is not None and self.name != before and self.name in self._settings.faults_by_name:
            self._begin()

    def _on_cam_config(self, message: Mapping[str, Any]) -> None:
        usual, given = CameraConfig(), {name: number(message, name) for name in _CAMERA_NUMBERS}
        lacking = [name for name in ("fish_eye_x", "fish_eye_y", "offset_x", "rot_y", "rot_z") if given[name]]
        if lacking:
            self.say(f"the camera cannot do {', '.join(lacking)}")
        camera = CameraConfig(
            width=int(given["img_w"]) or usual.width,
            height=int(given["img_h"]) or usual.height,
            fov_deg=given["fov"] or usual.fov_deg,
            pitch_deg=usual.pitch_deg + given["rot_x"],
            height_m=usual.height_m + given["offset_y"] / self._scale,
            forward_m=usual.forward_m + given["offset_z"] / self._scale,
        )
        if camera.width * camera.height > _MOST_PIXELS:
            raise AiccError(f"a picture must have at most {_MOST_PIXELS} pixels, got {camera.width}x{camera.height}")
        encoding = str(message.get("img_enc", "0")).upper()
        if encoding not in ("JPG", "PNG", "0"):
            self.say(f"pictures are JPG or PNG, not {encoding[:20]}: it gets JPG")
        self._encoding, self._depth = "PNG" if encoding == "PNG" else "JPG", 1 if given["img_d"] == 1 else 3
        if camera != self._camera:
            self._camera = camera
            if self._ride is not None:
                self._build()

    def _on_control(self, message: Mapping[str, Any]) -> None:
        steering, throttle, brake = (number(message, name) for name in ("steering", "throttle", "brake"))
        self._command = steering, throttle, min(max(brake, 0.0), 1.0)

    def _on_reset_car(self, message: Mapping[str, Any]) -> None:
        if self._ride is not None:
            self._begin()

    def _on_set_position(self, message: Mapping[str, Any]) -> None:
        """Facing along the lane there."""
        if self._ride is None:
            return
        x, y = (number(message, name) / self._scale for name in ("pos_x", "pos_z"))
        self._begin(pose=(x, y, self._ride.world.track.project(x, y)[2]))

    def _on_exit_scene(self, message: Mapping[str, Any]) -> list[bytes]:
        self._ride = None
        return [line("scene_selection_ready", loaded="1")]

    def place(self) -> OtherCar:
        assert self._ride is not None
        seen = self._ride.observation
        return OtherCar(seen.x, seen.y, seen.yaw, self._rgb)

    def tick(self) -> list[bytes]:
        """One tick of the world, and what the client hears of it."""
        ride, (steering, throttle, brake) = self._ride, self._command
        if ride is None:
            return []
        others = self._others(self)
        ride.world.camera.others = [other.place() for other in others]
        if brake > 0.0:  # the motor against the car's motion, and nothing when it stands
            speed = ride.observation.speed
            throttle = -math.copysign(brake, speed) if abs(speed) > _MOVING_MPS else 0.0
        ride.step(steering, throttle)
        self._stood_s = self._stood_s + 1.0 / self._settings.rate_hz if ride.world.hit != NO_HIT else 0.0
        if self._stood_s >= PUT_BACK_S:
            ride.put_back()
        return [*self._crossings(ride), self.telemetry()]

    def _crossings(self, ride: Ride) -> list[bytes]:
        """The start line: when the car first moves, for a client forgets what comes while it resets; then at every lap."""
        seen, sent = ride.observation, []
        if self._crossed < 0 and abs(seen.speed) > _MOVING_MPS:
            self._crossed = 0
            sent.append(line("collision_with_starting_line", starting_line_index=0, timeStamp=_BASE_S))
        if 0 <= self._crossed < seen.lap:
            self._crossed = seen.lap
            sent.append(line("cross_start", lap_time=round(seen.lap_times[-1], 6)))
            at = round(_BASE_S + sum(seen.lap_times), 6)
            sent.append(line("collision_with_starting_line", starting_line_index=0, timeStamp=at))
        return sent

    def telemetry(self) -> bytes:
        """The car as it stands."""
        assert self._ride is not None
        ride, scale = self._ride, self._scale
        seen, motion, track = ride.observation, ride.motion(), ride.world.track
        triples = {"pos": "xyz", "vel": "xyz", "accel": "xyz", "gyro": "xyz"}
        values = {
            f"{name}_{axis}": value * (1.0 if name == "gyro" else scale)
            for name, axes in triples.items()
            for axis, value in zip(axes, motion[name], strict=True)
        }
        values |= dict(zip(("roll", "pitch", "yaw"), motion["car"], strict=True))
        values |= {"cte": seen.cte_m * scale, "speed": abs(seen.speed) * scale, "time": seen.time_s}
        values |= {"steering_angle": self._command[0], "throttle": self._command[1]}
        return line(
            "telemetry",
            **{name: round(value, 6) for name, value in values.items()},
            hit=self._hit(seen.hit),
            activeNode=int(seen.s_m / track.spacing_m),
            totalNodes=len(track.centreline),
            image=picture(ride.image, self._encoding, self._depth),
        )

    def _hit(self, wall: str) -> str:
        here = self.place()
        for other in self._others(self):
            there = other.place()
            if math.hypot(here.x - there.x, here.y - there.y) < 2.0 * BODY_RADIUS_M:
                return other.name
        return wall
