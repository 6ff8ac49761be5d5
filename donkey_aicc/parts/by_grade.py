"""ByGrade: one part per grade of scoring, of which the one runs whose grade the scorer has now."""

from collections.abc import Callable, Mapping
from typing import Any


class ByGrade:
    """Stands for the part of the current grade: a number means what it was fitted for, also after a step down."""

    def __init__(self, parts: Mapping[str, Any], grade: Callable[[], str]) -> None:
        self._parts, self._grade = dict(parts), grade

    @property
    def now(self) -> Any:
        """The part whose turn it is."""
        return self._parts[self._grade()]

    def run(self, *inputs: Any) -> Any:
        return self.now.run(*inputs)

    def shutdown(self) -> None:
        for part in self._parts.values():
            part.shutdown()

    def reset(self) -> None:
        """The next frame starts a new sequence."""
        for part in self._parts.values():
            part.reset()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.now, name)
