"""From paths to labelled sequences: the one entry for training, scoring and `donkey-aicc check`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError, one_of
from donkey_aicc.limits import MAX_GAP_S
from donkey_aicc.tubs.assemble import AssembledTub, assemble_tub
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.find_tubs import find_tubs, tub_names
from donkey_aicc.tubs.labels import (
    TAKEOVER_WINDOW_S,
    CsvLabels,
    auto_tau,
    check_half_width,
    departed_frames,
    read_label_csv,
    safe_from_cte,
    safe_from_marks,
    safe_from_takeovers,
    takeover_count,
)
from donkey_aicc.tubs.near_duplicates import runs_of, standing_frames
from donkey_aicc.tubs.tub_contents import LOSS, NOTE, Finding, found
from donkey_aicc.tubs.tub_health import DataReport

LABEL_SOURCES = ("auto", "cte", "csv", "takeover", "mark")
CSV_CTE, CSV_SAFE = "csv (cte)", "csv (safe)"
CTE_SOURCES = ("cte", CSV_CTE)
OFF_CENTRE = 0.5  # of the usual distance from the middle


@dataclass(frozen=True)
class LoadedData:
    """`tau` is the threshold behind the labels, None if no label came from a cte."""

    drives: list[Drive]
    tau: float | None
    report: DataReport
    lane_half_width: float | None = None  # the widest lane of the tubs, None if no departure came from a cte


def load_drives(
    paths: Iterable[str | Path],
    *,
    label_source: str = "auto",
    tau: float | str | None = "auto",
    cte_centre: float = 0.0,
    labels_csv: str | Path | None = None,
    max_gap_s: float = MAX_GAP_S,
    min_length: int = 1,
    cache_dir: str | Path | None = None,
    label_window_s: float = TAKEOVER_WINDOW_S,
    must_be_usable: bool = True,
    lane_half_width: float | None = None,
    driving_only: bool = False,
    listed_only: bool = False,
) -> LoadedData:
    """Sequences of all tubs below the paths, labelled, and a report on every tub.

    tau: threshold in the unit of the recorded cte, 'auto' (about half of the nominal frames safe) or None (keep cte, set
    no label from it). label_window_s: how long before a takeover or mark the frames count as unsafe.
    lane_half_width: |cte - centre| beyond it is a departure; None takes what each tub's recorder noted.
    listed_only: leave out catalogs that a tub's manifest does not list.
    driving_only: leave out frames in which the car is carried or parked; the report counts them either way.
    must_be_usable: raise if no sequence is left, or no label of the kind asked for; False leaves that to the report.
    """
    _check_options(label_source, tau, labels_csv, max_gap_s, min_length)
    check_half_width(lane_half_width)
    tubs = find_tubs(paths, keep_others=not must_be_usable)
    assembled = [
        assemble_tub(path, name, max_gap_s, min_length, cache_dir, listed_only)
        for path, name in zip(tubs, tub_names(tubs), strict=True)
    ]
    if labels_csv is not None:
        chosen = [_from_file(tub, labels_csv, len(assembled) == 1) for tub in assembled]
    else:
        chosen = [(_choose_source(tub, label_source), tub.sequences) for tub in assembled]
        for tub in assembled:
            _find_standing(tub, None)
    threshold = _threshold(chosen, tau, cte_centre)
    labelled: list[Drive] = []
    for tub, (source, sequences) in zip(assembled, chosen, strict=True):
        lane = lane_half_width or tub.lane_half_width
        done = [
            sequence.with_labels(
                _label(sequence, marks, source, threshold, cte_centre, label_window_s),
                departed=departed_frames(
                    sequence.cte, sequence.mode, marks, sequence.departed, half_width=lane, centre=cte_centre
                ),
            )
            for sequence, marks in zip(sequences, tub.marks, strict=True)
        ]
        _report_labels(tub, source, done)
        if source in CTE_SOURCES:
            tub.health.findings += _about_centre(done, cte_centre)
        labelled += _driving(tub, done) if driving_only else done
    report = DataReport([tub.health for tub in assembled], threshold, cte_centre, balanced=tau == "auto")
    if must_be_usable:
        _require_use(labelled, report, label_source if tau is not None else "auto", min_length)
    widths = [width for tub in assembled if (width := lane_half_width or tub.lane_half_width)]
    return LoadedData(labelled, threshold, report, max(widths, default=None))


def _require_use(sequences: list[Drive], report: DataReport, label_source: str, min_length: int) -> None:
    if not sequences:
        names = " ".join(tub.path for tub in report.tubs)
        why = [finding.message for tub in report.tubs for finding in tub.findings if finding.level != NOTE]
        said = f" ({'; '.join(why[:3])})" if why else ""
        raise AiccError(f"no usable sequence of at least {min_length} frames{said}; see: donkey-aicc check {names}")
    if label_source != "auto" and not any(tub.labelled for tub in report.tubs):
        raise AiccError(f"label source {label_source}: none of the {len(report.tubs)} tubs holds such labels")


def _check_options(
    label_source: str, tau: float | str | None, labels_csv: str | Path | None, max_gap_s: float, min_length: int
) -> None:
    one_of("label source", label_source, LABEL_SOURCES)
    if isinstance(tau, str) and tau != "auto":
        raise ConfigError(f"tau must be a number > 0 or auto, got {tau!r}")
    if not isinstance(tau, str) and tau is not None and not tau > 0:
        raise ConfigError(f"tau must be a number > 0 or auto, got {tau}")
    if label_source == "csv" and labels_csv is None:
        raise ConfigError("label source csv needs a label file with the columns index and cte or safe")
    if label_source not in ("auto", "csv") and labels_csv is not None:
        raise ConfigError(f"a label file is given, but the label source is {label_source}; use csv or auto")
    if not max_gap_s > 0:
        raise ConfigError(f"the largest time gap must be > 0 s, got {max_gap_s}")
    if min_length < 1:
        raise ConfigError(f"the smallest sequence length must be >= 1, got {min_length}")


Chosen = tuple[str, list[Drive]]  # label source, and the sequences with what a label file says filled in


def _find_standing(tub: AssembledTub, labels: CsvLabels | None) -> None:
    """A label file that speaks of driving is trusted; otherwise a picture that stands still gives a parked car away."""
    said = [labels.not_driving(sequence.indices) for sequence in tub.sequences] if labels is not None else []
    by_file = [one for one in said if one is not None]
    tub.standing[:] = by_file if len(by_file) == len(tub.sequences) else standing_frames(tub.sequences)
    tub.health.not_driving = int(sum(one.sum() for one in tub.standing))
    message = f"{tub.health.not_driving} frames are not driving (parked or carried); training and calibration leave them out"
    tub.health.findings += found(NOTE, "not-driving", message, tub.health.not_driving)


def _driving(tub: AssembledTub, sequences: list[Drive]) -> list[Drive]:
    return [run for sequence, still in zip(sequences, tub.standing, strict=True) for run in runs_of(sequence, ~still)]


def _choose_source(tub: AssembledTub, asked: str) -> str:
    """One source per tub: what was asked for, else the best the tub holds."""
    if asked != "auto":
        return asked
    if any(np.isfinite(sequence.cte).any() for sequence in tub.sequences):
        return "cte"
    if any(np.nan_to_num(marks).any() for marks in tub.marks):
        return "mark"
    return "takeover" if any(takeover_count(sequence.mode) for sequence in tub.sequences) else "none"


def _from_file(tub: AssembledTub, labels_csv: str | Path, one_tub: bool) -> Chosen:
    """A label file overrules what the tub holds."""
    labels = read_label_csv(labels_csv, tub.health.name, one_tub)
    _find_standing(tub, labels)
    filled = []
    strange = 0
    for sequence in tub.sequences:
        cte, safe, certainty = labels.lookup(sequence.indices)
        others = labels.of_others(sequence.indices, sequence.times_s)
        departed = labels.out_of_lane(sequence.indices)
        cte[others], safe[others], departed[others], strange = np.nan, np.nan, np.nan, strange + int(others.sum())
        filled.append(sequence.with_labels(safe, cte=cte if labels.cte else None, certainty=certainty, departed=departed))
    known = {int(index) for sequence in tub.sequences for index in sequence.indices}
    given = labels.cte.keys() | labels.safe.keys()
    shared = len(given & known)
    if given and known and 2 * strange >= shared:
        why = f"{strange} of {shared} records there were taken at another time than it says" if shared else "none is usable there"
        raise AiccError(
            f"the label file {labels_csv} is of another tub than {tub.health.path}: of its {len(given)} indices {why}"
        )
    unused = len(given - known)
    tub.health.findings += found(NOTE, "labels-unused", f"{unused} rows of the label file have no usable record", unused)
    late = f"{strange} rows of the label file were made for a record of another time, and are left out"
    tub.health.findings += found(LOSS, "labels-of-others", late, strange)
    return (CSV_CTE if labels.cte else CSV_SAFE if labels.safe else "none"), filled


def _threshold(chosen: list[Chosen], tau: float | str | None, centre: float) -> float | None:
    measured = [
        sequence
        for source, sequences in chosen
        for sequence in sequences
        if source in CTE_SOURCES and np.isfinite(sequence.cte).any()
    ]
    if tau is None or not measured:
        return None
    return auto_tau(measured, centre) if isinstance(tau, str) else float(tau)


def _about_centre(sequences: list[Drive], centre: float) -> list[Finding]:
    """A note where the usual cte is far from the centre: the recorder may have measured from a border, or from elsewhere."""
    cte = np.concatenate([sequence.cte[sequence.protocol == ""] for sequence in sequences] or [np.empty(0)])
    cte = cte[np.isfinite(cte)]
    if not len(cte):
        return []
    middle = float(np.median(cte))
    if middle == centre or abs(middle - centre) < OFF_CENTRE * float(np.median(np.abs(cte - middle))):
        return []
    message = f"the usual cte is {middle:.3g}, not {centre:g}: if that is the middle of the lane, give --cte-centre {middle:.3g}"
    return [Finding(NOTE, "cte-off-centre", message)]


def _label(sequence: Drive, marks: np.ndarray, source: str, tau: float | None, centre: float, window_s: float) -> np.ndarray:
    if source in CTE_SOURCES and tau is not None:
        return safe_from_cte(sequence.cte, tau, centre)
    if source == "takeover":
        return safe_from_takeovers(sequence.mode, sequence.times_s, window_s)
    if source == "mark":
        return safe_from_marks(marks, sequence.times_s, window_s)
    return sequence.safe  # from a file, or unlabelled


def _report_labels(tub: AssembledTub, source: str, sequences: list[Drive]) -> None:
    safe = np.concatenate([sequence.safe for sequence in sequences]) if sequences else np.empty(0)
    known = safe[np.isfinite(safe)]
    health = tub.health
    health.label_source, health.labelled = source, len(known)
    if any(np.isfinite(sequence.departed).any() for sequence in sequences):
        health.departures = sum(
            int((np.diff(sequence.departed > 0, prepend=False) & (sequence.departed > 0)).sum()) for sequence in sequences
        )
    if len(known):
        health.safe_share = float(known.mean())
        single = len(known) if health.safe_share in (0.0, 1.0) else 0
        kind = "safe" if health.safe_share == 1.0 else "unsafe"
        health.findings += found(NOTE, "one-class", f"every labelled frame is {kind}", single)
