"""D_aug: changed copies of calibration sequences on which the anomaly weights are fitted; the test protocols stay unseen.

Eight visual families change pictures only. Three dynamics kinds change the relation between pictures, actions and time; none
of them is noise, a frozen frame or a delay.

Strengths of the visual families are set by how far the predictor's accuracy falls on calibration data: mild corruption that
hardly hurts it teaches the calibrator that anomalies are harmless. So severities 1-5 stand for stated shares of the way from
clean accuracy to near chance. No test protocol is looked at.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.faults.corruptions import DEFAULT_STRENGTHS, FAMILIES, corrupt
from donkey_aicc.progress import progress

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


DROP_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
NEAR_CHANCE = 0.55
GRID_POINTS = 15
_TOLERANCE = 0.01  # accuracy differences below this are noise on a few hundred frames


@dataclass(frozen=True)
class FamilyLadder:
    """The strengths found for one family."""

    strengths: tuple[float, ...]  # strictly increasing
    targets: tuple[float, ...]  # accuracy wanted at each
    accuracies: tuple[float, ...]  # accuracy there, interpolated
    reached: tuple[bool, ...]  # False: even full strength does not hurt that much

    def to_json(self) -> dict[str, Any]:
        return {name: list(getattr(self, name)) for name in ("strengths", "targets", "accuracies", "reached")}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "FamilyLadder":
        return cls(**{name: tuple(stored[name]) for name in ("strengths", "targets", "accuracies", "reached")})


def balanced_accuracy(p: np.ndarray, labels: np.ndarray) -> float:
    """Mean of the hit rates on safe and on unsafe samples: 0.5 is chance whatever the share of safe frames."""
    rates = [float(((p >= 0.5) == (label > 0.5))[labels == label].mean()) for label in (0.0, 1.0)]
    return float(np.mean(rates))


def severity_for_accuracy_drop(
    predict: Callable[[np.ndarray], np.ndarray],
    images: np.ndarray,
    labels: np.ndarray,
    seed: int,
    families: Sequence[str] = VISUAL_FAMILIES,
    drop_shares: Sequence[float] = DROP_SHARES,
    floor: float = NEAR_CHANCE,
) -> dict[str, FamilyLadder]:
    """predict: (N, H, W, 3) uint8 -> (N,) or (N, K) probability of safe; labels of that shape, NaN unknown.

    A few hundred images are enough; each family costs 15 passes over them.
    """
    labels = np.asarray(labels, dtype=np.float64)
    if not (labels == 0.0).any() or not (labels == 1.0).any():
        raise AiccError("setting D_aug severities needs safe and unsafe calibration frames, got one class only")
    p = predict(images)
    counted: slice | list[int] = slice(None)
    clean = balanced_accuracy(p, labels)
    if clean <= floor + _TOLERANCE and labels.ndim == 2:  # most horizons are guesses: those that are not set the severities
        counted = _predictable(p, labels, floor)
        labels = labels[:, counted]
        clean = balanced_accuracy(p[:, counted], labels) if counted else clean
    if clean <= floor + _TOLERANCE:
        raise AiccError(
            f"the predictor's clean accuracy must exceed {floor} at some horizon to set D_aug severities, got {clean:.3f}; "
            "look at the labels (donkey-aicc check), train for more epochs or record more drives"
        )
    targets = tuple(clean - share * (clean - floor) for share in drop_shares)
    grid = np.linspace(0.0, 1.0, GRID_POINTS + 1)
    ladders = {}
    for family in progress(list(families), "D_aug severities", unit="family"):
        measured = [clean]
        for strength in grid[1:]:
            corrupted = corrupt_all(images, family, float(strength), np.random.default_rng(seed))
            measured.append(balanced_accuracy(predict(corrupted)[..., counted], labels))
        ladders[family] = _ladder(grid, np.array(measured), targets)
    return ladders


def _predictable(p: np.ndarray, labels: np.ndarray, floor: float) -> list[int]:
    """Columns with both classes whose own accuracy lies above the floor."""
    both = [k for k, column in enumerate(labels.T) if (column == 0.0).any() and (column == 1.0).any()]
    return [k for k in both if balanced_accuracy(p[:, k], labels[:, k]) > floor + _TOLERANCE]


def strengths_of(ladders: dict[str, FamilyLadder]) -> dict[str, tuple[float, ...]]:
    """What `d_aug.visual` takes."""
    return {family: ladder.strengths for family, ladder in ladders.items()}


def _ladder(grid: np.ndarray, measured: np.ndarray, targets: tuple[float, ...]) -> FamilyLadder:
    falling = np.minimum.accumulate(measured)  # a strength counts by the worst accuracy up to it
    reached = tuple(bool(falling[-1] <= target + _TOLERANCE) for target in targets)
    strengths: list[float] = []
    for target, ok in zip(targets, reached, strict=True):
        if ok:
            strengths.append(_crossing(grid, falling, target))
    missing = len(targets) - len(strengths)
    start = strengths[-1] if strengths else 0.0
    strengths += list(np.linspace(start, 1.0, missing + 1)[1:])  # out of reach: spread over what is left of the scale
    increasing = _strictly_increasing(np.array(strengths))
    accuracies = tuple(float(value) for value in np.interp(increasing, grid, measured))
    return FamilyLadder(tuple(float(s) for s in increasing), targets, accuracies, reached)


def _crossing(grid: np.ndarray, falling: np.ndarray, target: float) -> float:
    """The least strength at which the accuracy is at the target, between two grid points by a straight line."""
    low_enough = np.flatnonzero(falling <= target)
    if not len(low_enough):
        return float(grid[int(falling.argmin())])
    high = int(low_enough[0])
    if high == 0 or falling[high - 1] == falling[high]:
        return float(grid[high])
    share = (falling[high - 1] - target) / (falling[high - 1] - falling[high])
    return float(grid[high - 1] + share * (grid[high] - grid[high - 1]))


def _strictly_increasing(strengths: np.ndarray, gap: float = 1e-3) -> np.ndarray:
    """Push equal neighbours apart without leaving [gap, 1]."""
    steps = gap * np.arange(len(strengths))
    forward = np.maximum.accumulate(np.maximum(strengths, gap) - steps) + steps
    ceiling = 1.0 - gap * np.arange(len(strengths))[::-1]
    return np.minimum(forward, ceiling)
