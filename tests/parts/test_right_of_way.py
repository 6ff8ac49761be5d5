"""The scorer waits while the drive loop computes, but never for long."""

import threading
import time

from donkey_aicc.parts.right_of_way import RightOfWay


def test_the_scorer_waits_until_the_loop_is_done():
    first, passed = RightOfWay(patience_s=30.0), threading.Event()
    waiting = threading.Thread(target=lambda: (first.give(), passed.set()))
    with first:
        waiting.start()
        assert not passed.wait(0.1)
    assert passed.wait(10.0)
    waiting.join()


def test_a_loop_that_never_ends_does_not_hold_up_the_scorer():
    first = RightOfWay(patience_s=0.01)
    with first:
        started = time.monotonic()
        first.give()
    assert time.monotonic() - started < 10.0


def test_it_is_free_again_after_an_exception():
    first = RightOfWay(patience_s=30.0)
    try:
        with first:
            raise ValueError
    except ValueError:
        pass
    first.give()  # would wait half a minute
