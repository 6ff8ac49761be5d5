"""The packets that pyvesc sends, on a real line."""

import binascii

import serial


class VESC:
    def __init__(self, serial_port, has_sensor, start_heartbeat, baudrate, timeout):
        self.serial_port = serial.Serial(serial_port, baudrate=baudrate, timeout=timeout)

    def _send(self, content):
        check = binascii.crc_hqx(content, 0).to_bytes(2, "big")
        self.serial_port.write(bytes([2, len(content)]) + content + check + bytes([3]))

    def set_servo(self, place):
        self._send(bytes([12]) + round(1000 * place).to_bytes(2, "big", signed=True))

    def set_duty_cycle(self, share):
        self._send(bytes([5]) + round(100000 * share).to_bytes(4, "big", signed=True))
