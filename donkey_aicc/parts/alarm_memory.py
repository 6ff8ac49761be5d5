"""AlarmMemory: what a driver told the alarm, kept beside the bundle for the next drive; bounded, written whole or not."""

import datetime
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmStream
from donkey_aicc.alarm.signs import SIGN_NAMES
from donkey_aicc.errors import AiccError
from donkey_aicc.files import sha256_of, write_json
from donkey_aicc.untrusted import read_untrusted_json

logger = logging.getLogger(__name__)
FILE_NAME = "alarm_memory.json"


def _today() -> str:
    return datetime.date.today().isoformat()


class AlarmMemory:
    """False alarms count until quiet laps have made up for them; what is nominal today counts today."""

    def __init__(self, calibrator: Path, day: Callable[[], str] = _today) -> None:
        """calibrator: the file that the alarm comes from; another one makes the memory void."""
        self._path, self._day = calibrator.with_name(FILE_NAME), day
        self._made_for = sha256_of(calibrator)

    def recall(self, stream: AlarmStream) -> str:
        """Put into the stream what was kept; says what that is. A damaged file or one for another calibrator is forgotten."""
        try:
            stored = read_untrusted_json(self._path)
            if stored["calibrator"] != self._made_for:
                return ""
            calmed = {str(level): float(value) for level, value in stored["calmed"].items()}
            shift = {str(name): float(value) for name, value in stored["shift"].items()} if stored["day"] == self._day() else {}
        except FileNotFoundError:
            return ""
        except (OSError, AiccError, KeyError, TypeError, ValueError, AttributeError) as error:
            logger.warning("%s cannot be used and is forgotten: %r", self._path, error)
            return ""
        stream.policy.calm_again(calmed)
        stream.today.tell(np.array([shift.get(name, 0.0) for name in SIGN_NAMES]))
        said = ["calmer after false alarms"] if any(stream.policy.calmed().values()) else []
        return " and ".join(said + (["set for today"] if shift else []))

    def keep(self, stream: AlarmStream) -> None:
        """Off the drive loop: a memory card may take a second."""
        shift = dict(zip(SIGN_NAMES, stream.today.shift[0].tolist(), strict=True))
        found = {"calibrator": self._made_for, "calmed": stream.policy.calmed(), "day": self._day(), "shift": shift}
        threading.Thread(target=self._write, args=(found,), name="alarm memory", daemon=False).start()

    def _write(self, found: dict[str, Any]) -> None:
        try:
            write_json(self._path, found)
        except (OSError, ValueError) as error:  # a read-only bundle: the next drive starts as calibrated
            logger.warning("what you told the alarm is not kept for the next drive: %s", error)
