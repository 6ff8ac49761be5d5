"""The client's boundary; the daemon outlives every client, so what was set stays."""

from bus import wrote

RISING_EDGE, FALLING_EDGE, EITHER_EDGE, PUD_OFF, PUD_DOWN, PUD_UP, OUTPUT, INPUT = range(8)


class pi:  # noqa: N801
    connected = True

    def set_mode(self, pin, mode):
        pass

    def set_PWM_frequency(self, pin, hertz):
        pass

    def set_PWM_range(self, pin, most):
        pass

    def set_PWM_dutycycle(self, pin, duty):
        wrote(f"pigpio {pin} {duty}")

    def hardware_PWM(self, pin, hertz, duty):
        wrote(f"pigpio {pin} {duty}")

    def write(self, pin, state):
        wrote(f"pigpio {pin} {4095 * state}")

    def stop(self):
        pass
