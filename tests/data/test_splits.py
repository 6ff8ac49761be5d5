import numpy as np
import pytest

from donkey_aicc.data.sequence import make_sequence
from donkey_aicc.data.splits import Split, carve_validation, split_sequences
from donkey_aicc.errors import AiccError, ConfigError


def drive(session, frames=4, first=0, tub="tub"):
    images = np.full((frames, 64, 64, 3), session % 256, np.uint8)
    indices = np.arange(first, first + frames)
    return make_sequence(tub, f"s{session}", images, np.full((frames, 2), first / 1000), indices=indices)


def sessions(side):
    return {sequence.session_key for sequence in side}


def test_twenty_five_drives_give_17_4_4():
    split = split_sequences([drive(i) for i in range(25)], seed=0)
    assert (len(split.train), len(split.calibration), len(split.test)) == (17, 4, 4)


def test_two_sequences_of_one_session_stay_together():
    sequences = [drive(i // 3, first=10 * (i % 3)) for i in range(36)]
    for seed in range(20):
        split = split_sequences(sequences, seed)
        assert not sessions(split.train) & (sessions(split.calibration) | sessions(split.test))
        assert not sessions(split.calibration) & sessions(split.test)
        assert sum(map(len, split.ids().values())) == 36


def test_same_seed_same_split_whatever_the_order():
    sequences = [drive(i) for i in range(12)]
    assert split_sequences(sequences, 3).ids() == split_sequences(sequences[::-1], 3).ids()
    assert split_sequences(sequences, 3).ids() != split_sequences(sequences, 4).ids()


def test_a_huge_drive_does_not_end_up_in_a_small_share():
    sequences = [drive(0, frames=900), drive(1, frames=50), drive(2, frames=50)]
    for seed in range(10):
        assert sessions(split_sequences(sequences, seed).train) == {("tub", "s0")}


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
    rest, validation = carve_validation(split.train, seed=0)
    assert sessions(rest) | sessions(validation) == sessions(split.train) and not sessions(rest) & sessions(validation)
    assert len(validation) in (2, 3)
    with pytest.raises(AiccError, match="at least 2 tub sessions"):
        carve_validation([drive(0)], seed=0)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.2, 0.0), (0.6, 0.3, 0.3)])
def test_impossible_shares_are_refused(shares):
    with pytest.raises(ConfigError, match="shares"):
        split_sequences([drive(i) for i in range(5)], seed=0, shares=shares)
