"""One progress display for all long work: a bar with ETA on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

LINE_EVERY_S = 10.0


class Progress:
    """`with Progress("scoring", total=1000) as bar: bar.advance(1, loss=0.3)`."""

    def __init__(self, title: str, total: int | None = None, unit: str = "it") -> None:
        self._title, self._total, self._unit = title, total, unit
        self._done = 0
        self._started = self._last_line = time.monotonic()
        self._bar = tqdm(total=total, desc=title, unit=unit, leave=False) if sys.stderr.isatty() else None

    def advance(self, steps: int = 1, **values: float | str) -> None:
        """Count steps; values are shown behind the bar."""
        self._done += steps
        if self._bar is not None:
            if values:
                self._bar.set_postfix(values, refresh=False)
            self._bar.update(steps)
        elif time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._last_line = time.monotonic()
            print(self._line(values), file=sys.stderr, flush=True)

    def _line(self, values: dict[str, float | str]) -> str:
        rate = self._done / max(time.monotonic() - self._started, 1e-9)
        of_total, left = "", ""
        if self._total:
            of_total = f"/{self._total}"
            left = f", {max(self._total - self._done, 0) / max(rate, 1e-9):.0f} s left"
        shown = "".join(
            f", {name} {value:.4g}" if isinstance(value, float) else f", {name} {value}" for name, value in values.items()
        )
        return f"{self._title}: {self._done}{of_total} {self._unit}, {rate:.1f} {self._unit}/s{left}{shown}"

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def progress(items: Iterable[Item], title: str, total: int | None = None, unit: str = "it") -> Iterator[Item]:
    """Iterate over items with a progress display."""
    if total is None and hasattr(items, "__len__"):
        total = len(items)  # type: ignore[arg-type]
    with Progress(title, total, unit) as bar:
        for item in items:
            yield item
            bar.advance()
