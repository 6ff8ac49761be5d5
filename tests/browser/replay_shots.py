"""Screenshots of the replay page for the docs: python -m tests.browser.replay_shots TUB SECONDS docs/images"""

import sys
from pathlib import Path

from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import replay_page
from tests.browser.chromium import SIZES, Tab, started
from tests.served_page import served


def main(tub: str, seconds: float, folder: str) -> None:
    """One picture per size, and one of two runs side by side on a projector."""
    run = read_run(tub)
    with started() as browser:
        for runs, sizes in (([run], SIZES), ([run, run], ["projector"])):
            with served(replay_page(runs, [None] * len(runs))) as address:
                for size in sizes:
                    tab = Tab(browser, size, "dark" if size == "projector" else "light")
                    tab.page.goto(address)
                    tab.until("document.body.dataset.ready === 'yes'")
                    move = "(node, t) => { node.value = t; node.dispatchEvent(new Event('input')); }"
                    tab.page.locator("#slider").evaluate(move, seconds)
                    tab.page.wait_for_timeout(1500)
                    tab.page.screenshot(path=Path(folder) / f"replay_{'two_' if len(runs) > 1 else ''}{size}.png")
                    tab.close()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
