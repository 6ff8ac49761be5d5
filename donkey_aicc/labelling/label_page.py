"""The labelling page: which requests its files make, and what of a session answers them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.labelling.answers import CLASSES, CORRECTED, STRETCH, Answer
from donkey_aicc.labelling.floor_colours import KINDS, FloorColours, colour_at
from donkey_aicc.labelling.line_page import LineRequests
from donkey_aicc.labelling.proposal import NO_LABEL
from donkey_aicc.labelling.session import LabelSession, doubts
from donkey_aicc.labelling.stored_pictures import CLIP, CLIP_COLUMNS, Pictures
from donkey_aicc.web.page_server import Blob, Page, Query, number

FOLDER = Path(__file__).resolve().parent / "page"
SHEETS = (*CLASSES, "unsure", "answers_in_doubt")
ON_A_SHEET = 40
APART_S = 0.7  # between two frames of a sheet, or it would show one place forty times
LONGEST_STRETCH = 2000  # frames
FETCHED = 3  # questions whose pictures the page may fetch ahead
COLUMNS_OF_THE_DRIVE = 400  # in the preview over the whole drive


class LabelRequests:
    """One function per request; page_server calls them one after the other."""

    def __init__(self, session: LabelSession) -> None:
        self._session, self._pictures = session, Pictures(session.footage)
        self._line = LineRequests(session, self._pictures, self._position)

    def state(self, _: object = None) -> dict[str, Any]:
        """All that the page shows besides pictures."""
        session = self._session
        asked = session.ask(FETCHED)
        said = session.proposal
        return {
            **session.counts(),
            "question": {"at": asked[0][0], "why": asked[0][1]} if asked else None,
            "accuracy": said.accuracy.to_json() if said.accuracy else None,
            "limit": said.limit,
            "doubts": doubts(session),
            "undo": bool(session.log.latest),
            "out": str(session.out),
            "clip": {"frames": CLIP, "columns": CLIP_COLUMNS, "cell": list(self._pictures.cell)},
            "next": [position for position, _ in asked[1:]],
            "drives": session.footage.starts.tolist(),
            "rate_hz": _rate(session.footage.times_s),
            "floor": self._floor(),
            "line": self._line.state(),
        }

    def answer(self, given: dict[str, Any]) -> dict[str, Any]:
        """{"at": position, "until": position of a stretch's last frame or absent, "answer": word, "why": word or absent}."""
        first = self._position(given.get("at"), "at")
        last = self._position(given.get("until", first), "until")
        starts = self._session.footage.starts
        if not first <= last < first + LONGEST_STRETCH or last >= starts[np.searchsorted(starts, first, side="right")]:
            raise AiccError(f"a stretch must lie in one drive and have at most {LONGEST_STRETCH} frames, got {first} to {last}")
        asked = dict(self._session.ask(FETCHED))
        why = STRETCH if last > first else asked.get(first, CORRECTED)
        self._session.answer([Answer(at, str(given.get("answer")), why) for at in range(first, last + 1)])
        return self.state()

    def undo(self, _: object) -> dict[str, Any]:
        undone = self._session.undo()
        return {**self.state(), "undone": undone[0].position if undone else None}

    def refit(self, _: object) -> dict[str, Any]:
        self._session.refit()
        return self.state()

    def sheet(self, query: Query) -> dict[str, Any]:
        """Frames of one kind, the least certain first, no two of one moment."""
        kind, page = query.get("kind", ""), int(number(query.get("page", 0), "page"))
        one_of("kind", kind, SHEETS)
        said = self._session.proposal
        if kind == "answers_in_doubt":
            pairs = [position for pair in said.clashes for position in pair]
            wanted: Sequence[int] = list(dict.fromkeys([*said.suspects, *pairs]))
        else:
            place = NO_LABEL if kind == "unsure" else CLASSES.index(kind)
            found = np.flatnonzero(said.label == place)
            wanted = found[np.argsort(said.certainty[found], kind="stable")].tolist()
        apart = self._apart(wanted, (page + 1) * ON_A_SHEET + 1)
        shown = apart[page * ON_A_SHEET : (page + 1) * ON_A_SHEET]
        frames = [{"at": at, "certainty": float(said.certainty[at]), "source": str(said.source[at])} for at in shown]
        return {"kind": kind, "page": page, "frames": frames, "total": len(wanted), "more": len(apart) > (page + 1) * ON_A_SHEET}

    def mosaic(self, query: Query) -> Blob:
        words = query.get("at", "").split(",")[:ON_A_SHEET]
        return Blob(self._pictures.mosaic([self._position(word, "at") for word in words]))

    def clip(self, query: Query) -> Blob:
        at = self._position(number(query.get("number"), "number") * CLIP, "number")
        return Blob(self._pictures.clip(at // CLIP))

    def pick(self, given: dict[str, Any]) -> dict[str, Any]:
        """A colour from a frame: {"at", "x", "y" in shares of the picture, "kind": road or not_road}."""
        one_of("kind", given.get("kind"), KINDS)
        picture = self._pictures.frame(self._position(given.get("at"), "at"))
        colour = colour_at(picture, number(given.get("x"), "x"), number(given.get("y"), "y"))
        self._session.set_floor(self._session.floor.with_pick(str(given["kind"]), colour))
        return self.state()

    def floor(self, given: dict[str, Any]) -> dict[str, Any]:
        """{"region": four shares}, {"forget": true} for no colours, {"use": true or false}: labels from colours or answers."""
        floor = self._session.floor
        if given.get("forget"):
            floor = FloorColours(region=floor.region)
        if "region" in given:
            if not isinstance(given["region"], list) or len(given["region"]) != 4:
                raise AiccError("the region must be four numbers: left, top, right, bottom")
            left, top, right, bottom = (number(each, "region") for each in given["region"])
            floor = replace(floor, region=(left, top, right, bottom))
        if "use" in given:
            floor = replace(floor, used=given["use"] is True)
        self._session.set_floor(floor)
        return self.state()

    def floor_picture(self, query: Query) -> Blob:
        return Blob(self._pictures.floor(self._position(query.get("at"), "at"), self._session.floor))

    def pick_line(self, given: dict[str, Any]) -> dict[str, Any]:
        self._line.pick(given)
        return self.state()

    def line(self, given: dict[str, Any]) -> dict[str, Any]:
        self._line.change(given)
        return self.state()

    def line_picture(self, query: Query) -> Blob:
        return self._line.picture(query)

    def _floor(self) -> dict[str, Any]:
        floor, shares = self._session.floor, self._session.shares
        found: dict[str, Any] = {"region": list(floor.region), "road": floor.road, "not_road": floor.not_road}
        found["used"] = floor.used
        if shares is not None:
            parts = np.array_split(shares, min(COLUMNS_OF_THE_DRIVE, len(shares)))
            found["drive"] = [[round(float(value), 3) for value in part.mean(axis=0)] for part in parts]
            found["check"] = self._session.check_colours()
        return found

    def _apart(self, wanted: Sequence[int], most: int) -> list[int]:
        taken = np.zeros(len(self._session.footage), dtype=bool)
        found: list[int] = []
        for position in wanted:
            if not taken[position]:
                found.append(position)
                taken[self._session.footage.near(position, APART_S)] = True
                if len(found) >= most:
                    break
        return found

    def _position(self, value: Any, name: str) -> int:
        found = number(value, name)
        if not (found == int(found) and 0 <= found < len(self._session.footage)):
            raise AiccError(f"{name} must be a frame from 0 to {len(self._session.footage) - 1}, got {found:g}")
        return int(found)


def label_page(session: LabelSession) -> Page:
    """For donkey_aicc.web.page_server."""
    requests = LabelRequests(session)
    get = {name: getattr(requests, name) for name in ("state", "sheet", "mosaic", "clip", "floor_picture", "line_picture")}
    post = {name: getattr(requests, name) for name in ("answer", "undo", "refit", "pick", "floor", "pick_line", "line")}
    return Page(FOLDER, get=get, post=post)


def _rate(times_s: np.ndarray) -> float:
    steps = np.diff(times_s)
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.05
    return round(1.0 / max(usual, 1e-3), 2)
