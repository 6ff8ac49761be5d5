"""Stands for gym-donkeycar, written from the protocol: a thread that listens and a place for one message to send.

`gymnasium.make` gives today's environment, the `gym.py` beside this file that of 2022. STAND_IN_PORT is the server's port.
"""

import base64
import io
import json
import os
import select
import socket
import threading
import time

import gymnasium
import numpy as np
from PIL import Image

MAX_CTE = 8.0
CAMERA = ["fov", "fish_eye_x", "fish_eye_y", "img_w", "img_h", "img_d", "img_enc"]
CAMERA += ["offset_x", "offset_y", "offset_z", "rot_x", "rot_y", "rot_z"]


class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (120, 160, 3), np.uint8)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, level, conf):
        self._level, self._conf, self._waiting = level, conf, None
        self._loaded = self._closing = False
        self._heard = threading.Condition()
        self._forget()
        self._socket = socket.create_connection((conf["host"], int(os.environ["STAND_IN_PORT"])))
        threading.Thread(target=self._listen, daemon=True).start()
        while not self._loaded:
            time.sleep(0.1)

    def _forget(self):
        self._telemetry, self._hit, self._over, self._began, self._lap_s, self._laps = None, "none", False, 0.0, 0.0, 0

    def _listen(self):
        data = b""
        while not self._closing:
            readable, _, _ = select.select([self._socket], [], [], 0.005)
            if readable:
                *lines, data = (data + self._socket.recv(1 << 18)).split(b"\n")
                for line in lines:
                    self._hear(json.loads(line))
            message, self._waiting = self._waiting, None
            if message is not None:
                self._socket.sendall(message)

    def _queue(self, **message):
        self._waiting = json.dumps(message).encode()

    def _hear(self, message):
        kind = message["msg_type"]
        if kind == "scene_selection_ready":
            self._queue(msg_type="get_scene_names")
        elif kind == "scene_names":
            assert self._level in message["scene_names"]
            self._queue(msg_type="load_scene", scene_name=self._level)
        elif kind == "car_loaded":
            self._loaded = True
            camera = self._conf.get("cam_config", {})
            config = {"msg_type": "cam_config", **{name: str(camera.get(name, 0)) for name in CAMERA}}
            self._socket.sendall(json.dumps(config).encode())
        elif kind == "collision_with_starting_line":
            if self._began:
                self._lap_s, self._laps = message["timeStamp"] - self._began, self._laps + 1
            self._began = message["timeStamp"]
        elif kind == "telemetry":
            if not self._over:
                self._hit, cte = message["hit"], abs(message["cte"])
                self._over = cte <= 2 * MAX_CTE and (cte > MAX_CTE or self._hit != "none") and os.environ.get("RACE") != "True"
            with self._heard:
                self._telemetry = message
                self._heard.notify()

    def _observe(self):
        with self._heard:
            assert self._heard.wait_for(lambda: self._telemetry is not None, 30)
            seen, self._telemetry = self._telemetry, None
        info = {name: tuple(seen[f"{name}_{axis}"] for axis in "xyz") for name in ("pos", "gyro", "accel", "vel")}
        info |= {"cte": seen["cte"], "speed": seen["speed"], "hit": self._hit, "lidar": []}
        info |= {"last_lap_time": self._lap_s, "lap_count": self._laps}
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(seen["image"])))), info

    def _control(self, steering, throttle, brake):
        self._queue(msg_type="control", steering=str(steering), throttle=str(throttle), brake=str(brake))

    def reset(self, *, seed=None, options=None):
        self._queue(msg_type="reset_car")
        time.sleep(0.3)
        self._forget()
        self._control(0, 0, 1.0)
        return self._observe()

    def step(self, action):
        self._control(action[0], action[1], 0.0)
        image, info = self._observe()
        return image, 0.0, self._over, False, info

    def close(self):
        self._closing = True
        time.sleep(0.1)
        self._socket.close()


gymnasium.register("donkey-generated-track-v0", "gym_donkeycar:Env", kwargs={"level": "generated_track"})
