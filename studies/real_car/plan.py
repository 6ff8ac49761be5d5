"""What a real-car study is made of, checked before anything long starts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError, ConfigError, one_of
from donkey_aicc.faults.d_aug import SEVERITIES
from donkey_aicc.files import sha256_of
from donkey_aicc.scoring.settings import BatchSettings, ScoreSettings
from donkey_aicc.training.presets import preset_named
from donkey_aicc.tubs.find_tubs import find_tubs, tub_names
from studies.layout import Layout

SHIFTS = ("another_day", "another_track", "another_room")


@dataclass(frozen=True)
class Size:
    """How much is trained and scored. What is measured, and how, does not depend on it."""

    name: str
    training_preset: str
    training: tuple[str, ...]
    severities: Mapping[str, tuple[int, ...]]
    piece_frames: int  # of every held-out drive under each fault, the context included
    shift_frames: int  # of every further tub
    augmented_rows: int
    augmented_severities: tuple[int, ...]
    ladder_frames: int
    scoring: ScoreSettings
    split_seeds: int
    batch: BatchSettings = field(default_factory=BatchSettings)


_MOST = {"dark": SEVERITIES, "blur": SEVERITIES, "bias": (1, 3, 5), "latency": (1, 3, 5)}
_MIDDLE = {"dark": SEVERITIES, "blur": SEVERITIES, "bias": (3,), "latency": (3,)}
SIZES = {
    # The whole quick training, and scores at half the usual cost: about 25 minutes of one core on a ten-minute tub.
    "quick": Size("quick", "quick", (), _MOST, 200, 1500, 40, (1, 3, 5), 400, ScoreSettings(samples=5, rollout_every=20), 5),
    # For a busy machine: a third of the training, half of the scored frames, and rollouts that hardly look ahead.
    "short": Size(
        "short",
        "quick",
        ("vae.epochs=3", "dynamics.epochs=4", "dynamics.windows=128", "safety.epochs=6"),
        _MIDDLE,
        115,
        250,
        15,
        (3,),
        60,
        ScoreSettings(samples=2, rollout_steps=10, rollout_every=50),
        1,
        BatchSettings(dropout_passes=3),
    ),
    "tiny": Size(
        "tiny",
        "tiny",
        ("vae.epochs=1", "dynamics.epochs=1", "safety.epochs=1"),
        dict.fromkeys(("dark", "blur", "bias", "latency"), (2, 5)),
        110,
        110,
        5,
        (2, 5),
        40,
        ScoreSettings(samples=2, rollout_steps=3, rollout_every=20, views=2),
        1,
        BatchSettings(dropout_passes=2),
    ),
}


@dataclass(frozen=True)
class Shift:
    """A further tub: the same car on another day, on another track, in another room."""

    kind: str
    tub: Path
    labels: Path | None = None
    called: str = ""  # folders of the same name are told apart by their parents

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.called or self.tub.resolve().name}"


@dataclass(frozen=True)
class RealCar:
    """Everything that decides the result."""

    layout: Layout
    data: tuple[Path, ...]
    labels: Path | None
    shifts: tuple[Shift, ...]
    size: Size
    predictor: str
    overrides: tuple[str, ...] = ()
    seed: int = 0
    workers: int = 1

    def about(self) -> dict[str, Any]:
        """What must be equal for two runs to be the same study; tubs by name, because folders move.

        Further tubs are not among it: one can be added to a finished study, and only it is scored then.
        """
        return {
            "study": "real-car",
            "data": [path.name for path in self.data],
            "labels": None if self.labels is None else sha256_of(self.labels)[:16],
            "size": self.size.name,
            "predictor": self.predictor,
            "overrides": list(self.overrides),
            "seed": self.seed,
        }


def parse_shift(kind: str, text: str) -> Shift:
    """'TUB' or 'TUB,LABELS.csv'."""
    tub, comma, labels = (text, "", "") if Path(text).is_dir() else text.partition(",")
    if comma and not Path(labels).is_file():
        raise AiccError(f"--{kind.replace('_', '-')}: there is no label file {labels!r}")
    return Shift(kind, _tub("--" + kind.replace("_", "-"), tub), Path(labels) if comma else None)


def plan_real_car(
    out: str,
    data: list[str],
    labels: str | None,
    shifts: list[Shift],
    size: str = "quick",
    predictor: str = "history",
    overrides: tuple[str, ...] = (),
    seed: int = 0,
    workers: int = 1,
) -> RealCar:
    one_of("--size", size, tuple(SIZES))
    chosen = SIZES[size]
    preset_named(chosen.training_preset, (*chosen.training, *overrides))
    if labels is not None and not Path(labels).is_file():
        raise AiccError(f"--labels: there is no file {labels!r}; make one with: donkey-aicc label TUB")
    if workers < 1:
        raise ConfigError(f"--workers must be >= 1, got {workers}")
    folders = sorted({shift.tub.resolve() for shift in shifts})
    called = dict(zip(folders, tub_names(folders), strict=True))
    shifts = [replace(shift, called=called[shift.tub.resolve()]) for shift in shifts]
    names = [shift.name for shift in shifts]
    if len(set(names)) < len(names):
        raise AiccError(f"a further tub is given twice: {', '.join(sorted(names))}")
    tubs = tuple(_tub("--data", path) for path in data)
    given = {path.resolve() for path in tubs}
    for shift in shifts:
        if shift.tub.resolve() in given:
            raise AiccError(f"{shift.tub} is given as --data and as a further tub; a shift needs other drives")
    where = None if labels is None else Path(labels)
    return RealCar(Layout(Path(out)), tubs, where, tuple(shifts), chosen, predictor, overrides, seed, workers)


def _tub(option: str, path: str) -> Path:
    try:
        find_tubs([path])
    except AiccError as error:
        raise AiccError(f"{option}: {error}") from error
    return Path(path)
