"""ScoreSettings: how scores are computed. One object, stored in calibrator.json and read from there by everything that scores.

A number means what it was fitted for: `calibrate` chooses the settings, the calibrator file owns them, and `score`,
`evaluate`, the car and the demo take them from it (`calibration.calibrator_file.load_calibrator(bundle, grade).settings`).
"""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from donkey_aicc.errors import AiccError, ConfigError, one_of
from donkey_aicc.nets.manifest import CONTEXT
from donkey_aicc.scoring.restored_view import Restoration

FULL, HALF, LIGHT = GRADES = ("full", "half", "light")

# What `half` keeps of `full`: its samples are the first of full's and its steps the first of full's, so that one scoring
# pass at grade full knows half's numbers too.
HALF_SAMPLES = 5
HALF_STEPS = 20
HALF_INTERVALS = 2


# What a start can still measure in seconds and hold in memory; a bundle's file may say anything.
MOST = {"samples": 100, "rollout_steps": 500, "rollout_every": 500, "context": 10_000, "views": 64, "seed": 2**63}
MOST_STEPS = 2000  # of the dynamics net, twenty times the paper's


@dataclass(frozen=True)
class ScoreSettings:
    """Everything that changes a score. Grade `light` never looks ahead: its samples, steps and interval are 0.

    full: the paper's scores. half: fewer samples and steps, at twice the interval. light: no dynamics net at all.
    """

    grade: str = FULL
    samples: int = 20  # dropout samples of the dynamics net
    rollout_steps: int = 50  # frames that a rollout looks ahead
    rollout_every: int = 10  # frames from the start of one rollout to the start of the next
    context: int = CONTEXT  # frames that the scores look back
    views: int = 9  # of the test-time augmentation, the plain frame included
    seed: int = 0  # of all dropout masks and views
    restoration: Restoration | None = None  # what is nominal of a picture; None: nothing is restored
    own: tuple[str, ...] = ()  # names of the user's own anomaly scores that are computed too (`own_scores.py`)

    def __post_init__(self) -> None:
        one_of("grade", self.grade, GRADES)
        rollouts = 0 if self.grade == LIGHT else 1
        least = {"samples": rollouts, "rollout_steps": rollouts, "rollout_every": rollouts, "context": 2, "views": 1, "seed": 0}
        for name, smallest in least.items():
            value, most = getattr(self, name), MOST[name]
            if not isinstance(value, int) or value < smallest:
                raise ConfigError(f"{name} must be a whole number >= {smallest}, got {value!r}")
            if value > most:
                raise ConfigError(f"{name} must be at most {most}, got {value!r}")
        if (cost := self.samples * self.steps_per_frame) > MOST_STEPS:
            raise ConfigError(f"samples times steps of a rollout must be at most {MOST_STEPS} for each frame, got {cost}")

    @property
    def looks_ahead(self) -> bool:
        """Whether the dynamics net runs."""
        return self.grade != LIGHT

    @property
    def steps_per_frame(self) -> int:
        """Rollout steps that each frame pays, so that a rollout is done when the next one starts."""
        return -(-self.rollout_steps // self.rollout_every) if self.looks_ahead else 0

    @property
    def rollout_frames(self) -> int:
        """Frames over which a rollout is spread, its first one included: its features count from the last of them on."""
        return -(-self.rollout_steps // self.steps_per_frame) if self.looks_ahead else 0

    def at_grade(self, grade: str) -> "ScoreSettings":
        """These settings of grade full, at another grade."""
        if grade == self.grade:
            return self
        if self.grade != FULL:
            raise ConfigError(f"settings of grade {self.grade} cannot be turned into grade {grade}; start from grade {FULL}")
        if grade == HALF:
            fewer: dict[str, Any] = {
                "samples": min(self.samples, HALF_SAMPLES),
                "rollout_steps": min(self.rollout_steps, HALF_STEPS),
            }
            return replace(self, grade=HALF, rollout_every=HALF_INTERVALS * self.rollout_every, **fewer)
        return replace(self, grade=grade, samples=0, rollout_steps=0, rollout_every=0)

    def to_json(self) -> dict[str, Any]:
        stored = asdict(self) | {"own": list(self.own)}
        return stored if self.own else {name: value for name, value in stored.items() if name != "own"}

    @classmethod
    def from_json(cls, stored: Any) -> "ScoreSettings":
        """What `to_json` wrote; unknown or missing names are refused, because each of them changes what a score means."""
        names = {field.name for field in fields(cls)} - {"own"}
        if not isinstance(stored, dict) or set(stored) - {"own"} != names:
            raise AiccError(f"score settings must be a table with {', '.join(sorted(names))}; got {stored!r}")
        restoration, own = stored["restoration"], stored.get("own", [])
        if not isinstance(own, list) or not all(isinstance(name, str) for name in own):
            raise AiccError(f"own of the score settings must be a list of names, got {own!r}")
        found = None if restoration is None else Restoration.from_json(restoration)
        return cls(**stored | {"restoration": found, "own": tuple(own)})


@dataclass(frozen=True)
class BatchSettings:
    """What only batch scoring needs; changes no score of the car."""

    lanes: int = 8  # sequences that run together: enough to keep the matrix products busy, few enough to stay in the cache
    dropout_passes: int = 10  # of the predictor, for the column mc_dropout

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ConfigError(f"{name} must be >= 1, got {value}")
