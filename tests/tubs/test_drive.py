from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.drive import make_drive, shared_content


def drive(n=10, tub="tub", session="a", seed=0, **extra):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (n, 64, 64, 3), dtype=np.uint8)
    return make_drive(tub, session, images, rng.uniform(-1, 1, (n, 2)), **extra)


def test_what_is_not_given_is_unknown():
    sequence = drive(5)
    assert np.isnan(sequence.cte).all() and np.isnan(sequence.safe).all()
    assert sequence.protocol.tolist() == [""] * 5 and sequence.episode.tolist() == [-1] * 5
    np.testing.assert_allclose(np.diff(sequence.times_s), 0.05)


def test_the_same_drive_has_the_same_hash_under_another_name_but_another_id():
    first, renamed, other = drive(seed=1), drive(seed=1, tub="copy", cte=np.zeros(10)), drive(seed=2)
    assert first.content_hash == renamed.content_hash != other.content_hash
    assert len({first.id, renamed.id, other.id}) == 3
    assert shared_content([first], [renamed, other]) == [renamed.id]


def test_id_is_stable_and_changes_with_an_action():
    assert drive(seed=1).id == drive(seed=1).id
    changed = drive(seed=1)
    actions = changed.actions.copy()
    actions[3, 0] += 0.01
    assert make_drive("tub", "a", changed.images, actions).id != changed.id


def test_a_part_has_its_own_id_and_shares_the_images():
    sequence = drive(10, cte=np.arange(10))
    part = sequence.part(2, 6)
    assert len(part) == 4 and part.cte.tolist() == [2, 3, 4, 5] and part.indices.tolist() == [2, 3, 4, 5]
    assert np.shares_memory(part.images, sequence.images)
    assert part.id != sequence.id and part.session_key == sequence.session_key and "/2-" in part.id


@pytest.mark.parametrize("start, stop", [(-1, 3), (3, 3), (5, 11)])
def test_a_part_outside_the_sequence_is_refused(start, stop):
    with pytest.raises(AiccError, match="part"):
        drive(10).part(start, stop)


def test_columns_of_different_length_are_refused():
    with pytest.raises(AiccError, match="cte has 3 rows, expected 10"):
        drive(10, cte=np.zeros(3))


def test_hash_follows_new_images_but_not_new_labels():
    sequence = drive(10)
    assert sequence.with_labels(np.ones(10, np.float32)).content_hash == sequence.content_hash
    darker = replace(sequence, images=sequence.images // 2)
    assert darker.content_hash != sequence.content_hash
    assert sequence.part(0, 10).content_hash == sequence.content_hash
