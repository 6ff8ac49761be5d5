"""How large an experiment is. What is measured, and how, does not depend on it."""

from dataclasses import dataclass, field

from donkey_aicc.faults.d_aug import SEVERITIES
from donkey_aicc.scoring.settings import BatchSettings, ScoreSettings


@dataclass(frozen=True)
class ExperimentPreset:
    """`runs`: drives per severity of each protocol."""

    name: str
    training_preset: str
    nominal_drives: int
    nominal_frames: tuple[int, int]
    runs: dict[str, int]
    severities: tuple[int, ...]
    ood_frames: dict[str, int]  # per drive, the 200 nominal ones at its start included
    augmented_rows: int  # usable frames of each D_aug piece
    augmented_severities: tuple[int, ...] = SEVERITIES
    ladder_frames: int = 400  # calibration frames on which the D_aug severities are set
    training: tuple[str, ...] = ()  # overrides of that preset
    scoring: ScoreSettings = field(default_factory=ScoreSettings)
    batch: BatchSettings = field(default_factory=BatchSettings)
    split_seeds: int = 5
    loop_drives: int = 4  # per fault and severity, in closed and in open loop each
    loop_frames: int = 360
    loop_severities: tuple[int, ...] = (1, 3, 5)


_FULL = ExperimentPreset(
    name="quick",
    training_preset="quick",
    nominal_drives=25,
    nominal_frames=(500, 1000),
    # At least the paper's 7/8/17/5 sequences and 4858/4703/10117/2575 frames, and 4 runs of every severity.
    runs={"dark": 4, "blur": 4, "bias": 5, "latency": 4},
    severities=(1, 2, 3, 4, 5),
    ood_frames={"dark": 500, "blur": 500, "bias": 740, "latency": 420},
    augmented_rows=80,
)

PRESETS = {
    "paper": ExperimentPreset(**{**vars(_FULL), "name": "paper", "training_preset": "paper"}),
    "quick": _FULL,
    # For repetitions (other seeds, other tracks) at a third of the cost: half the nominal frames, a shorter training, a third
    # of the protocol frames, a rollout every 20 frames.
    "small": ExperimentPreset(
        name="small",
        training_preset="quick",
        nominal_drives=25,
        nominal_frames=(350, 500),
        runs=dict.fromkeys(("dark", "blur", "bias", "latency"), 2),
        severities=(1, 2, 3, 4, 5),
        ood_frames={"dark": 420, "blur": 420, "bias": 500, "latency": 400},
        augmented_rows=40,
        ladder_frames=300,
        training=("vae.epochs=4", "dynamics.epochs=10", "dynamics.windows=192"),
        scoring=ScoreSettings(rollout_every=20),
    ),
    "tiny": ExperimentPreset(
        name="tiny",
        training_preset="tiny",
        nominal_drives=14,
        nominal_frames=(155, 165),
        runs=dict.fromkeys(("dark", "blur", "bias", "latency"), 1),
        severities=(2, 5),
        ood_frames=dict.fromkeys(("dark", "blur", "bias", "latency"), 280),
        augmented_rows=5,
        augmented_severities=(2, 5),
        ladder_frames=40,
        training=("vae.epochs=1", "safety.epochs=1"),
        scoring=ScoreSettings(samples=3, rollout_steps=5, views=3),
        batch=BatchSettings(dropout_passes=2),
        split_seeds=2,
        loop_drives=2,
        loop_frames=220,
        loop_severities=(5,),
    ),
}
