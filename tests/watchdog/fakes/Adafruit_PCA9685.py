"""Four registers of a channel, a write each; making one anew switches off all channels, as the library does."""


class PCA9685:
    def __init__(self, address=0x40, **_):
        from Adafruit_GPIO import I2C

        self._device = I2C.get_i2c_device(address)
        self._device.write8(0xFD, 0)

    def set_pwm_freq(self, hertz):
        self._device.write8(0xFE, hertz)

    def set_pwm(self, channel, on, off):
        for number, value in enumerate((on & 0xFF, on >> 8, off & 0xFF, off >> 8)):
            self._device.write8(6 + 4 * channel + number, value)
