"""cte in pixels from a line on the floor, frame by frame, with a certainty; a line that is not there is lost, not guessed."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.labelling.footage import Footage
from donkey_aicc.labelling.line_colour import LEAST_PIXELS, THIN, WIDTH, LineColour, band_of, propose_colour
from donkey_aicc.labelling.stored_pictures import Pictures
from donkey_aicc.tubs.near_duplicates import standing_frames
from donkey_aicc.untrusted import read_table

ENOUGH_PIXELS = 3 * LEAST_PIXELS  # from here on the number of pixels leaves no doubt
LEAST_CERTAINTY = 0.5  # below, the line is lost
FAR = 0.15  # of the width: pixels of a row that lie further from its line are something else
JUMP = 0.3  # of the width, from both neighbours and back: something else of that colour
PROPOSED_FROM = 120  # frames
USUAL = "usual"


@dataclass(frozen=True)
class Line:
    """column, certainty: (N,); column is NaN where the line is lost. zero: the column that means a cte of 0."""

    column: np.ndarray
    certainty: np.ndarray
    zero: float

    @property
    def cte(self) -> np.ndarray:
        """(N,) pixels, positive when the car is to the right of the line's usual place."""
        return self.zero - self.column


def find_in(band: np.ndarray, colour: LineColour) -> tuple[float, float]:
    """Median column of the line's pixels and how sure that is; NaN and 0 where there is no line."""
    mask = colour.mask(band)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    mask &= np.isin(labels, [number for number in range(1, count) if stats[number, cv2.CC_STAT_AREA] >= 4])
    rows, columns = np.nonzero(mask)
    if len(columns) < LEAST_PIXELS:
        return float("nan"), 0.0
    found = float(np.median(columns))
    middles = np.array([np.median(columns[rows == row]) for row in np.unique(rows)])
    of_row = middles[np.unique(rows, return_inverse=True)[1]]
    one = float((np.abs(columns - of_row) <= FAR * WIDTH).mean())  # one line, not two things
    thin = float((np.bincount(rows)[np.unique(rows)] <= THIN * WIDTH).mean())
    enough = min(len(columns) / ENOUGH_PIXELS, 1.0)
    return found, round(one * (0.5 + 0.5 * thin) * (0.5 + 0.5 * enough), 3)


def find_line(footage: Footage, colour: LineColour, zero: float | None = None) -> Line:
    """zero: the column of a cte of 0; None: the middle of the picture, which is right for a line in the middle of the lane."""
    pictures = Pictures(footage)
    found = np.array([find_in(band_of(pictures.frame(at)), colour) for at in range(len(footage))])
    column, certainty = found.T.copy()
    for start, stop in zip(footage.starts[:-1], footage.starts[1:], strict=True):
        own = column[start:stop]
        before, after = np.abs(own[1:-1] - own[:-2]), np.abs(own[1:-1] - own[2:])
        with np.errstate(invalid="ignore"):
            odd = 1 + np.flatnonzero((before > JUMP * WIDTH) & (after > JUMP * WIDTH))
        certainty[start + odd] = 0.0
    column[certainty < LEAST_CERTAINTY] = np.nan
    return Line(column, certainty, WIDTH / 2 if zero is None else zero)


def usual_column(line: Line) -> float:
    """Where the line usually is: the zero of a border line."""
    if not np.isfinite(line.column).any():
        raise AiccError("the line was found in no frame; look at its colour")
    return float(np.nanmedian(line.column))


def proposed(footage: Footage) -> LineColour:
    pictures = Pictures(footage)
    return propose_colour([band_of(pictures.frame(int(at))) for at in np.linspace(0, len(footage) - 1, PROPOSED_FROM)])


def write_line_labels(path: str | Path, footage: Footage, line: Line, half_width: float | None = None) -> None:
    """The label file's format with cte instead of safe; departed where a lane's half width in pixels is given."""
    still = np.concatenate(standing_frames(footage.drives)) if footage.drives else np.zeros(0, dtype=bool)
    cells: list[list[Any]] = []
    for at, cte in enumerate(line.cte):
        known = bool(np.isfinite(cte))
        cells.append([f"{cte:.1f}" if known else "", int(not still[at]), "line" if known else ""])
        if half_width is not None:
            cells[-1].append(int(abs(cte) > half_width) if known else "")
    names = ["cte", "driving", "source"] + ([] if half_width is None else ["departed"])
    footage.write_labels(path, names, cells, line.certainty)


def summary_of(line: Line, colour: LineColour) -> str:
    """For a terminal."""
    known = np.isfinite(line.cte)
    if not known.any():
        return f"line      colour {colour}: found in no frame"
    away = np.abs(line.cte[known])
    return (
        f"line      colour {colour}: found in {100 * known.mean():.1f} % of {len(known)} frames, lost in {int((~known).sum())}\n"
        f"cte       in pixels of a picture {WIDTH} wide, 0 at column {line.zero:.0f}; median |cte| {np.median(away):.0f}, 90 % "
        f"below {np.quantile(away, 0.9):.0f}, middle {np.median(line.cte[known]):+.0f}"
    )


def compare_lines(line: Line, footage: Footage, path: str | Path) -> str:
    """How far these offsets are from those of another file with the columns index and cte (pixels, car to the right positive)."""
    names, rows = read_table(path)
    if "index" not in names or "cte" not in names:
        raise AiccError(f"{path} must have the columns index and cte, got {sorted(map(str, names))}")
    tub = footage.tubs[0]
    places = [(footage.position(tub, int(row["index"] or -1)), row["cte"]) for row in rows]
    said = {at: float(text) for at, text in places if at is not None and text}
    at = np.array(sorted(said), dtype=np.int64)
    if not len(at):
        raise AiccError(f"{path} gives no cte for a usable frame of {tub}")
    away = np.abs(line.cte[at] - np.array([said[int(each)] for each in at]))
    known = np.isfinite(away)
    return (
        f"compared with {len(at)} offsets: {100 * known.mean():.1f} % of these frames have one here; median difference "
        f"{np.nanmedian(away):.1f} px, within 5 px {100 * (away[known] <= 5).mean():.1f} %"
    )


ON_A_SHEET = 40  # frames
SHEETS = ("lost", "unsure", "sure")


def label_by_line(
    out: Path, footage: Footage, colour: LineColour, zero: float | str | None = None, half_width: float | None = None
) -> tuple[str, Line]:
    """Writes the label file, the colour and contact sheets beside it; says what was found and where it is.

    zero: the column of a cte of 0, `usual` for where the line usually is, None for the middle of the picture.
    """
    line = find_line(footage, colour, None if isinstance(zero, str) else zero)
    if zero == USUAL:
        line = replace(line, zero=usual_column(line))
    write_line_labels(out, footage, line, half_width)
    colour.save(out.with_name(f"{out.stem}_line.json"))
    sheets = [out.with_name(f"{out.stem}_{kind}.jpg") for kind in SHEETS]
    for path, kind in zip(sheets, SHEETS, strict=True):
        path.write_bytes(contact_sheet(footage, line, colour, kind))
    names = ", ".join(path.name for path in sheets)
    wrote = f"wrote {out}; look at {names}; the colour for --line is in {out.stem}_line.json"
    return f"{summary_of(line, colour)}\n{wrote}", line


def contact_sheet(footage: Footage, line: Line, colour: LineColour, kind: str) -> bytes:
    """JPEG: frames of one kind, `lost`, `unsure` or `sure`, with the line's pixels and column drawn in."""
    lost = np.flatnonzero(~np.isfinite(line.column))
    known = np.flatnonzero(np.isfinite(line.column))
    least = known[np.argsort(line.certainty[known], kind="stable")]
    wanted = {"lost": lost, "unsure": least[: max(len(least) // 20, 1)], "sure": known}[kind]
    places = np.unique(np.linspace(0, len(wanted) - 1, min(ON_A_SHEET, len(wanted))).astype(int))
    pictures = Pictures(footage)
    return pictures.mosaic(wanted[places].tolist(), lambda at: drawn(pictures.frame(at), line.column[at], colour))


def drawn(picture: np.ndarray, column: float, colour: LineColour) -> np.ndarray:
    """The picture, WIDTH wide, with the line's pixels in magenta and its column in cyan."""
    height = max(round(picture.shape[0] * WIDTH / picture.shape[1]), 8)
    shown = cv2.resize(picture, (WIDTH, height), interpolation=cv2.INTER_AREA)
    band = band_of(picture)
    first = round(2 / 3 * height)
    region = shown[first : first + len(band)]
    region[colour.mask(band)] = (255, 0, 255)
    if np.isfinite(column):
        region[:, int(np.clip(column, 0, WIDTH - 1))] = (0, 255, 255)
    return shown
