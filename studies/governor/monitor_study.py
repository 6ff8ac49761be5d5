"""The monitors on the drives of an experiment: nominal laps set the thresholds, its test drives and its protocols judge."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.nets.vision_pilot import VisionPilot
from donkey_aicc.scoring.batch_scoring import McDropout
from donkey_aicc.scoring.lower_grades import table_at
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.restored_view import rebuilding_error
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import LIGHT
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.load import load_drives
from studies.experiment import reopened
from studies.experiment_stages import Experiment, load, without_warm_up
from studies.governor.monitors import OURS, Seen, compare

TIMED = 60  # frames
_BATCH = 256


def run_monitors(folder: str, laps: Sequence[str], pilots: Sequence[str]) -> dict[str, Any]:
    """Rows, milliseconds per frame, and what they rest on. pilots: trained apart from the one that drove."""
    experiment = reopened(folder)
    layout = experiment.layout
    bundle = Bundle.load(layout.bundle)
    calibrator = load_calibrator(bundle, LIGHT)  # the alarm is the same at every grade
    members = [experiment.pilot, *(Path(pilot) for pilot in pilots)]

    def seen(table: ScoreTable, drives: Sequence[Drive]) -> Seen:
        return Seen.of(table_at(table, LIGHT), calibrator, disagreement(members, drives, table))

    fresh = load_drives(list(laps), tau=bundle.manifest.tau, cache_dir=layout.cache).drives
    nominal = seen(_scored_laps(experiment, bundle, fresh), fresh)
    test = seen(ScoreTable.load(layout.scores("test")), load(experiment, bundle, layout.nominal))
    faulty = {}
    for protocol in experiment.preset.runs:
        driven = without_warm_up(load(experiment, bundle, layout.protocol(protocol)), bundle)
        faulty[protocol] = seen(ScoreTable.load(layout.scores(f"ood_{protocol}")), driven)
    rows = compare(nominal, test, faulty, experiment.seed)
    cost = costs(bundle, members, experiment.preset.batch.dropout_passes, fresh[0])
    return {"rows": rows, "cost_ms": cost, "laps": len(fresh), "pilots": len(members), "track": experiment.track}


def _scored_laps(experiment: Experiment, bundle: Bundle, laps: Sequence[Drive]) -> ScoreTable:
    path, preset = experiment.layout.scores("laps"), experiment.preset
    if not path.exists():
        settings = load_calibrator(bundle, LIGHT).settings
        score_drives(bundle, laps, settings=settings, batch=preset.batch, workers=experiment.workers, title="laps").save(path)
    return ScoreTable.load(path)


def disagreement(pilots: Sequence[Path], drives: Sequence[Drive], table: ScoreTable) -> np.ndarray:
    """(N,) of the table's rows: standard deviation of the pilots' steering at that frame."""
    import torch

    from donkey_aicc.nets.vision_pilot import load_pilot

    nets, by_id = [load_pilot(pilot) for pilot in pilots], {drive.id: drive for drive in drives}
    found = np.empty(len(table))
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        images = images_to_array(np.asarray(by_id[name].images)[table.step[own]])
        with torch.no_grad():
            parts = [torch.from_numpy(images[start : start + _BATCH]) for start in range(0, len(images), _BATCH)]
            steering = [torch.cat([net(part)[:, 0] for part in parts]).numpy() for net in nets]
        found[own] = np.std(steering, axis=0)
    return found


def costs(bundle: Bundle, pilots: Sequence[Path], passes: int, drive: Drive) -> dict[str, float]:
    """Milliseconds of CPU of one frame, median: what a monitor needs besides the pilot that drives."""
    images = [images_to_array(np.asarray(drive.images[number : number + 1])) for number in range(TIMED)]
    others = []
    for path in pilots[1:]:
        others.append(VisionPilot())
        others[-1].load(path)
    dropout = McDropout(bundle, passes)
    frames = iter(range(10**6))

    def of(call: Callable[[int], object]) -> float:
        spent = []
        for number in range(TIMED):
            started = time.process_time()
            call(number)
            spent.append(1e3 * (time.process_time() - started))
        return float(np.median(spent))

    members = of(lambda number: [pilot.run(np.asarray(drive.images[number])) for pilot in others])
    predictor = of(lambda number: bundle.predict(images[number]))
    rebuilt = of(lambda number: rebuilding_error(bundle, images[number]))
    return {
        "disagreement of pilots": members,
        "reconstruction error (SelfOracle)": rebuilt,
        "band in time (FAIL-Detect)": predictor,
        "novel and undecided (FIPER)": members + predictor,
        "dropout of the predictor": of(lambda number: dropout.spread(images[number], np.random.default_rng(next(frames)))),
        "predictor's 1 - p": predictor,
        OURS: of(_light_monitor(bundle, drive)),
    }


def _light_monitor(bundle: Bundle, drive: Drive) -> Callable[[int], object]:
    """All that our alarm needs of a frame: the scorer at grade light, the predictor with its views, the alarm itself."""
    from donkey_aicc.alarm.alarm_model import AlarmStream
    from donkey_aicc.scoring.stream import StreamScorer
    from donkey_aicc.scoring.tta_views import predict_tta

    calibrator = load_calibrator(bundle, LIGHT)
    assert calibrator.alarm is not None
    scorer, alarm = StreamScorer(bundle, calibrator.settings), AlarmStream(calibrator.alarm, tuple(bundle.horizons))
    signs = np.zeros(len(calibrator.alarm.scales.middle))

    def step(number: int) -> object:
        image, action = np.asarray(drive.images[number : number + 1]), drive.actions[number : number + 1]
        scorer.step(image, action)
        found = predict_tta(bundle, images_to_array(image), np.random.default_rng(number), calibrator.settings.views)
        return alarm.step(signs, found.p_tta[0], float(found.spread.mean()))

    return step
