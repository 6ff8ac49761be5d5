"""Training and scoring of the real-car study. Each stage looks first whether its result is there already."""

import hashlib
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from donkey_aicc.calibration.augmented_drives import Augmented, build_augmented
from donkey_aicc.calibration.calibrating import calibrate_bundle, calibration_drives
from donkey_aicc.calibration.catalogue import DEFAULT_METHOD
from donkey_aicc.errors import AiccError
from donkey_aicc.faults.d_aug import FamilyLadder
from donkey_aicc.files import read_json, sha256_of, write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import CONTEXT, HISTORY, SINGLE
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.score_table import HORIZONS, ScoreTable
from donkey_aicc.training.pipeline import Plan, train_bundle
from donkey_aicc.training.presets import Preset, preset_named
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.load import LoadedData, load_drives
from donkey_aicc.tubs.split_units import choose_method
from donkey_aicc.tubs.splits import Split, split_sequences
from studies.nominal_picture import measured, stored
from studies.predictor_kinds import compare_predictors, describe_kinds
from studies.real_car.plan import RealCar, Shift
from studies.real_car.recorded_faults import CameraFiles, held_out_piece, labels_of_whole_drives, under_fault

SHIFT_STRETCH = 250  # frames: a context, and as many again that count
PREDICTORS = {"direct": SINGLE, "history": HISTORY}


def load_nominal(study: RealCar) -> LoadedData:
    """The drives of --data without frames in which the car stands."""
    return load_drives(study.data, labels_csv=study.labels, cache_dir=study.layout.cache, driving_only=True)


def training_preset(study: RealCar) -> tuple[Preset, dict[str, object]]:
    return preset_named(study.size.training_preset, (*study.size.training, *study.overrides))


def train(study: RealCar) -> None:
    bundle = study.layout.bundle
    if (bundle / "manifest.json").exists():
        return
    loaded = load_nominal(study)
    preset, overrides = training_preset(study)
    plan = Plan(
        preset=preset,
        out=bundle,
        overrides=overrides,
        seed=study.seed,
        resume=True,
        tau=loaded.tau,
        lane_half_width=loaded.lane_half_width,
        predictor=PREDICTORS[study.predictor],
        data=_origin(study, loaded),
    )
    train_bundle(loaded.drives, plan, _split(loaded.drives, study.seed))


def _origin(study: RealCar, loaded: LoadedData) -> dict[str, object]:
    """What `info` says of the bundle's tubs and labels."""
    sources = ", ".join(sorted({tub.label_source for tub in loaded.report.tubs}))
    found: dict[str, object] = {
        "study": study.about(),
        "tubs": sorted({drive.tub for drive in loaded.drives}),
        "labels": sources,
    }
    file = {} if study.labels is None else {"name": study.labels.name, "sha256": sha256_of(study.labels)}
    return found | {"label_file": file}


def _split(drives: list[Drive], seed: int) -> Split:
    """The usual split. What could not be measured on it is said before the training."""
    split = split_sequences(drives, seed, method=choose_method(drives, context=CONTEXT))
    least = CONTEXT + max(HORIZONS)
    for name, side, needed in (("calibration", split.calibration, 2), ("test", split.test, 1)):
        count = sum(len(drive) > least for drive in side)
        if count < needed:
            raise AiccError(
                f"the {name} side of the split needs at least {needed} drives longer than {least} frames ({CONTEXT} that a score "
                f"looks back, {max(HORIZONS)} that a label looks ahead), got {count} from {sum(map(len, drives))} frames in all; "
                "record longer or more drives"
            )
    return split


def rate_of(drives: list[Drive]) -> float:
    """Frames a second."""
    return 1.0 / float(np.median(np.concatenate([np.diff(drive.times_s) for drive in drives])))


def _scorable(drives: list[Drive]) -> list[Drive]:
    return [drive for drive in drives if len(drive) > CONTEXT]


def compare_kinds(study: RealCar) -> None:
    """The predictor of the bundle beside the other kind, trained on the same drives."""
    drives, settings = load_nominal(study).drives, training_preset(study)[0].safety
    results = compare_predictors(drives, study.layout.out / "kinds", settings, study.seed, Bundle.load(study.layout.bundle))
    print("\n".join(f"      {line}" for line in describe_kinds(results)), flush=True)


def score(study: RealCar) -> None:
    """Nominal held-out drives, D_aug, every fault on held-out drives, and the further tubs."""
    bundle, nominal = Bundle.load(study.layout.bundle), load_nominal(study).drives
    calibration = calibration_drives(bundle, nominal)
    settings = measured(study.layout.restoration, bundle, calibration, study.size.scoring)
    _score_to(study, bundle, "calibration", lambda: calibration)
    test = calibration_drives(bundle, nominal, "test")
    _score_to(study, bundle, "test", lambda: test)
    for protocol, severities in study.size.severities.items():
        _score_fault(study, bundle, test, protocol, severities)
    for shift in study.shifts:
        try:
            shift_table(study, bundle, shift, shift_drives(study, shift))
        except AiccError:  # said at the start, and again on the page
            continue
    if not study.layout.scores("augmented").exists():
        size = study.size
        sizes = (size.augmented_rows, size.ladder_frames, size.augmented_severities)
        augmented = build_augmented(bundle, calibration, settings, study.seed, study.workers, *sizes)
        write_json(study.layout.ladders, {family: ladder.to_json() for family, ladder in augmented.ladders.items()})
        augmented.table.save(study.layout.scores("augmented"))


def check_shifts(study: RealCar) -> None:
    """Says before the long work which further tubs can be used; one that cannot takes nothing from the others."""
    for shift in study.shifts:
        try:
            drives = shift_drives(study, shift)
            print(f"      {shift.name}: {sum(map(len, drives))} frames in {len(drives)} drives", flush=True)
        except AiccError as error:
            print(f"      note: {shift.name} is left out: {error}", flush=True)


def shift_drives(study: RealCar, shift: Shift) -> list[Drive]:
    """Stretches of SHIFT_STRETCH frames at most, spread over the whole tub, of about `shift_frames` in all."""
    by_tub = study.labels is None  # a further tub's cte is judged by the limit of the nominal drives
    tau = load_nominal(study).tau or "auto"
    loaded = load_drives([shift.tub], labels_csv=shift.labels, tau=tau, cache_dir=study.layout.cache, driving_only=True)
    stretches = _scorable([part for drive in loaded.drives for part in _stretches(drive)])
    if not stretches:
        longest = max(len(drive) for drive in loaded.drives)
        raise AiccError(
            f"{shift.tub}: its longest stretch without a gap has {longest} frames, while a score looks back {CONTEXT}; "
            f"see: donkey-aicc check {shift.tub}"
        )
    if shift.labels is None and not by_tub:  # what its takeovers or cte call safe is not what the label file does
        stretches = [drive.with_labels(np.full(len(drive), np.nan, dtype=np.float32)) for drive in stretches]
    count = min(max(1, study.size.shift_frames // SHIFT_STRETCH), len(stretches))
    return [stretches[number] for number in np.linspace(0, len(stretches) - 1, count).astype(int)]


def shift_table(study: RealCar, bundle: Bundle, shift: Shift, drives: list[Drive]) -> ScoreTable:
    """Scores of a further tub, kept under what its drives and labels hold: another tub of the same name is scored anew."""
    content = hashlib.blake2b(digest_size=4)
    for drive in drives:
        content.update(drive.id.encode() + drive.safe.tobytes())
    name = f"{shift.name}-{content.hexdigest()}"
    _score_to(study, bundle, name, lambda: drives)
    return ScoreTable.load(study.layout.scores(name))


def _stretches(drive: Drive) -> list[Drive]:
    """The drive in equal parts, none longer than SHIFT_STRETCH."""
    edges = np.linspace(0, len(drive), -(-len(drive) // SHIFT_STRETCH) + 1).astype(int)
    return [drive.part(int(start), int(stop)) for start, stop in pairwise(edges)]


def _score_fault(study: RealCar, bundle: Bundle, test: list[Drive], protocol: str, severities: tuple[int, ...]) -> None:
    pieces = [(drive, held_out_piece(drive, study.size.piece_frames, study.seed)) for drive in _scorable(test)]
    files, starts = CameraFiles(study.data), {}

    def drives() -> list[Drive]:
        faulty = []
        for severity in severities:
            for drive, (piece, start) in pieces:
                faulty.append(under_fault(piece, protocol, severity, rate_of([drive]), study.seed, files))
                starts[faulty[-1].id] = (drive, start)
        return faulty

    _score_to(study, bundle, f"ood_{protocol}", drives, lambda table: labels_of_whole_drives(table, starts))


def _score_to(
    study: RealCar,
    bundle: Bundle,
    name: str,
    drives: Callable[[], list[Drive]],
    finish: Callable[[ScoreTable], ScoreTable] = lambda table: table,
) -> None:
    path, size = study.layout.scores(name), study.size
    if path.exists():
        return
    title = f"scoring {name}"
    settings = stored(study.layout.restoration, size.scoring)
    scored = score_drives(bundle, drives(), settings=settings, batch=size.batch, workers=study.workers, title=title)
    finish(scored).save(path)


def calibrate(study: RealCar) -> None:
    layout = study.layout
    bundle = Bundle.load(layout.bundle)
    if bundle.calibrator_path.exists():
        return
    stored = read_json(layout.ladders, f"remove {layout.ladders.parent} and run again")
    ladders = {family: FamilyLadder.from_json(ladder) for family, ladder in stored.items()}
    augmented = Augmented(ScoreTable.load(layout.scores("augmented")), ladders)
    calibration = ScoreTable.load(layout.scores("calibration"))
    settings = stored(layout.restoration, study.size.scoring)
    try:
        result = calibrate_bundle(bundle, calibration, augmented, settings, DEFAULT_METHOD, study.seed)
    except AiccError as error:  # the evaluation fits its own and says the same; only the bundle stays without
        print(f"      note: no calibrator file: {error}", flush=True)
        return
    for warning in result.about["warnings"]:
        print(f"      note: {warning}", flush=True)
