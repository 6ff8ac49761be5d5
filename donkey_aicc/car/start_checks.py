"""Mistakes that end the program before the car moves, in one line each."""

import sys
from pathlib import Path
from types import TracebackType

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.empty_tub import clear, inputs_of, is_empty
from donkey_aicc.car.last_drive import damage, say_last_drive
from donkey_aicc.errors import AiccError, ConfigError

_given_inject: str | None = None


def begin() -> None:
    """The first call in an installed manage.py, before it reads its command line."""
    plain_errors()
    take_inject_option(sys.argv)


def plain_errors() -> None:
    """From now on a user's mistake ends the program with one line and exit code 2 instead of a traceback."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, AiccError):
            sys.__excepthook__(kind, error, trace)
            return
        print(f"donkey_aicc: {error}", file=sys.stderr)
        raise SystemExit(2)

    sys.excepthook = hook


def take_inject_option(arguments: list[str]) -> None:
    """Take `--inject WHAT` out of a command line whose own usage does not know it, and keep it for `given_inject`."""
    global _given_inject
    for number, word in enumerate(arguments):
        if word == "--inject":
            if number + 1 == len(arguments):
                raise ConfigError("--inject needs what to inject, such as dark:3@10s-25s")
            _given_inject = arguments[number + 1]
            del arguments[number : number + 2]
            return
        if word.startswith("--inject="):
            _given_inject = word.removeprefix("--inject=")
            del arguments[number]
            return


def given_inject() -> str | None:
    """What the command line of an installed car asked for; None if nothing."""
    return _given_inject


def check_settings(car: Assembly) -> None:
    """Settings that do not go together, or not with this vehicle."""
    if car.config.sim and not any(type(entry["part"]).__name__ == "SimulatorPart" for entry in car.V.parts):
        raise ConfigError("AICC_SIM = True works in a car made by donkey-aicc createcar; this manage.py never adds the simulator")
    if car.config.governor != "off" and car.config.bundle is None:
        raise ConfigError(f"AICC_GOVERNOR = {car.config.governor!r} needs a monitor: set AICC_BUNDLE")
    _check_buttons(car)


def _check_buttons(car: Assembly) -> None:
    """One button, one meaning; and the web page's button that ends every fault stays."""
    keys = ("inject_joystick_button", "inject_stop_button", "mark_joystick_button")
    for button in {getattr(car.config, key) for key in keys} - {None}:
        same = [f"AICC_{key.upper()}" for key in keys if getattr(car.config, key) == button]
        if len(same) > 1:
            raise ConfigError(f"{' and '.join(same)} must be different buttons, got {button!r}")
    if car.config.mark_button == "w5" and car.web_buttons_inject:
        raise ConfigError(
            "AICC_MARK_BUTTON must be one of w1, w2, w3, w4 while the web buttons inject faults, got 'w5', which ends them; "
            "or set AICC_INJECT_BUTTONS = False"
        )


def check_tub_takes(car: Assembly, inputs: list[str]) -> None:
    """donkeycar refuses, with an assertion, to go on with a tub that was begun with other channels."""
    tub = Path(car.cfg.DATA_PATH)
    if getattr(car.cfg, "AUTO_CREATE_NEW_TUB", False) or not (tub / "manifest.json").is_file():
        say_last_drive(tub)
        return
    if is_empty(tub):  # nothing is lost, and donkeycar could not go on with it either
        clear(tub)
        return
    if found := damage(tub):
        raise AiccError(
            f"the tub in {car.cfg.DATA_PATH} did not end properly: {found}. donkeycar cannot add to it: see what is left with "
            "donkey-aicc check, and move it away, or set AUTO_CREATE_NEW_TUB = True in myconfig.py"
        )
    if inputs_of(tub) != inputs:
        raise AiccError(
            f"the tub in {car.cfg.DATA_PATH} was recorded with other channels, and donkeycar cannot add to it: "
            "move it away, or set AUTO_CREATE_NEW_TUB = True in myconfig.py"
        )
