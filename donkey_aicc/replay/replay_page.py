"""The replay page: served beside a command, or as one self-contained HTML file to send to somebody.

Both read a run as compact JSON: numbers as 16 bits in base64, words by number. In the file the scripts, the series and the
pictures are inside; a server answers the requests that the page's files make.
"""

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic
from donkey_aicc.progress import progress
from donkey_aicc.replay.pictures import Heat, encoded_jpeg, jpeg_of_row, picture_of
from donkey_aicc.replay.run import KINDS, Run, find_events
from donkey_aicc.web.page_server import Blob, Page, number
from donkey_aicc.web.whole_page import LOOK, whole_page, with_styles_inside

LEVELS = 65534  # of one number between the smallest and the largest of its column; 65535 is unknown
UNKNOWN = 65535
HIDDEN = ("rho_z", "delta_z", "scores_valid")  # used for events, not shown


def packed_run(run: Run, number: int = 0) -> dict[str, Any]:
    """Everything the page needs about a run but the pictures."""
    return {
        "run": number,
        "name": run.name,
        "rate_hz": round(run.rate_hz, 3),
        "length": len(run),
        "horizons": list(run.horizons),
        "main_horizon": run.main_horizon,
        "features": list(run.features),
        "track": run.track,
        "safe": run.safe,
        "scores_from": run.scores_from,
        "notes": list(run.notes),
        "index": base64.b64encode(run.index.astype("<f8").tobytes()).decode(),
        "t": base64.b64encode(run.t.astype("<f8").tobytes()).decode(),
        "numbers": {name: packed_numbers(values) for name, values in run.numbers.items() if name not in HIDDEN},
        "words": {name: packed_words(values) for name, values in run.words.items()},
        "events": [event.to_json() for event in find_events(run)],
        "kinds": list(KINDS),
    }


def packed_numbers(values: np.ndarray) -> dict[str, Any]:
    """(N,) or (N, K) -> {from, to, width, data}; the step is a 65534th of the range, finer than any screen."""
    known = values[np.isfinite(values)].astype(np.float64)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    scaled = (values.astype(np.float64) - low) * (LEVELS / (high - low) if high > low else 0.0)
    levels = np.where(np.isfinite(values), np.rint(np.nan_to_num(scaled)), UNKNOWN).astype("<u2")
    return {
        "from": low,
        "to": high,
        "width": 1 if values.ndim == 1 else values.shape[1],
        "vector": values.ndim == 2,
        "whole": bool((known == np.rint(known)).all()),
        "data": base64.b64encode(levels.tobytes()).decode(),
    }


def packed_words(values: np.ndarray) -> dict[str, Any]:
    """(N,) str -> {words, data}; at most 65535 different ones, the rest is ''."""
    words, codes = np.unique(values, return_inverse=True)
    kept = [str(word) for word in words[:UNKNOWN]]
    codes = np.where(codes < len(kept), codes, UNKNOWN)
    return {"words": kept, "data": base64.b64encode(codes.astype("<u2").tobytes()).decode()}


FOLDER = Path(__file__).resolve().parent / "page"


def replay_page(runs: Sequence[Run], heats: Sequence[Heat | None]) -> Page:
    """One or two runs for donkey_aicc.web.page_server; heats: one per run, None without a heat map."""
    packed = [packed_run(run, place) | {"heat": heats[place] is not None} for place, run in enumerate(runs)]

    def place(query: Mapping[str, str]) -> tuple[int, int]:
        which = _whole(query, "run", len(runs))
        return which, _whole(query, "row", len(runs[which]))

    def frame(query: Mapping[str, str]) -> Blob:
        which, row = place(query)
        jpeg = jpeg_of_row(runs[which], row)
        if jpeg is None:
            raise AiccError(f"record {runs[which].index[row]} has no readable picture")
        return Blob(jpeg)

    def heat(query: Mapping[str, str]) -> dict[str, Any]:
        which, row = place(query)
        maker = heats[which]
        return {"heat": None if maker is None else maker.of_row(runs[which], row)}

    return Page(FOLDER, get={"runs": lambda query: {"runs": packed}, "frame": frame, "heat": heat})


def _whole(query: Mapping[str, str], name: str, below: int) -> int:
    value = number(query.get(name, 0), name)
    if not 0 <= value < below or value != int(value):
        raise AiccError(f"{name} must be a whole number from 0 to {below - 1}, got {value:g}")
    return int(value)


LARGEST_BYTES = 20_000_000  # what most mail servers still take; pictures are thinned out to stay below
MOST_RECORDS = 40_000  # beyond it, records are thinned out too
WIDEST_PX, QUALITY = 320, 70
SAMPLES = 24  # pictures that tell how large the others will be
POLICY = (  # the file asks nobody for anything
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def write_html(runs: Sequence[Run], path: str | Path, largest_bytes: int = LARGEST_BYTES) -> str:
    """Write it and say what is in it."""
    runs = [_thinned(run) for run in runs]
    packed = [packed_run(run, number) | {"heat": False} for number, run in enumerate(runs)]
    room = largest_bytes - len(json.dumps(packed)) - len(_page("{}"))
    every = max(1, math.ceil(sum(_size(run) for run in runs) / max(room, 1)))
    while True:
        frames = [_frames(run, every) for run in runs]
        size = sum(len(jpeg) + 8 for each in frames for jpeg in each["jpegs"])
        if size <= room or every >= max(len(run) for run in runs):
            break
        every += max(1, every // 4)
    kept = f"every {_ordinal(every)} picture and those of the events are in it" if every > 1 else "all pictures are in it"
    data = {"runs": packed, "frames": frames, "note": f"A file to share: {kept}"}
    page = _page(json.dumps(data).replace("</", "<\\/"))
    write_atomic(path, page)
    return f"{path}: {len(page) / 1e6:.1f} MB, {kept}"


def _thinned(run: Run) -> Run:
    """Not more records than a page can hold; the notes say so."""
    every = math.ceil(len(run) / MOST_RECORDS)
    if every <= 1:
        return run
    return run.taking(np.arange(0, len(run), every), f"every {_ordinal(every)} record is in this file")


def _size(run: Run) -> float:
    """Bytes that all pictures would take in base64, from a few of them."""
    rows = np.unique(np.linspace(0, len(run) - 1, SAMPLES).astype(int))
    sizes = [len(_jpeg(run, int(row)) or "") for row in rows]
    return float(np.mean(sizes)) * len(run)


def _frames(run: Run, every: int) -> dict[str, list]:
    wanted = sorted({*range(0, len(run), every), *(event.row for event in find_events(run))})
    found = [(row, jpeg) for row in progress(wanted, "pictures", unit="pictures") if (jpeg := _jpeg(run, row)) is not None]
    return {"rows": [row for row, _ in found], "jpegs": [jpeg for _, jpeg in found]}


def _jpeg(run: Run, row: int) -> str | None:
    pixels = picture_of(run, row)
    return None if pixels is None else base64.b64encode(encoded_jpeg(pixels, QUALITY, WIDEST_PX)).decode()


def _page(data: str) -> str:
    """The page with style sheets and scripts inside; modules find each other by name in an import map."""
    page = with_styles_inside(whole_page(FOLDER), FOLDER)
    scripts = [*LOOK.glob("*.js"), *FOLDER.glob("*.js")]
    modules = {script.stem: _module(script.read_text(encoding="utf-8")) for script in sorted(scripts)}
    inside = (
        f'<script type="application/json" id="aicc-data">{data}</script>\n'
        f'<script type="importmap">{json.dumps({"imports": modules})}</script>\n'
        '<script type="module">import "replay";</script>'
    )
    page = page.replace('<script type="module" src="replay.js"></script>', inside)
    return page.replace("<head>", f'<head>\n  <meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)


def _module(code: str) -> str:
    """A data address of the script, in which other scripts are called by their bare names."""
    bare = re.sub(r'from "\./(?:look/)?(\w+)\.js"', r'from "\1"', code)
    return "data:text/javascript;base64," + base64.b64encode(bare.encode()).decode()


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"
