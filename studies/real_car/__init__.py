"""The study on a real car's tub: what the monitor is worth on frames that no simulator made."""
