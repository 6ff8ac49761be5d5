"""The monitor of a car without a bundle, and the watch over the camera that every monitor has."""

from pathlib import Path
from typing import TYPE_CHECKING

from donkey_aicc import channels
from donkey_aicc.car.assembly import Assembly

if TYPE_CHECKING:
    from donkey_aicc.alarm.health import MonitorHealth


def monitor_health(car: Assembly) -> "MonitorHealth":
    from donkey_aicc.alarm.health import MonitorHealth

    camera_hz = getattr(car.cfg, "CAMERA_FRAMERATE", car.cfg.DRIVE_LOOP_HZ)
    slower = isinstance(camera_hz, int | float) and 0.0 < camera_hz < car.cfg.DRIVE_LOOP_HZ
    return MonitorHealth(
        frozen_s=car.config.frozen_s,
        max_age_s=car.config.max_score_age_s,
        share=camera_hz / car.cfg.DRIVE_LOOP_HZ if slower else 1.0,
        noise_free=bool(getattr(car.cfg, "DONKEY_GYM", False)),
    )


def add_learning(car: Assembly) -> None:
    """Without a bundle: the signs that need no nets, learned while the car drives."""
    if not car.config.learns:
        return
    from donkey_aicc.parts.learning_monitor import FILE_NAME, LearningMonitor

    keep_at = None if car.simulated else Path(car.cfg.DATA_PATH).parent / FILE_NAME
    part = LearningMonitor(monitor_health(car), car.cfg.DRIVE_LOOP_HZ, keep_at)
    read = [channels.FRAME, channels.STEERING, channels.THROTTLE, channels.INJECT_PROTOCOL]
    read += [channels.UNSAFE_MARK, channels.MODE]
    said = dict.fromkeys((channels.STATUS, channels.HEALTH, channels.ALARM, channels.REASON), "str")
    car.V.add(part, inputs=read, outputs=list(said))
    car.recorded |= said
