"""The replay page: which requests its files make, and what of the runs answers them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.replay.packed import packed_run
from donkey_aicc.replay.pictures import Heat, jpeg_of_row
from donkey_aicc.replay.run import Run
from donkey_aicc.web.page_server import Blob, Page, number

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
