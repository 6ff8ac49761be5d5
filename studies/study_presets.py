"""How large an experiment is. What is measured, and how, does not depend on it."""

from dataclasses import dataclass, field, replace

from donkey_aicc.faults.d_aug import SEVERITIES
from donkey_aicc.scoring.settings import LIGHT, BatchSettings, ScoreSettings
from donkey_aicc.simulator.driving import Marshal


@dataclass(frozen=True)
class ExperimentPreset:
    """`runs`: drives per severity of each protocol."""

    name: str
    training_preset: str
    nominal: dict[str, tuple[int, tuple[int, int]]]  # side -> drives, frames per drive from-to
    runs: dict[str, int]
    severities: tuple[int, ...]
    ood_frames: dict[str, int]  # per drive, the 200 nominal ones at its start included
    driven_severities: tuple[int, ...]  # of the faults to learn from, one drive each
    driven_frames: int
    augmented_rows: int  # usable frames of each D_aug piece
    augmented_severities: tuple[int, ...] = SEVERITIES
    ladder_frames: int = 400  # calibration frames on which the D_aug severities are set
    training: tuple[str, ...] = ()  # overrides of that preset
    further: tuple[str, ...] = ()  # and these on top, where the world model of another bundle is trained further
    scoring: ScoreSettings = field(default_factory=ScoreSettings)
    batch: BatchSettings = field(default_factory=BatchSettings)
    settled_frames: int = Marshal().warm_up_frames  # nominal frames count from here on, as protocol frames do
    severity_frames: int = 120  # frames on which the strengths of Dark and Blur are set
    split_seeds: int = 5
    loop_drives: int = 4  # per fault and severity, in closed and in open loop each
    loop_frames: int = 360
    loop_severities: tuple[int, ...] = (1, 3, 5)
    other_nets: bool = True  # two other kinds of predictor, for comparison


def _everywhere(value: int) -> dict[str, int]:
    return dict.fromkeys(("dark", "blur", "bias", "latency"), value)


# One size for every track and seed. Made for two shared cores: many short training drives, because no two are driven alike and
# the predictor must learn more than places; a quarter of the paper's samples of the dynamics net.
_QUICK = ExperimentPreset(
    name="quick",
    training_preset="quick",
    nominal={"train": (64, (300, 300)), "calibration": (12, (400, 400)), "test": (12, (400, 400))},
    runs=_everywhere(2),
    severities=(1, 2, 3, 4, 5),
    ood_frames=_everywhere(370),
    driven_severities=(2, 4),
    driven_frames=320,
    augmented_rows=25,
    augmented_severities=(2, 4),
    training=("vae.epochs=4", "vae.frames=6000", "dynamics.epochs=10", "dynamics.windows=224", "safety.epochs=3"),
    further=("vae.epochs=2", "vae.frames=2500", "vae.lr=0.001", "dynamics.epochs=3", "dynamics.windows=160")
    + ("dynamics.lr=0.001", "dynamics.first_target=50", "dynamics.forcing_epochs=0.34"),
    scoring=ScoreSettings(samples=5, rollout_every=30),
    batch=BatchSettings(dropout_passes=5),
    loop_drives=12,
    loop_severities=(3,),
)

PRESETS = {
    # As published, and all severities to learn from; days on two cores.
    "paper": replace(
        _QUICK,
        name="paper",
        training_preset="paper",
        nominal={"train": (64, (400, 700)), "calibration": (16, (600, 900)), "test": (16, (600, 900))},
        runs=_everywhere(4),
        ood_frames={"dark": 460, "blur": 460, "bias": 620, "latency": 420},
        training=(),
        further=(),
        driven_severities=SEVERITIES,
        augmented_rows=80,
        augmented_severities=SEVERITIES,
        scoring=ScoreSettings(),
        batch=BatchSettings(),
        loop_severities=(1, 3, 5),
    ),
    "quick": _QUICK,
    # An hour of a tenth of a core: grade light, so the dynamics net hardly learns; judged by `studies restored`.
    "light": replace(
        _QUICK,
        name="light",
        nominal={"train": (16, (300, 300)), "calibration": (12, (400, 400)), "test": (8, (400, 400))},
        runs=_everywhere(1),
        training=("vae.epochs=4", "vae.frames=6000", "dynamics.epochs=1", "dynamics.windows=32", "safety.epochs=3"),
        further=("vae.epochs=1", "vae.frames=2500", "vae.lr=0.001", "dynamics.lr=0.0001"),
        scoring=ScoreSettings().at_grade(LIGHT),
        batch=BatchSettings(),
        other_nets=False,
    ),
    "tiny": replace(
        _QUICK,
        name="tiny",
        training_preset="tiny",
        nominal={"train": (8, (155, 165)), "calibration": (3, (155, 165)), "test": (2, (155, 165))},
        runs=_everywhere(1),
        severities=(2, 5),
        ood_frames=_everywhere(265),
        driven_severities=(5,),
        driven_frames=260,
        augmented_rows=5,
        augmented_severities=(2, 5),
        ladder_frames=40,
        training=("vae.epochs=1", "safety.epochs=3"),
        further=(),
        scoring=ScoreSettings(samples=3, rollout_steps=5, views=3),
        batch=BatchSettings(dropout_passes=2),
        settled_frames=100,
        severity_frames=8,
        split_seeds=2,
        loop_drives=2,
        loop_frames=220,
        loop_severities=(5,),
    ),
}
