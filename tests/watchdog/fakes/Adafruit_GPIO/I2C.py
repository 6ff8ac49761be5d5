"""The library's boundary: donkeycar puts its bus number where get_default_bus stands."""

import time

from bus import wrote


def get_default_bus():
    return 1


class Device:
    def __init__(self, address, busnum):
        self._address, self._where = address, f"i2c {busnum} {address:#x}"

    def write8(self, register, value):
        time.sleep(0.0003)  # three bytes at 100 kHz
        wrote(f"{self._where} {register} {value & 0xFF}")

    def readU8(self, register):
        return 0


def get_i2c_device(address, busnum=None, **_):
    return Device(address, get_default_bus() if busnum is None else busnum)
