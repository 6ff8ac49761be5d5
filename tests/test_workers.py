"""Workers end with the process that started them, whatever ends it, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

BUSY = """
import os, sys, time
from donkey_aicc.workers import Team

def work(number):
    open(f"{sys.argv[1]}/{os.getpid()}", "w").close()
    time.sleep(0.05 if number % 2 else 60)
    return number

if __name__ == "__main__":
    for _ in Team(3).run(work, ((number,) for number in range(1000))):
        pass
"""


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(tmp_path, number):
    seen, shared = tmp_path / "seen", tmp_path / "shared"
    for folder in (seen, shared):
        folder.mkdir()
    script = tmp_path / "busy.py"
    script.write_text(BUSY)
    environment = {**os.environ, "JOBLIB_TEMP_FOLDER": str(shared), "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, str(script), str(seen)], env=environment)
    try:
        assert until(lambda: len(list(seen.iterdir())) >= 2)
        family = [child.pid for child in psutil.Process(parent.pid).children(recursive=True)]
        parent.send_signal(number)
        parent.wait(60)
        assert len(family) >= 3
        assert until(lambda: not any(alive(pid) for pid in family), 30), "workers went on without their parent"
        assert until(lambda: not list(shared.iterdir()))
    finally:
        parent.kill()


def test_every_call_gives_its_result_once():
    from donkey_aicc.workers import Team

    assert sorted(Team(2).run(pow, ((number, 2) for number in range(7)))) == [0, 1, 4, 9, 16, 25, 36]
