"""Software pulses: they end with the process that makes them, and a pin stays as it was in that moment."""

from bus import wrote

BCM, BOARD, OUT, LOW, HIGH = 11, 10, 0, 0, 1
RISING, FALLING, BOTH, PUD_OFF, PUD_DOWN, PUD_UP = range(31, 37)
_mode = None


def setwarnings(on):
    pass


def setmode(mode):
    global _mode
    _mode = mode


def getmode():
    return _mode


def setup(pin, kind):
    pass


def cleanup(pin=None):
    pass


def output(pin, state):
    wrote(f"gpio {pin} {100 * state}")


class PWM:
    def __init__(self, pin, hertz):
        self.pin = pin

    def start(self, duty):
        wrote(f"gpio {self.pin} {duty:g}")

    def ChangeDutyCycle(self, duty):
        wrote(f"gpio {self.pin} {duty:g}")

    def stop(self):
        wrote(f"gpio {self.pin} off")
