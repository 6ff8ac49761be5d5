"""D_aug: changed copies of calibration sequences on which the anomaly weights are fitted; the test protocols stay unseen.

Eight visual families change pictures only. Three dynamics kinds change the relation between pictures, actions and time; none
of them is noise, a frozen frame or a delay.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.faults.corruptions import DEFAULT_STRENGTHS, FAMILIES, corrupt

VISUAL_FAMILIES = tuple(FAMILIES)
DYNAMICS_KINDS = ("speed_mismatch", "action_substitution", "action_offset")
D_AUG_FAMILIES = VISUAL_FAMILIES + DYNAMICS_KINDS
SEVERITIES = (1, 2, 3, 4, 5)
SPEED_FACTOR = 2

Strengths = Mapping[str, tuple[float, ...]]  # family -> strength of severities 1..5


@dataclass(frozen=True)
class SequenceArrays:
    """N consecutive frames of one drive."""

    images: np.ndarray  # (N, H, W, 3) uint8
    actions: np.ndarray  # (N, 2) steering, throttle
    safe: np.ndarray  # (N,) 1 safe, 0 unsafe, NaN unknown; labels at a horizon are derived from it afterwards

    def __post_init__(self) -> None:
        if not len(self.images) == len(self.actions) == len(self.safe):
            raise AiccError(
                f"a sequence needs as many images as actions and labels, got {len(self.images)}, "
                f"{len(self.actions)} and {len(self.safe)}"
            )


def variants() -> list[tuple[str, int]]:
    """Every (family, severity) of D_aug: 8 x 5 visual ones and 3 dynamics kinds with severity 1."""
    return [(family, severity) for family in VISUAL_FAMILIES for severity in SEVERITIES] + [(kind, 1) for kind in DYNAMICS_KINDS]


def visual(
    images: np.ndarray, family: str, severity: int, rng: np.random.Generator, strengths: Strengths = DEFAULT_STRENGTHS
) -> np.ndarray:
    """Corrupted copies of (N, H, W, 3) uint8 images."""
    one_of("visual family", family, VISUAL_FAMILIES)
    if severity not in SEVERITIES:
        raise AiccError(f"severity of {family} must be 1 to 5, got {severity}")
    return corrupt_all(images, family, strengths[family][severity - 1], rng)


def corrupt_all(images: np.ndarray, family: str, strength: float, rng: np.random.Generator) -> np.ndarray:
    """`corrupt` on every image of (N, H, W, 3)."""
    if not len(images):
        return images.copy()
    return np.stack([corrupt(image, family, strength, rng) for image in images])


def speed_mismatch(sequence: SequenceArrays, factor: int = SPEED_FACTOR) -> SequenceArrays:
    """Every second frame with its action: the world runs twice as fast, and so do the labels."""
    return SequenceArrays(sequence.images[::factor], sequence.actions[::factor], sequence.safe[::factor])


def action_substitution(sequence: SequenceArrays, donor_actions: np.ndarray) -> SequenceArrays:
    """The actions of another drive, repeated if that was shorter; pictures and labels stay."""
    if not len(donor_actions):
        raise AiccError("action_substitution needs another sequence with at least one action, got none")
    return SequenceArrays(sequence.images, np.resize(donor_actions, sequence.actions.shape), sequence.safe)


def action_offset(sequence: SequenceArrays) -> SequenceArrays:
    """The sequence's own actions turned by half its length: far beyond any delay."""
    return SequenceArrays(sequence.images, np.roll(sequence.actions, len(sequence.actions) // 2, axis=0), sequence.safe)


def augment(
    sequence: SequenceArrays,
    family: str,
    severity: int,
    rng: np.random.Generator,
    donor_actions: np.ndarray | None = None,
    strengths: Strengths = DEFAULT_STRENGTHS,
) -> SequenceArrays:
    """One D_aug copy of a sequence; donor_actions (M, 2) come from another sequence, for action_substitution."""
    one_of("D_aug family", family, D_AUG_FAMILIES)
    if family == "speed_mismatch":
        return speed_mismatch(sequence)
    if family == "action_offset":
        return action_offset(sequence)
    if family == "action_substitution":
        return action_substitution(sequence, np.empty((0, 2)) if donor_actions is None else donor_actions)
    return SequenceArrays(visual(sequence.images, family, severity, rng, strengths), sequence.actions, sequence.safe)
