"""A client written from the protocol: what gym-donkeycar says and hears, without its threads."""

import asyncio
import base64
import contextlib
import io
import json
import socket
import threading

import numpy as np
from PIL import Image

from donkey_aicc.sim_server.server import SimServer

CAMERA = dict.fromkeys(["fov", "fish_eye_x", "fish_eye_y", "img_enc", "offset_x", "offset_y", "offset_z", "rot_y", "rot_z"], "0")


class Client:
    """`Client(port).load("generated_track")`, then `drive(steering, throttle)` for each telemetry."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._lines = self.socket.makefile("rb")
        self.heard = []

    def send(self, msg_type, **fields):
        self.socket.sendall(json.dumps({"msg_type": msg_type, **fields}).encode())

    def wait_for(self, msg_type):
        """The next message of this type; those before it are kept in `heard`."""
        for line in self._lines:
            assert line.endswith(b"}\n") and line.isascii()
            message = json.loads(line)
            if message["msg_type"] == msg_type:
                return message
            self.heard.append(message)
        raise ConnectionError("the server has closed the connection")

    def load(self, scene="generated_track", camera=None, name="car"):
        self.wait_for("scene_selection_ready")
        self.send("get_scene_names")
        self.names = self.wait_for("scene_names")["scene_names"]
        self.send("load_scene", scene_name=scene)
        self.wait_for("car_loaded")
        self.send("car_config", body_style="donkey", body_r="200", body_g="20", body_b="30", car_name=name, font_size="100")
        if camera is not None:
            self.send("cam_config", **CAMERA, **{key: str(value) for key, value in camera.items()})
        return self

    def drive(self, steering=0.0, throttle=0.0, brake=0.0):
        """gym-donkeycar's step: the command as texts, then the next telemetry."""
        self.send("control", steering=str(steering), throttle=str(throttle), brake=str(brake))
        return self.wait_for("telemetry")

    def close(self):
        self._lines.close()
        self.socket.close()


def picture(telemetry):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(telemetry["image"]))))


class Served:
    """`with Served(settings) as port`: a server in a thread of this process."""

    def __init__(self, settings):
        self._settings, self._ready = settings, threading.Event()

    def __enter__(self):
        async def serve():
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            await SimServer(self._settings).run(self._set)

        def run():
            with contextlib.suppress(asyncio.CancelledError):
                asyncio.run(serve())

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert self._ready.wait(30)
        return self._port

    def _set(self, server):
        self._port = server.port
        self._ready.set()

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(30)
