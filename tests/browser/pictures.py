"""Pictures of the cockpit for the docs: a car of ours drives in the simulator while the installed Chromium looks on.

python -m tests.browser.pictures --out docs/images           # phone, laptop and projector
python -m tests.browser.pictures --out docs/images --gif     # and cockpit.gif: a lap, a fault, the governor stops the car

The drive goes on only as far as the next picture, and its clock is that of the simulated world: a busy computer gives the
same pictures, only later.
"""

import argparse
import io
import os
import signal
import tempfile
import threading
from pathlib import Path

from PIL import Image

from donkey_aicc.car.install_parts import create_car
from donkey_aicc.web import cockpit_exchange
from tests import car_under_test as cut
from tests.browser.chromium import Tab, started

TOKEN = "token-for-pictures"
RATE_HZ = 20
STILLS = (("laptop", "light"), ("projector", "dark"), ("phone", "light"), ("phone_side", "dark"))
STILL_FAULT, GIF_FAULT = ("frost", "4"), ("dark", "3")  # one shows the heat map well, the other the dial
CALM_S, FAULT_S = 10.0, 3.0
GIF_WIDTH, GIF_COLOURS, GIF_LIMIT = 960, 192, 3_000_000
GIF_STEPS = [1.5] * 10 + [0.4] * 12  # seconds of each picture: a lap in large steps, what the fault does in small ones
GIF_START, GIF_SHOWN_MS = 10, 450


class SteppedFeed(cockpit_exchange.CockpitFeed):
    """The drive waits in it until somebody wants it to go on."""

    now: "SteppedFeed | None" = None

    def __init__(self, **about):
        super().__init__(clock=lambda: self._number / RATE_HZ, **about)
        self.wanted, self.changed = 1, threading.Condition()
        SteppedFeed.now = self

    def run(self, *values):
        super().run(*values)
        with self.changed:
            self.changed.notify_all()
            self.changed.wait_for(lambda: self._number < self.wanted)

    def go(self, seconds):
        """Let so much time of the simulated world pass."""
        with self.changed:
            self.wanted = self._number + round(seconds * RATE_HZ)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self._number >= self.wanted)


def opened(browser, address, size, theme):
    tab = Tab(browser, size, theme)
    tab.page.set_default_timeout(300_000)  # a busy computer takes its time for a picture
    for _ in range(600):
        try:
            tab.page.goto(address)
            break
        except Exception:  # still starting; playwright has one kind of error for everything
            tab.page.wait_for_timeout(300)
    tab.until("!document.getElementById('pad').disabled", 300)
    return tab


def drive_on(tab, seconds):
    SteppedFeed.now.go(seconds)
    tab.page.wait_for_timeout(600)  # until the page has the newest message and has drawn it


def inject(tab, fault):
    for field, value in zip(("#protocol", "#severity"), fault, strict=True):
        tab.page.select_option(field, value)
    press(tab, "#start")


def press(tab, selector):
    tab.page.evaluate(f"document.querySelector('{selector}').click()")  # a hidden reply may lie over it
    tab.page.wait_for_timeout(500)


def take_stills(browser, address, out):
    tabs = {f"cockpit_{size}_{theme}.png": opened(browser, address, size, theme) for size, theme in STILLS}
    for tab in tabs.values():
        tab.page.locator("#heat-on").check()
    drive_on(tab, CALM_S)
    inject(tab, STILL_FAULT)
    drive_on(tab, FAULT_S)
    tab.page.wait_for_timeout(4000)  # the reply to the button has gone
    for name, tab in tabs.items():
        tab.page.screenshot(path=out / name)
        print(out / name, flush=True)


def take_gif(browser, address, file):
    tab, frames = opened(browser, address, "laptop", "light"), []
    drive_on(tab, CALM_S)
    tab.page.select_option("#governor", "stop")
    tab.page.wait_for_timeout(4000)  # the reply has gone
    for number, seconds in enumerate(GIF_STEPS):
        if number == GIF_START:
            inject(tab, GIF_FAULT)
        drive_on(tab, seconds)
        frames.append(Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB"))
    press(tab, "#stop")
    tab.page.select_option("#governor", "off")
    tab.page.wait_for_timeout(500)
    tab.close()
    small = [
        frame.resize((GIF_WIDTH, round(frame.height * GIF_WIDTH / frame.width)), Image.Resampling.LANCZOS) for frame in frames
    ]
    both = Image.new("RGB", (GIF_WIDTH, 2 * small[0].height))  # colours of a calm and of a faulty moment
    both.paste(small[0], (0, 0))
    both.paste(small[-1], (0, small[0].height))
    palette = both.quantize(GIF_COLOURS, Image.Quantize.MAXCOVERAGE)  # else the rare colours of small things are lost
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in small]
    drawn[0].save(
        file, save_all=True, append_images=drawn[1:], duration=[GIF_SHOWN_MS] * (len(drawn) - 1) + [3000], loop=0, optimize=True
    )
    assert file.stat().st_size < GIF_LIMIT, f"{file} has {file.stat().st_size} bytes, more than {GIF_LIMIT}"
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")


def take_all(address, out, gif):
    """In a thread beside the drive, which needs the main one for its signals."""
    try:
        with started() as browser:
            if gif:
                take_gif(browser, address, out / "cockpit.gif")
            take_stills(browser, address, out)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        with SteppedFeed.now.changed:
            SteppedFeed.now.wanted = 1 << 60  # as far as it likes
            SteppedFeed.now.changed.notify_all()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gif", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    out = args.out.resolve()
    cockpit_exchange.CockpitFeed = SteppedFeed
    with tempfile.TemporaryDirectory() as folder:
        car, port = create_car(Path(folder) / "car"), cut.free_port()
        settings = {"AICC_WEB_TOKEN": TOKEN, "AICC_SCORER_THREADED": False, "AICC_GRADE": "half"}
        settings["AICC_MAX_SCORE_AGE_S"] = 60.0  # the scores do not grow old while the drive waits for its picture
        cut.write_settings(car, WEB_CONTROL_PORT=port, **settings)
        threading.Thread(target=take_all, args=(f"http://localhost:{port}/aicc#token={TOKEN}", out, args.gif)).start()
        os.chdir(car)
        cut.drive(car, "--headless")


if __name__ == "__main__":
    main()
