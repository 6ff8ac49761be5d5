import numpy as np

from donkey_aicc.scoring.frame_stats import Ring


def test_the_window_holds_the_last_values_in_order():
    ring = Ring(2, 4)
    for value in range(11):
        ring.append(np.array([value, -value]))
        expected = list(range(max(0, value - 3), value + 1))
        assert ring.window().tolist() == [expected, [-x for x in expected]]


def test_values_may_be_vectors():
    ring = Ring(1, 2, (3,))
    for value in range(3):
        ring.append(np.full((1, 3), value))
    assert ring.window().tolist() == [[[1, 1, 1], [2, 2, 2]]]


def test_other_lanes_are_dropped():
    ring = Ring(3, 2)
    ring.append(np.array([1, 2, 3]))
    ring.keep(np.array([2]))
    ring.append(np.array([4]))
    assert ring.window().tolist() == [[3, 4]]
