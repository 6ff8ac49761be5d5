"""The Chromium that is installed here, driven by playwright; it fetches nothing and reaches nobody but this machine."""

import shutil
import time
from contextlib import contextmanager

COMMANDS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
# name -> width, height, pixels of the screen per pixel of the page, a finger instead of a mouse
SIZES = {
    "phone": (390, 844, 2, True),
    "phone_side": (844, 390, 2, True),
    "laptop": (1366, 768, 1, False),
    "projector": (1920, 1080, 1, False),
}


def chromium_path():
    """Where it is; None without one."""
    return next((found for name in COMMANDS if (found := shutil.which(name))), None)


@contextmanager
def started():
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A page in a browser of its own: what it complained about, and whom it asked for something."""

    def __init__(self, browser, size="laptop", theme="light"):
        width, height, density, touch = SIZES[size]
        self._context = browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=density,
            has_touch=touch,
            is_mobile=touch,
            color_scheme=theme,
        )
        self.page = self._context.new_page()
        self.complaints, self.asked = [], []
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def until(self, expression, timeout_s=20.0):
        """Wait until this JavaScript is true. (playwright's own waiting needs eval, which our pages forbid.)"""
        end = time.monotonic() + timeout_s
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.page.wait_for_timeout(50)

    def accessibility_faults(self):
        """What axe-core finds beyond small matters: (impact, rule, the element)."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [(each["impact"], each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] != "minor"]

    def close(self):
        self._context.close()
