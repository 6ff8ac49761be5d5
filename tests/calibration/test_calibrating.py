"""D_aug pieces: which drives, which changes, and that a subset of drives finds its own pieces.

A family that no score sees is named.
"""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.augmented_drives import augmented_pieces
from donkey_aicc.calibration.calibrating import unseen_families, usable_folds
from donkey_aicc.calibration.pool import build_pool
from donkey_aicc.errors import AiccError
from donkey_aicc.faults.corruptions import DEFAULT_STRENGTHS
from donkey_aicc.faults.d_aug import D_AUG_FAMILIES
from donkey_aicc.faults.protocols import PROTOCOLS
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from donkey_aicc.tubs.drive import make_drive
from tests.synthetic_scores import synthetic_table

FRAMES = 20


def drive(number: int, frames: int = 60):
    rng = np.random.default_rng(number)
    images = rng.integers(60, 200, (frames, 64, 64, 3)).astype(np.uint8)
    return make_drive(
        f"tub{number}", "0", images, rng.uniform(-1, 1, (frames, 2)), safe=(rng.random(frames) < 0.5).astype(np.float32)
    )


@pytest.fixture(scope="module")
def pieces():
    return augmented_pieces([drive(0), drive(1), drive(2)], dict(DEFAULT_STRENGTHS), FRAMES, seed=0)


def test_every_family_and_severity_once_and_no_test_protocol(pieces):
    made = [(str(piece.protocol[0]), int(piece.severity[0])) for piece in pieces]
    assert sorted(made) == sorted((family, severity) for family in D_AUG_FAMILIES for severity in range(1, 6))
    assert not {family for family, _ in made} & set(PROTOCOLS)


def test_every_drive_serves_every_family(pieces):
    for family in D_AUG_FAMILIES:
        sources = {piece.id.split("~")[0] for piece in pieces if piece.id.split("~")[1] == family}
        assert len(sources) == 3


def test_substituted_actions_never_come_from_the_own_drive():
    """Every drive steers with a constant of its own, so a piece shows whose actions it got."""
    drives = [drive(number) for number in range(3)]
    drives = [replace(one, actions=np.full_like(one.actions, number / 10)) for number, one in enumerate(drives)]
    for seed in range(8):
        pieces = augmented_pieces(drives, dict(DEFAULT_STRENGTHS), FRAMES, seed)
        for piece in pieces:
            if piece.protocol[0] == "action_substitution":
                own = int(piece.id.split("~")[0][3])
                assert (piece.actions[:, 0] != np.float32(own / 10)).all()


def test_pieces_have_the_asked_length_and_unique_ids(pieces):
    assert {len(piece) for piece in pieces} == {FRAMES}
    assert len({piece.id for piece in pieces}) == len(pieces)


def test_drives_too_short_to_be_scored_give_no_piece():
    drives = [drive(0), replace(drive(1).part(0, 30), id="scrap"), drive(2)]
    pieces = augmented_pieces(drives, dict(DEFAULT_STRENGTHS), FRAMES, seed=0, context=30)
    assert not any(piece.id.startswith("scrap~") for piece in pieces)
    all_short = augmented_pieces(drives, dict(DEFAULT_STRENGTHS), FRAMES, seed=0, context=60)
    assert len(all_short) == len(pieces)  # nothing better is there


def test_same_seed_same_pieces():
    drives = [drive(0), drive(1)]
    first, second = (augmented_pieces(drives, dict(DEFAULT_STRENGTHS), FRAMES, seed=3) for _ in range(2))
    assert [piece.content_hash for piece in first] == [piece.content_hash for piece in second]


def test_one_calibration_drive_cannot_be_cross_fitted():
    table = synthetic_table(np.random.default_rng(0))
    one = table.of_sequences(table.sequences()[:1])
    with pytest.raises(AiccError, match="at least 2 sequences"):
        usable_folds(one)


def family(name: str, factors: tuple[float, ...]) -> ScoreTable:
    """Reconstruction error multiplied by a factor per severity."""
    parts = []
    for severity, factor in enumerate(factors, start=1):
        part = synthetic_table(np.random.default_rng(severity), sequences=1, length=80, protocol=name, severity=severity)
        parts.append(replace(part, rho_raw=part.rho_raw * factor))
    return concatenate(parts)


def test_only_a_family_that_no_score_sees_is_warned_of() -> None:
    """Pixelation lowers rho: two-sided rho sees it. What changes nothing in the recording is seen by nobody."""
    nominal = synthetic_table(np.random.default_rng(0), sequences=5, length=100)
    families = {"speckle": (1.5, 2.0, 3.0), "pixelation": (0.9, 0.5, 0.2), "unseen": (1.0, 1.0, 1.0)}
    pool = build_pool(nominal, concatenate([family(name, factors) for name, factors in families.items()]))
    (said,) = unseen_families(pool)
    assert said.startswith("unseen at severity 3 is hardly told from nominal driving: AUROC 0.")
