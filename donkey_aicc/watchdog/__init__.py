"""A small process beside the car's: it brings the motor to neutral when the drive loop dies, hangs or is stopped."""
