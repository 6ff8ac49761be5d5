"""How large an experiment is. What is measured, and how, does not depend on it."""

from dataclasses import dataclass, field

from donkey_aicc.scoring.score import ScoreSettings


@dataclass(frozen=True)
class ExperimentPreset:
    """`runs`: drives per severity of each protocol. The training preset has the same name."""

    name: str
    nominal_drives: int
    nominal_frames: tuple[int, int]
    runs: dict[str, int]
    severities: tuple[int, ...]
    ood_frames: int
    augmented_rows: int  # usable frames of each D_aug piece
    scoring: ScoreSettings = field(default_factory=ScoreSettings)
    split_seeds: int = 5


_FULL = ExperimentPreset(
    name="quick",
    nominal_drives=25,
    nominal_frames=(500, 1000),
    # At least the paper's 7/8/17/5 sequences and 4858/4703/10117/2575 frames, and 4 runs of every severity.
    runs={"dark": 4, "blur": 4, "bias": 5, "latency": 4},
    severities=(1, 2, 3, 4, 5),
    ood_frames=650,
    augmented_rows=120,
)

PRESETS = {
    "paper": ExperimentPreset(**{**vars(_FULL), "name": "paper"}),
    "quick": _FULL,
    "tiny": ExperimentPreset(
        name="tiny",
        nominal_drives=12,
        nominal_frames=(180, 220),
        runs=dict.fromkeys(("dark", "blur", "bias", "latency"), 1),
        severities=(2, 5),
        ood_frames=220,
        augmented_rows=15,
        scoring=ScoreSettings(samples=3, rollout_steps=5, views=3, dropout_passes=2),
        split_seeds=2,
    ),
}
