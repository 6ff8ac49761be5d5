"""What the page may do to the drive, by name. An action that this car does not have is not in the table."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from donkey_aicc.errors import AiccError

# What was asked -> one line for the person who pressed; AiccError says why not.
Action = Callable[[Mapping[str, Any]], str]


class Controls:
    """Runs in the web server's thread, as donkeycar's own buttons do."""

    def __init__(self, actions: Mapping[str, Action], let_go: Callable[[], None] = lambda: None) -> None:
        self._actions = dict(actions)
        self.let_go = let_go  # what is held by a page ends when it goes

    @property
    def names(self) -> list[str]:
        return list(self._actions)

    def act(self, given: Mapping[str, Any]) -> str:
        """Do what {"do": NAME, ...} asks."""
        name = given.get("do")
        action = self._actions.get(name) if isinstance(name, str) else None
        if action is None:
            raise AiccError(f"this car has no action {str(name)[:40]!r}; it has {', '.join(self._actions)}")
        return action(given)


class Hold:
    """A button that counts only while it is held: the page repeats itself, and silence lets go."""

    SILENCE_S = 1.0

    def __init__(
        self, press: Callable[[], None], release: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._press, self._release, self._clock = press, release, clock
        self._until: float | None = None

    def set(self, held: object) -> None:
        if held is True:
            if self._until is None:
                self._press()
            self._until = self._clock() + self.SILENCE_S
        else:
            self.let_go()

    def let_go(self) -> None:
        if self._until is not None:
            self._until = None
            self._release()

    def check(self) -> None:
        """Call it often."""
        if self._until is not None and self._clock() > self._until:
            self.let_go()


def flag(given: Mapping[str, Any], name: str) -> bool:
    """A true or false out of a message."""
    value = given.get(name)
    if not isinstance(value, bool):
        raise AiccError(f"{name} must be true or false, got {str(value)[:40]!r}")
    return value
