import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.near_duplicates import Dropped
from donkey_aicc.tubs.split_units import choose_method
from donkey_aicc.tubs.splits import Split, carve_validation, describe_split, drives_by_id, split_record, split_sequences


def drive(session, frames=4, first=0, tub="tub"):
    images = np.full((frames, 64, 64, 3), session % 256, np.uint8)
    indices = np.arange(first, first + frames)
    return make_drive(tub, f"s{session}", images, np.full((frames, 2), first / 1000), indices=indices)


def sessions(side):
    return {sequence.session_key for sequence in side}


def ids_of(split):
    return [[each.id for each in side] for side in (split.train, split.calibration, split.test)]


def test_twenty_five_drives_give_17_4_4():
    split = split_sequences([drive(i) for i in range(25)], seed=0)
    assert (len(split.train), len(split.calibration), len(split.test)) == (17, 4, 4)


def test_two_sequences_of_one_session_stay_together():
    sequences = [drive(i // 3, first=10 * (i % 3)) for i in range(36)]
    for seed in range(20):
        split = split_sequences(sequences, seed)
        assert not sessions(split.train) & (sessions(split.calibration) | sessions(split.test))
        assert not sessions(split.calibration) & sessions(split.test)
        assert sum(map(len, ids_of(split))) == 36


def test_same_seed_same_split_whatever_the_order():
    sequences = [drive(i) for i in range(12)]
    assert ids_of(split_sequences(sequences, 3)) == ids_of(split_sequences(sequences[::-1], 3))
    assert ids_of(split_sequences(sequences, 3)) != ids_of(split_sequences(sequences, 4))


def test_a_huge_drive_does_not_end_up_in_a_small_share():
    sequences = [drive(0, frames=900), drive(1, frames=50), drive(2, frames=50)]
    for seed in range(10):
        assert sessions(split_sequences(sequences, seed).train) == {("tub", "s0")}


def test_no_side_is_left_with_scraps_while_there_are_drives_that_can_be_scored():
    sequences = [drive(i, frames=200) for i in range(6)] + [drive(i, frames=4) for i in range(6, 40)]
    for seed in range(10):
        split = split_sequences(sequences, seed)
        assert all(max(map(len, side)) == 200 for side in (split.train, split.calibration, split.test))


def test_too_few_sessions_say_how_many_are_needed():
    with pytest.raises(AiccError, match="at least 3 tub sessions, got 4 sequences from 2"):
        split_sequences([drive(0), drive(0, first=10), drive(1), drive(1, first=10)], seed=0)


def test_a_copied_tub_on_two_sides_is_refused():
    original, copy = drive(1), drive(1, tub="copy")
    with pytest.raises(AiccError, match="duplicate"):
        Split([original], [drive(2)], [copy])
    with pytest.raises(AiccError, match="session"):
        Split([original], [drive(2)], [drive(1, first=50)])


def test_validation_comes_out_of_the_training_share():
    split = split_sequences([drive(i) for i in range(25)], seed=0)
    rest, validation, dropped = carve_validation(split.train, seed=0)
    assert dropped == Dropped()
    assert sessions(rest) | sessions(validation) == sessions(split.train) and not sessions(rest) & sessions(validation)
    assert len(validation) in (2, 3)
    with pytest.raises(AiccError, match="at least 2 tub sessions"):
        carve_validation([drive(0)], seed=0)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.2, 0.0), (0.6, 0.3, 0.3)])
def test_impossible_shares_are_refused(shares):
    with pytest.raises(ConfigError, match="shares"):
        split_sequences([drive(i) for i in range(5)], seed=0, shares=shares)


# One session, as people record it.


def one_session(lengths, pause_s, pictures=None):
    """Drives of one session at 20 Hz with a pause after each; every frame a picture of its own unless given."""
    rng = np.random.default_rng(0)
    found, index, time_s = [], 0, 0.0
    for length in lengths:
        own = rng.integers(0, 256, (length, 64, 64, 3), dtype=np.uint8)
        images = own if pictures is None else pictures[index : index + length]
        indices = np.arange(index, index + length)
        times_s = time_s + np.arange(length) / 20.0
        actions = rng.uniform(-1, 1, (length, 2))
        found.append(make_drive("tub", "s0", images, actions, indices=indices, times_s=times_s))
        index, time_s = index + length, times_s[-1] + pause_s
    return found


def all_sides(sequences, seed, mode="auto", guard_s=3.0):
    method = choose_method(sequences, mode, guard_s)
    split = split_sequences(sequences, seed, method=method)
    train, validation, dropped = carve_validation(split.train, seed, method=method)
    sides = {"train": train, "validation": validation, "calibration": split.calibration, "test": split.test}
    return method, sides, dropped + split.dropped


def closest_s(first, second):
    """Seconds between the two sides, the slow and certain way."""
    times = [np.concatenate([drive.times_s for drive in side]) for side in (first, second)]
    return np.abs(times[0][:, None] - times[1][None]).min()


def pairs(sides):
    return [(sides[a], sides[b]) for number, a in enumerate(sides) for b in list(sides)[:number]]


@pytest.mark.parametrize(
    ("lengths", "pause_s", "mode"),
    [([180] * 14, 8.0, "gap"), ([2400], 1.0, "block"), ([1100, 30, 4, 900, 12], 0.6, "block")],
)
def test_one_session_is_cut_where_it_can_be_and_a_guard_lies_between_the_sides(lengths, pause_s, mode):
    sequences = one_session(lengths, pause_s)
    for seed in range(2):
        method, sides, dropped = all_sides(sequences, seed)
        assert method.mode == mode and method.guard_s == pytest.approx(5.0)  # 100 frames of context at 20 Hz
        assert all(sides.values()) and all(closest_s(*pair) >= method.guard_s - 1e-9 for pair in pairs(sides))
        kept = sum(len(drive) for side in sides.values() for drive in side)
        assert kept + dropped.guard + dropped.duplicates == sum(lengths) and kept > 0.4 * sum(lengths)


def test_validation_is_cut_out_of_one_long_stretch_rather_than_made_of_scraps():
    sequences = one_session([1500, 20, 300, 15, 300, 10], pause_s=8.0)
    for seed in range(3):
        _, sides, _ = all_sides(sequences, seed, "gap")
        assert all(max(map(len, side)) >= 100 for side in sides.values())
        assert all(closest_s(*pair) >= 5.0 - 1e-9 for pair in pairs(sides))


def test_near_duplicates_of_one_session_never_stand_on_two_sides():
    """A car that stands at the start line again and again: the same view with a little noise, minutes apart."""
    rng = np.random.default_rng(5)
    pictures = rng.integers(0, 256, (2400, 64, 64, 3), dtype=np.uint8)
    for start in range(100, 2400, 400):
        pictures[start : start + 60] = np.clip(pictures[100].astype(int) + rng.integers(-2, 3, (60, 64, 64, 3)), 0, 255)
    for seed in range(3):
        _, sides, dropped = all_sides(one_session([2400], 1.0, pictures), seed, "block")
        assert dropped.duplicates > 0
        for first, second in pairs(sides):
            stand = [np.abs(drive.images.astype(int) - pictures[100]).mean((1, 2, 3)) < 5 for drive in (*first, *second)]
            on_first, on_second = np.concatenate(stand[: len(first)]), np.concatenate(stand[len(first) :])
            assert not (on_first.any() and on_second.any())


def test_sessions_are_cut_finer_only_when_there_are_too_few():
    assert choose_method([drive(i) for i in range(4)]).mode == "session"
    assert choose_method([drive(0), drive(1)]).mode == "block"
    assert choose_method(one_session([180] * 14, 8.0), "block", guard_s=20.0).guard_s == 20.0
    with pytest.raises(ConfigError, match="split must be one of auto, session, gap, block"):
        choose_method([drive(0)], "random")
    with pytest.raises(AiccError, match="needs at least 3 stretches at least 5.0 s apart, got 1 from 400 frames"):
        split_sequences(one_session([400], 0), 0, method=choose_method(one_session([400], 0), "gap"))


def test_the_cost_is_said_and_the_same_parts_are_found_again():
    sequences = one_session([2400], 1.0)
    method, sides, dropped = all_sides(sequences, 0)
    text = describe_split(method, dropped, 2400)
    assert "split block" in text and f"{dropped.guard} as guard" in text
    record = split_record(sides, method, dropped)
    wanted = [one.id for one in sides["calibration"]]
    found = drives_by_id(sequences, wanted, record)
    assert [found[name].content_hash for name in wanted] == [one.content_hash for one in sides["calibration"]]
    other = one_session([2400], 1.0, np.zeros((2400, 64, 64, 3), np.uint8))
    assert not set(wanted) & set(drives_by_id(other, wanted, record))  # another tub of the same name


def test_scraps_of_a_few_dozen_frames_are_no_sessions():
    """A tub of one long session and six short starts once chose `session` and failed after the first net was trained."""
    scraps = [drive(i, frames=20) for i in range(1, 7)]
    assert choose_method([drive(0, frames=2000), *scraps]).mode != "session"
