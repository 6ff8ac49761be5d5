"""A driven car in a process of its own, and what came out of its wires and when."""

import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path

FAKES = Path(__file__).parent / "fakes"
ROOT = Path(__file__).resolve().parents[2]
MOST_S = 60.0  # on a machine that is busy with other things


class Wires:
    """What each motor got: lines of the fakes, and bytes of a pseudo-terminal. -> is it neutral?"""

    def __init__(self, folder, kind):
        self.kind, self.file, self._read_so_far = kind, folder / "wires", 0
        self._registers, self._found = {}, []
        self.file.write_bytes(b"")
        self.bytes, self.port, self._over = [], "", threading.Event()
        if kind in ("MM1", "VESC"):
            self.master, slave = pty.openpty()
            tty.setraw(slave)
            self.port = os.ttyname(slave)
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while not self._over.is_set():
            if select.select([self.master], [], [], 0.05)[0]:
                self.bytes.append((time.monotonic_ns(), os.read(self.master, 65536)))

    def close(self):
        self._over.set()

    def history(self):
        """[(ns, neutral?)] of every write that concerns the throttle."""
        if self.port:
            return self._of_bytes()
        return self._of_i2c() if self.kind.endswith(("PCA9685", "I2C_SERVO")) else self._of_pins()

    def _lines(self):
        """New ones."""
        with open(self.file, "rb") as file:
            file.seek(self._read_so_far)
            whole = file.read().rpartition(b"\n")[0]
        self._read_so_far += len(whole) + bool(whole)
        return [line.split(maxsplit=2) for line in whole.decode().splitlines()]

    def _of_i2c(self):
        for at, _, what in self._lines():
            *_, register, value = what.split()
            self._registers[int(register)] = int(value)
            if int(register) == 9:  # the last of the throttle's four
                pulse = self._registers.get(8, 0) | self._registers[9] << 8
                self._found.append((int(at), abs(pulse - 370) <= 1 or pulse in (0, 4096)))
        return self._found

    def _of_pins(self):
        """Neutral: no share of power on the forward pin, or that of the neutral pulse."""
        for at, _, what in self._lines():
            _, pin, duty = what.split()
            if pin == "0":
                share = 0.0 if duty == "off" else float(duty) / (4095 if "pigpio" in what else 100)
                self._found.append((int(at), share == 0.0 or abs(share - 370 / 4095) < 2e-3))
        return self._found

    def _of_bytes(self):
        found = []
        for at, said in self.bytes:
            throttles = [int(each) == 1500 for each in re.findall(rb", (\d+)\r", said)] if self.kind == "MM1" else []
            for packet in re.findall(rb"\x02\x05\x05(....)..\x03", said, re.DOTALL) if self.kind == "VESC" else []:
                throttles.append(int.from_bytes(packet, "big", signed=True) == 0)
            found += [(at, neutral) for neutral in throttles]
        return found

    @property
    def neutral(self):
        history = self.history()
        return bool(history) and history[-1][1]


class DrivenCar:
    """Drives when it is made."""

    def __init__(self, folder, kind, fault="nothing"):
        self.wires, self.now = Wires(folder, kind), folder / "now"
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{FAKES}", "AICC_FAKE_WIRES": str(self.wires.file)}
        environment |= {"AICC_FAULT_NOW": str(self.now), "AICC_FAKE_PORT": self.wires.port}
        self.log = open(folder / "log", "wb")  # noqa: SIM115
        command = [sys.executable, "-m", "tests.watchdog.driven_car", kind, fault]
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=self.log)
        self.said = []
        while not (line := self.process.stdout.readline().decode()).startswith("drives"):
            assert line, f"the car did not start: {(folder / 'log').read_text()[-2000:]}"
            self.said.append(line)
        self.wait_until(lambda: not self.wires.neutral)

    @property
    def watchdog(self):
        """The number of the watchdog's process."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        named = [int(each) for each in children if b"watchdog" in Path(f"/proc/{each}/cmdline").read_bytes()]
        return named[0]

    def wait_until(self, holds):
        until = time.monotonic() + MOST_S
        while not holds():
            assert time.monotonic() < until, "it did not come to that"
            time.sleep(0.01)

    def seconds_to_neutral(self, do):
        """do: what happens to the car. -> from then to the first neutral after which nothing else was written."""
        began = time.monotonic_ns()
        do()
        self.wait_until(lambda: self.wires.neutral)
        time.sleep(0.3)
        self.wait_until(lambda: self.wires.neutral)
        history = self.wires.history()
        last = max(at for at, neutral in history if not neutral)
        first = next(at for at, neutral in history if neutral and at > last)
        return max(0.0, (first - began) / 1e9)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.wires.close()
        self.log.close()
