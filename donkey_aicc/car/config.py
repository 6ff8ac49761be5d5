"""The AICC_* keys of a car's myconfig.py -> one validated, frozen object.

A new key is one line in `AiccConfig`: the field `frozen_s` is the key AICC_FROZEN_S. Its annotation is the type check,
`setting` holds the default, the range and the explanation.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from donkey_aicc.errors import ConfigError
from donkey_aicc.limits import DIRECT, ESC_KINDS
from donkey_aicc.scoring.settings import GRADES

PREFIX = "AICC_"
NO_MONITOR = "off"  # as AICC_BUNDLE


def setting(
    default: Any, help: str, *, at_least: float | None = None, at_most: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """A dataclass field with its rule; `help` is one line for a person."""
    metadata = {"help": help, "at_least": at_least, "at_most": at_most, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class AiccConfig:
    """Every setting of ours, checked on construction."""

    sim: bool = setting(False, "drive the embedded simulator instead of camera and motors")
    sim_track: str = setting("loop", "the simulator's track: a shipped name or seed:<number>")
    sim_seed: int = setting(0, "seed of noise, light and wander; same seed and commands, same drive", at_least=0)
    sim_realtime: bool = setting(False, "pace the simulator by the wall clock instead of one step per drive loop")
    sim_put_back: bool = setting(
        True, "at a wall put the car back on the track and go on in a new tub session; False ends the drive there"
    )
    sim_esc: str = setting(DIRECT, "what the simulated car's speed controller makes of a negative throttle", choices=ESC_KINDS)
    control_threads: int = setting(1, "CPU threads for the networks in the drive loop", at_least=1, at_most=64)

    inject: str | None = setting(None, "faults to inject, such as dark:3 or bias:2@10s-25s,blur:4@lap2")
    inject_seed: int = setting(0, "seed of the injected faults", at_least=0)
    inject_arm_s: float = setting(30.0, "on a real car, seconds that injection stays armed", at_least=0.1, at_most=600.0)
    inject_user_mode: bool = setting(False, "inject also while the user drives")
    inject_max_throttle: float | None = setting(
        None,
        "maximum throttle while a command is disturbed; None: 0.5 on a real car, 1 in a simulator",
        at_least=0.01,
        at_most=1.0,
    )
    inject_buttons: bool | None = setting(
        None, "web buttons w1-w5: dark, blur, bias, latency, stop; None: only in simulators; a real car needs True"
    )
    inject_button_severity: int = setting(3, "severity of faults started by a button", at_least=1, at_most=5)
    inject_joystick_button: str | None = setting(None, "joystick button that arms, then steps through the protocols")
    inject_stop_button: str | None = setting(None, "joystick button that ends every fault at once")
    inject_parameters: dict | None = setting(None, 'changes to the severity table: {"dark": {"luminance_factor": 0.2}}')
    mark_button: str | None = setting(
        None, "web button that records the frames as unsafe: a click begins, another ends", choices=("w1", "w2", "w3", "w4", "w5")
    )
    mark_joystick_button: str | None = setting(None, "joystick button that records the frames as unsafe while it is held")
    record_clean: bool = setting(False, "store the frame without faults too, as aicc/clean_image")

    cockpit: bool = setting(True, "the cockpit at /aicc on the car's web page")
    web_token: str | None = setting(None, "whoever has it may use the cockpit's buttons; None: a new one at every start")
    web_view: str = setting(
        "open", "who may look at the cockpit: everybody (open) or only with the token", choices=("open", "token")
    )

    watchdog: bool = setting(True, "a process that brings a real car's motor to neutral if the drive loop dies or hangs")
    web_silence_s: float = setting(
        0.5,
        "a web page's throttle falls to zero after so many seconds of silence; 0: never",
        at_least=0.0,
        at_most=60.0,
    )

    bundle: str | None = setting(
        None,
        "models of the monitor: a folder, or a shipped bundle by name; None: learning mode, without nets; off: no monitor",
    )
    plugins: str | None = setting(
        None, "files or modules of your own that register predictors, scores, calibrators or faults, separated by commas"
    )
    trusted_key: str | None = setting(None, "public key of donkey-aicc sign: only bundles signed with it drive; None: any bundle")
    scorer_threaded: bool = setting(True, "score in a thread; False: inside the drive loop, for drives faster than real time")
    scorer_threads: int = setting(1, "CPU threads for the world model", at_least=1, at_most=64)
    grade: str | None = setting(
        None, "grade of scoring; None: the best that this computer can do, measured at start", choices=GRADES
    )
    max_score_age_s: float = setting(1.5, "older scores count as missing", at_least=0.05, at_most=60.0)
    frozen_s: float = setting(
        0.5, "seconds without a new picture after which the camera counts as frozen", at_least=0.05, at_most=60.0
    )
    lane_half_width: float | None = setting(
        None, "|cte| at which the car has left its lane, in the unit of its cte; None: as the simulator has it", at_least=1e-6
    )
    today: bool = setting(
        False, "the first lap of every drive is normal: it sets what is nominal today; True only where somebody watches it"
    )
    alarm_laps: int | None = setting(
        None, "record so many normal laps for the alarm's thresholds, then end the recording", at_least=4, at_most=200
    )
    governor: str = setting(
        "off", "what the governor does at an alarm: nothing, say so, slow down or stop", choices=("off", "advise", "slow", "stop")
    )
    brake_throttle: float | None = setting(
        None, "throttle that brakes, -1 to 0, as donkey-aicc brake-test found it; None: never tried", at_least=-1.0, at_most=0.0
    )
    brake_s: float = setting(0.0, "seconds of braking from the usual speed to standstill", at_least=0.0, at_most=5.0)
    brake_lag_s: float = setting(0.0, "seconds that the car goes on braking after the brake", at_least=0.0, at_most=1.0)
    brake_kind: str = setting(DIRECT, "what the speed controller makes of a negative throttle", choices=ESC_KINDS)

    def __post_init__(self) -> None:
        kinds = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value = _checked(key_of(field), getattr(self, field.name), kinds[field.name], field.metadata)
            object.__setattr__(self, field.name, value)

    @property
    def learns(self) -> bool:
        """Without a bundle the monitor knows what needs no nets."""
        return self.bundle is None

    @property
    def models(self) -> str | None:
        """The bundle's name or folder; None in learning mode and without a monitor."""
        return None if self.bundle == NO_MONITOR else self.bundle

    @classmethod
    def from_donkey(cls, cfg: object) -> "AiccConfig":
        """Read all AICC_* keys of a donkeycar config; an unknown one is an error, because it would do nothing."""
        rate_hz = getattr(cfg, "DRIVE_LOOP_HZ", 20)  # donkeycar's own, but it stops our parts if it is no rate
        if type(rate_hz) not in (int, float) or not 0 < rate_hz < math.inf:
            raise ConfigError(f"DRIVE_LOOP_HZ must be a number > 0, got {rate_hz!r}")
        fields = {key_of(field): field.name for field in dataclasses.fields(cls)}
        given = {key: getattr(cfg, key) for key in dir(cfg) if key.startswith(PREFIX)}
        for key in given:
            if key not in fields:
                close = difflib.get_close_matches(key, fields, n=3)
                hint = f" Did you mean {' or '.join(close)}?" if close else ""
                raise ConfigError(f"unknown setting {key}.{hint} mycar_template/myconfig.py lists all settings")
        return cls(**{fields[key]: value for key, value in given.items()})


def key_of(field: dataclasses.Field) -> str:
    """The name a user writes in myconfig.py."""
    return PREFIX + field.name.upper()


@contextmanager
def speaking_of(key: str) -> Iterator[None]:
    """What a class refuses here, which knows nothing of keys, is said with the key that the value came from."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from error


def _checked(key: str, value: Any, kind: Any, rule: typing.Mapping[str, Any]) -> Any:
    """The value in its declared type, or a ConfigError with the key, the rule and the value."""
    allowed = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in allowed:
        return None
    expected = next(each for each in allowed if each is not type(None))
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 1e300 else math.inf  # a whole number may be longer than any float
    if rule["choices"] and value not in rule["choices"]:
        raise ConfigError(f"{key} must be one of {', '.join(rule['choices'])}; got {value!r}")
    if type(value) is not expected:
        raise ConfigError(f"{key} must be {_in_words(allowed)}, got {value!r}")
    if expected is float and not math.isfinite(value):
        raise ConfigError(f"{key} must be a finite number, got {value!r}")
    if rule["at_least"] is not None and value < rule["at_least"]:
        raise ConfigError(f"{key} must be >= {rule['at_least']}, got {value!r}")
    if rule["at_most"] is not None and value > rule["at_most"]:
        raise ConfigError(f"{key} must be <= {rule['at_most']}, got {value!r}")
    return value


def _in_words(allowed: tuple[Any, ...]) -> str:
    words = {
        bool: "True or False",
        int: "a whole number",
        float: "a number",
        str: "a text",
        type(None): "None",
        dict: "a dictionary",
    }
    return " or ".join(words.get(each, str(each)) for each in allowed)
