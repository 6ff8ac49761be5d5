"""Whether `donkey-aicc sim-server` holds 20 Hz for four clients at 160x120, each in a process of its own as real cars are."""

import json
import socket
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import psutil

CLIENTS, SECONDS, WANTED_HZ = 4, 15.0, 20.0


def drive(port: int) -> tuple[float, float]:
    """(frames per second, longest wait for a frame in ms) of one client that answers every frame with a command."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        frames, longest, began, last = 0, 0.0, 0.0, 0.0
        for line in connection.makefile("rb"):
            kind = json.loads(line)["msg_type"]
            if kind == "scene_selection_ready":
                connection.sendall(b'{"msg_type":"load_scene","scene_name":"generated_track"}')
            elif kind == "telemetry":
                connection.sendall(b'{"msg_type":"control","steering":"0.0","throttle":"0.2","brake":"0.0"}')
                now = time.perf_counter()
                if frames == 20:
                    began = now
                elif frames > 20:
                    longest = max(longest, now - last)
                    if now - began > SECONDS:
                        return (frames - 20) / (now - began), 1000.0 * longest
                frames, last = frames + 1, now
    raise ConnectionError("the server went away")


def main() -> None:
    command = [sys.executable, "-m", "donkey_aicc", "sim-server", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().split(";")[0].rsplit(":", 1)[1])
        with ProcessPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(drive, port) for _ in range(CLIENTS)]
            time.sleep(5.0)  # the scene is painted once
            before, began = psutil.Process(server.pid).cpu_times(), time.perf_counter()
            found = [client.result() for client in clients]
        after, took = psutil.Process(server.pid).cpu_times(), time.perf_counter() - began
        rates, waits = ", ".join(f"{rate:.2f}" for rate, _ in found), max(wait for _, wait in found)
        busy = (after.user + after.system - before.user - before.system) / took
        print(f"sim-server, {CLIENTS} clients at 160x120: {rates} frames/s, longest wait {waits:.0f} ms; wanted {WANTED_HZ:g}")
        print(f"sim-server: {100 * busy:.0f} % of one core for all of them")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
