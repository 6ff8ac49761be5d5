"""The whole way from a video to a label file and its report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic, write_json
from donkey_aicc.overhead.joining import OverheadLabels, join, read_trace, write_labels
from donkey_aicc.overhead.label_report import quality_report, report_text
from donkey_aicc.overhead.path_picture import draw_path, save_picture
from donkey_aicc.overhead.setup_file import load_setup
from donkey_aicc.overhead.tracking import MarkerPath, track_marker
from donkey_aicc.overhead.video import Video

REPORT_JSON, REPORT_TEXT, PICTURE = "report.json", "report.txt", "path.png"


@dataclass(frozen=True, eq=False)
class LabelRun:
    """What label_tub computed and where it put it."""

    path: MarkerPath
    labels: OverheadLabels
    report: dict[str, Any]
    text: str
    report_dir: Path


def label_tub(
    video_path: str | Path,
    setup_path: str | Path,
    tub_path: str | Path,
    out: str | Path,
    report_dir: str | Path | None = None,
    offset_s: float | None = None,
    with_tub_name: bool = False,
) -> LabelRun:
    """Track, align, join; write the label file, and the report beside it (default `<out>_report/`)."""
    out = Path(out)
    folder = Path(report_dir) if report_dir is not None else out.with_name(f"{out.stem}_report")
    for target in (out, folder):
        _refuse_inside(target, Path(tub_path))
    video = Video(video_path)
    setup = load_setup(setup_path, video.info.size_px)
    tub = read_trace(tub_path)
    path = track_marker(video, setup)
    labels = join(path, tub, setup.centreline, offset_s)
    report = quality_report(video, setup, path, labels)
    text = report_text(report)
    write_labels(out, labels, with_tub_name)
    write_json(folder / REPORT_JSON, report)
    write_atomic(folder / REPORT_TEXT, text + "\n")
    title = f"{video.path.name}: marker seen in {100 * path.seen.mean():.1f} %, {len(labels.cte_m)} records"
    save_picture(folder / PICTURE, draw_path(video.frame_at(0.0), setup, path, title))
    return LabelRun(path, labels, report, text, folder)


def _refuse_inside(target: Path, tub: Path) -> None:
    if target.resolve().is_relative_to(tub.resolve()):
        raise AiccError(f"{target} lies inside the tub {tub}, and tubs are only read; choose another place")
