"""Starts donkey-aicc commands as processes that have the slow imports behind them: a kill then hits work, and none is waited for.

A server of its own forks them, one at a time, because a process with threads (pytest) must not be forked.
"""

import atexit
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

SLOW_IMPORTS = ("torch._dynamo", "sklearn.linear_model", "sklearn.metrics", "scipy.stats", "scipy.optimize", "matplotlib.pyplot")
SLOW_IMPORTS += ("onnx", "onnxruntime", "cv2", "joblib")


class Preloaded:
    """`start` a command, then `wait` for its end; killing it meanwhile is up to the caller."""

    def __init__(self, said: Path) -> None:
        self._said = said
        command = [sys.executable, "-m", "tests.reliability.preloaded"]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._server.stdout and self._server.stdout.readline() == b"ready\n"

    def start(self, words: Sequence[str]) -> int:
        """The process id, which is also that of its session."""
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps([str(self._said), *words]).encode() + b"\n")
        return int(self._server.stdout.readline())

    def wait(self, seconds: float) -> int | None:
        """Its exit code (a signal is negative), or None if it still runs."""
        assert self._server.stdout
        ready, _, _ = select.select([self._server.stdout], [], [], seconds)
        return int(self._server.stdout.readline()) if ready else None

    @property
    def said(self) -> str:
        return self._said.read_text(errors="replace")

    def close(self) -> None:
        self._server.communicate()


def serve() -> int:
    """In the server: fork for each line."""
    for name in SLOW_IMPORTS:
        __import__(name)
    from donkey_aicc.cli import main

    print("ready", flush=True)
    for line in sys.stdin:
        said, *words = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            out = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            for number, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
                os.dup2(number, target)
            code = main(words)
            sys.stdout.flush()
            threading._shutdown()  # as Python itself does at its end
            atexit._run_exitfuncs()
            os._exit(code)  # libraries loaded before the fork would wait for threads that only the server has
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(serve())
