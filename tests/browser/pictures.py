"""Pictures of the cockpit for the docs: a car of ours drives in the simulator while the installed Chromium looks on.

python -m tests.browser.pictures --out docs/images           # phone, laptop and projector
python -m tests.browser.pictures --out docs/images --gif     # and cockpit.gif: a fault is injected and stopped
"""

import argparse
import io
import tempfile
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from donkey_aicc.car.new_car import create_car
from tests import car_under_test as cut
from tests.browser.chromium import Tab, started

TOKEN = "token-for-pictures"
STILLS = (("laptop", "light"), ("projector", "dark"), ("phone", "light"), ("phone_side", "dark"))
STILL_FAULT, GIF_FAULT = ("blur", "5"), ("dark", "3")  # one shows the heat map well, the other the dial
READY = "!document.getElementById('pad').disabled && !/–|warming|off/.test(document.getElementById('dial').innerText)"
STATE = "document.getElementById('facts').innerText.includes('{}')"
GIF_WIDTH, GIF_FRAME_MS, GIF_COLOURS, GIF_LIMIT = 960, 500, 96, 3_000_000


@contextmanager
def driving_car():
    """Address of the cockpit of a car that drives by itself. It scores in its loop, so that no score is old on a slow machine."""
    with tempfile.TemporaryDirectory() as folder:
        car, port = create_car(Path(folder) / "car"), cut.free_port()
        cut.write_settings(car, WEB_CONTROL_PORT=port, AICC_WEB_TOKEN=TOKEN, AICC_SCORER_THREADED=False)
        process = cut.start(car, "--headless")
        try:
            yield f"http://localhost:{port}/aicc#token={TOKEN}"
        finally:
            process.terminate()
            process.communicate(timeout=60)


def open_when_ready(tab, address):
    for _ in range(300):
        try:
            tab.page.goto(address)
            break
        except Exception:  # still starting; playwright has one kind of error for everything
            tab.page.wait_for_timeout(300)
    tab.until(READY, 300)


def press(tab, selector, seen):
    tab.page.evaluate(f"document.querySelector('{selector}').click()")  # a hidden reply may lie over it
    tab.until(STATE.format(seen), 60)


def start(tab, fault):
    for field, value in zip(("#protocol", "#severity"), fault, strict=True):
        tab.page.select_option(field, value)
    press(tab, "#start", ":".join(fault))


def take_stills(browser, address, out):
    for size, theme in STILLS:
        tab = Tab(browser, size, theme)
        open_when_ready(tab, address)
        tab.page.locator("#heat-on").check()
        tab.page.wait_for_timeout(20000)
        start(tab, STILL_FAULT)
        tab.page.wait_for_timeout(4000)
        tab.page.screenshot(path=out / f"cockpit_{size}_{theme}.png")
        press(tab, "#stop", "none")
        print(f"{out}/cockpit_{size}_{theme}.png", flush=True)
        tab.close()


def take_gif(browser, address, file):
    tab, frames = Tab(browser, "laptop"), []
    open_when_ready(tab, address)
    tab.page.wait_for_timeout(15000)  # strips that are half empty look poor
    for number in range(48):
        if number == 8:
            start(tab, GIF_FAULT)
        if number == 24:
            press(tab, "#stop", "none")
        frames.append(Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB"))
        tab.page.wait_for_timeout(GIF_FRAME_MS / 2)
    tab.close()
    small = [
        frame.resize((GIF_WIDTH, round(frame.height * GIF_WIDTH / frame.width)), Image.Resampling.LANCZOS) for frame in frames
    ]
    palette = small[20].quantize(GIF_COLOURS)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in small]
    drawn[0].save(file, save_all=True, append_images=drawn[1:], duration=GIF_FRAME_MS, loop=0, optimize=True)
    assert file.stat().st_size < GIF_LIMIT, f"{file} has {file.stat().st_size} bytes, more than {GIF_LIMIT}"
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gif", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with driving_car() as address, started() as browser:
        take_stills(browser, address, args.out)
        if args.gif:
            take_gif(browser, address, args.out / "cockpit.gif")


if __name__ == "__main__":
    main()
