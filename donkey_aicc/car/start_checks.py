"""What is checked and said before the car moves: a mistake ends the program in one line, one line says what is on.

donkeycar makes a tub at every start and cannot open it again if no record was written: none such is left or stands in the way.
A tub that lost its power in the middle of a write is said, and donkeycar does not go on with it.
"""

import atexit
import shutil
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.bundles import foreign_warning, home_of_car
from donkey_aicc.car.generation import dead_drive_page
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.tubs.image_file import OK, decode_image_file
from donkey_aicc.untrusted import MAX_JSON_BYTES, json_or_none, read_bounded

if TYPE_CHECKING:
    from donkey_aicc.car.monitor_loading import Monitor
    from donkey_aicc.parts.injection_control import InjectionControl

RECORD_HINT = "Press Record, and set RECORD_DURING_AI = True to record what the pilot does"
_BEGUN = ("manifest.json", "catalog_0.catalog", "catalog_0.catalog_manifest", "drive.json", "images")


def is_empty_tub(tub: Path) -> bool:
    """A tub that donkeycar has begun and never written to."""
    if not (tub / "manifest.json").is_file() or any(catalog.stat().st_size for catalog in tub.glob("*.catalog")):
        return False
    return not any((tub / "images").glob("*"))


def tub_inputs(tub: Path) -> list[str] | None:
    """The channels that a tub was begun with; None where its manifest cannot be read."""
    try:
        stored = json_or_none(read_bounded(tub / "manifest.json", MAX_JSON_BYTES).split(b"\n")[0])
    except (AiccError, OSError):
        return None
    return stored if isinstance(stored, list) else None


def clear_empty_tub(tub: Path) -> None:
    """Take away what donkeycar began; a file of the user's stays, and the folder with it."""
    for name in _BEGUN:
        path = tub / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def leave_no_empty_tub(cfg: Any) -> None:
    """When the program ends: say that nothing was recorded, and leave no tub that cannot be opened."""
    data = Path(cfg.DATA_PATH)
    before = set(data.glob("*/manifest.json"))

    def tidy() -> None:
        begun = [data, *(manifest.parent for manifest in data.glob("*/manifest.json") if manifest not in before)]
        for tub in begun:
            if is_empty_tub(tub):
                clear_empty_tub(tub)
                if tub != data and not any(tub.iterdir()):
                    tub.rmdir()
                print(f"Nothing was recorded, so no tub is left in {tub}. {RECORD_HINT}")

    atexit.register(tidy)


_TAIL_BYTES = 1 << 16  # of a catalog: a record has about one thousand
_MANIFEST_LINES = 5


def tub_damage(tub: Path) -> str:
    """What is wrong with the end of a tub, as far as a short look shows it; empty if nothing is."""
    try:
        lines = read_bounded(tub / "manifest.json", MAX_JSON_BYTES).splitlines()
        if len(lines) < _MANIFEST_LINES or any(json_or_none(line) is None for line in lines):
            return "its manifest is cut short"
        catalogs = sorted(tub.glob("catalog_*.catalog"), key=lambda path: (len(path.name), path.name))
        tail = _tail(catalogs[-1]) if catalogs else b""
        if not tail:
            return "its catalog is missing or empty" if any((tub / "images").glob("*")) else ""
        last = json_or_none(tail.rstrip(b"\n").split(b"\n")[-1])
        if not tail.endswith(b"\n") or not isinstance(last, dict):
            return "its last record is cut short"
        lengths = json_or_none(read_bounded(catalogs[-1].with_suffix(".catalog_manifest"), MAX_JSON_BYTES))
        if not isinstance(lengths, dict) or sum(lengths.get("line_lengths", ())) != catalogs[-1].stat().st_size:
            return "its catalog and the list of its lines do not agree"
        return _picture(tub, last)
    except (AiccError, OSError, TypeError) as error:
        return f"it cannot be read ({error})"


def _tail(path: Path) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read(_TAIL_BYTES)


def _picture(tub: Path, record: dict[str, Any]) -> str:
    name = record.get("cam/image_array")
    if not isinstance(name, str):
        return ""
    return "" if decode_image_file(tub / "images" / Path(name).name).status == OK else "its last picture is cut short"


def say_last_drive(data: Path) -> None:
    """Before a drive: one line about the newest tub, if its end is damaged. Its other records are as they were."""
    tubs = [manifest.parent for manifest in data.glob("*/manifest.json")]
    newest = max(tubs, key=lambda tub: (tub / "manifest.json").stat().st_mtime, default=None)
    found = tub_damage(newest) if newest is not None else ""
    if found:
        print(f"The last drive, {newest}, did not end properly: {found}. See what is left: donkey-aicc check {newest}")


_given_inject: str | None = None


def begin() -> None:
    """The first call in an installed manage.py, before it reads its command line."""
    plain_errors()
    take_inject_option(sys.argv)


def plain_errors(program: str = "donkey_aicc") -> None:
    """From now on a user's mistake ends the program with one line and exit code 2 instead of a traceback."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        mistake = _mistake(error)
        if mistake is None:
            sys.__excepthook__(kind, error, trace)
            return
        print(f"{program}: {mistake}", file=sys.stderr)
        raise SystemExit(2)

    sys.excepthook = hook


def _mistake(error: BaseException) -> BaseException | None:
    """Ours, or a setting that donkeycar asked for in vain."""
    if isinstance(error, AttributeError) and type(error.obj).__module__ == "donkeycar.config":
        return ConfigError(lacks_setting(str(error.name)))
    return error if isinstance(error, AiccError) else None


def lacks_setting(name: str) -> str:
    """What to do about a key that donkeycar needs."""
    return f"config.py and myconfig.py lack {name}: take it from the config.py of a new car (donkey createcar)"


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
    if car.config.governor != "off" and car.config.models is None:
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
    if is_empty_tub(tub):  # nothing is lost, and donkeycar could not go on with it either
        clear_empty_tub(tub)
        return
    if found := tub_damage(tub):
        raise AiccError(
            f"the tub in {car.cfg.DATA_PATH} did not end properly: {found}. donkeycar cannot add to it: see what is left with "
            "donkey-aicc check, and move it away, or set AUTO_CREATE_NEW_TUB = True in myconfig.py"
        )
    if tub_inputs(tub) != inputs:
        raise AiccError(
            f"the tub in {car.cfg.DATA_PATH} was recorded with other channels, and donkeycar cannot add to it: "
            "move it away, or set AUTO_CREATE_NEW_TUB = True in myconfig.py"
        )


def say_at_start(car: Assembly, injection: "InjectionControl | None", monitor: "Monitor | None") -> None:
    """Print the line, and a warning where the monitor does not fit the car."""
    print("donkey_aicc: " + "; ".join([_monitor(car, monitor), _injection(car, injection), *car.said]), flush=True)
    if monitor is not None:
        warning = foreign_warning(monitor.bundle.path.name, monitor.bundle.manifest, home_of_car(car.config, car.cfg))
        if warning is not None:
            print(warning, flush=True)
    if (page := dead_drive_page()) is not None and any(type(e["part"]).__name__ == "LocalWebController" for e in car.V.parts):
        print(page, flush=True)
    if not getattr(car.cfg, "RECORD_DURING_AI", True):
        print("Not recorded while the pilot drives: RECORD_DURING_AI is False", flush=True)


def _monitor(car: Assembly, monitor: "Monitor | None") -> str:
    if monitor is None:
        return "monitor in learning mode because AICC_BUNDLE is None" if car.config.learns else "monitor off (AICC_BUNDLE)"
    lacks = "" if monitor.calibrator is not None else ", no calibrator"
    lacks += "" if monitor.bundle.manifest.has_predictor else ", no confidence because it was trained without labels"
    return f"monitor on ({monitor.bundle.path.name}{lacks}, {monitor.grade_said})"


def _injection(car: Assembly, injection: "InjectionControl | None") -> str:
    if injection is None:
        return "injection off"
    planned = f", planned {', '.join(map(str, injection.schedule))}" if injection.schedule else ""
    if injection.arm_s is None:
        return f"injection armed by the simulator{planned}"
    by = ["the web page or the cockpit"] if car.web_buttons_inject else []
    by += [f"the controller's {car.config.inject_joystick_button}"] if car.config.inject_joystick_button and car.joysticks else []
    return f"injection off until armed by {' or '.join(by)}, for {injection.arm_s:g} s at a time{planned}"
