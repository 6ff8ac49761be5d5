"""One self-contained HTML file: the replay page with its scripts, the series and the pictures in it, to send to somebody."""

import base64
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from donkey_aicc.files import write_atomic
from donkey_aicc.progress import progress
from donkey_aicc.replay.events import find_events
from donkey_aicc.replay.packed import packed_run
from donkey_aicc.replay.pictures import encoded_jpeg, picture_of
from donkey_aicc.replay.replay_page import FOLDER
from donkey_aicc.replay.run import Run
from donkey_aicc.web.whole_page import LOOK, whole_page, with_styles_inside

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
