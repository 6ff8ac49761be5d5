"""What the demo draws: intervals, certainty, and means inside and outside of the faults."""

import numpy as np

from donkey_aicc.demo.timelines import Timeline, draw_timeline, read_timeline, summary_rows


class MadeUpDrive:
    """40 ticks at 20 Hz; dark in the second half, where the confidence moves to one half."""

    cte_m = np.linspace(-0.2, 0.2, 40)
    columns = {
        "aicc/confidence": [None] * 4 + [[0.9, 0.1]] * 16 + [[0.5, 0.6]] * 20,
        "aicc/p_safe": [[0.95, 0.05]] * 40,
        "aicc/inject_protocol": [""] * 20 + ["dark"] * 20,
        "aicc/scores_valid": [False] * 4 + [True] * 36,
    }

    def __len__(self):
        return 40

    def values(self, key):
        return self.columns[key]

    def number(self, key):
        return np.concatenate([np.zeros(20), np.ones(20)])


def test_certainty_counts_both_ways_and_skips_what_is_unknown():
    timeline = read_timeline(MadeUpDrive(), 20.0)
    assert np.isnan(timeline.certainty[:4]).all()
    np.testing.assert_allclose(timeline.certainty[4:20], 0.9)
    np.testing.assert_allclose(timeline.certainty[20:], 0.55)


def test_intervals_and_means():
    timeline = read_timeline(MadeUpDrive(), 20.0)
    assert timeline.intervals() == [("dark", 1.0, 1.95)]
    nominal, dark = summary_rows(timeline)
    assert nominal[0] == "nominal" and dark[0] == "dark"
    np.testing.assert_allclose(nominal[1:5], [0.9, 0.95, 0.0, 0.0])
    np.testing.assert_allclose(dark[1:5], [0.55, 0.95, 1.0, 1.0])


def test_the_same_fault_twice_is_two_intervals():
    protocol = ["blur"] * 10 + [""] * 20 + ["blur"] * 10
    empty = np.zeros(40)
    timeline = Timeline(np.arange(40) / 20, empty, empty, empty, empty, empty, protocol, np.ones(40, bool))
    assert [name for name, _, _ in timeline.intervals()] == ["blur", "blur"]


def test_picture_is_written(tmp_path):
    draw_timeline(read_timeline(MadeUpDrive(), 20.0), tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").read_bytes().startswith(b"\x89PNG")
