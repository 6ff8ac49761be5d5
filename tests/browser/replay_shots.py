"""Screenshots of the replay page for the docs: python -m tests.browser.replay_shots TUB TUB2 SECONDS docs/images"""

import sys
from pathlib import Path

from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import replay_page
from tests.browser.chromium import Tab, started
from tests.served_page import served

ONE, TWO = (("laptop", "light"), ("phone", "light")), (("projector", "dark"),)


def main(first: str, second: str, seconds: float, folder: str) -> None:
    """The first drive on a laptop and a phone, and both side by side on a projector."""
    runs = [read_run(first), read_run(second)]
    with started() as browser:
        for shown, sizes in ((runs[:1], ONE), (runs, TWO)):
            with served(replay_page(shown, [None] * len(shown))) as address:
                for size, theme in sizes:
                    tab = Tab(browser, size, theme)
                    tab.page.set_default_timeout(300_000)  # a busy computer takes its time for a picture
                    tab.page.goto(address)
                    tab.until("document.body.dataset.ready === 'yes'")
                    move = "(node, t) => { node.value = t; node.dispatchEvent(new Event('input')); }"
                    tab.page.locator("#slider").evaluate(move, seconds)
                    tab.page.wait_for_timeout(1500)
                    tab.page.screenshot(path=Path(folder) / f"replay_{'two_' if len(shown) > 1 else ''}{size}.png")
                    tab.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
