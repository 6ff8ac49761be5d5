"""The page's tab for a line on the floor: click on it in a few frames, see what is found, write cte for every frame."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.labelling.floor_colours import Colour, colour_at
from donkey_aicc.labelling.line_colour import LineColour, band_of, brightness_of
from donkey_aicc.labelling.line_labels import drawn, find_in, label_by_line, proposed
from donkey_aicc.labelling.session import LabelSession
from donkey_aicc.labelling.stored_pictures import Pictures, jpeg
from donkey_aicc.web.page_server import Blob, Query, number


class LineRequests:
    """Picks and the colour they make. Its labels are a file of their own: cte instead of safe."""

    def __init__(self, session: LabelSession, pictures: Pictures, position: Callable[[Any, str], int]) -> None:
        self._session, self._pictures, self._position = session, pictures, position
        self.out = Path(session.out).with_name(f"{Path(session.out).stem}_cte.csv")
        self._forget()

    def _forget(self) -> None:
        self._picks: list[Colour] = []
        self._light: list[float] = []
        self._colour: LineColour | None = None
        self._said = ""

    def state(self) -> dict[str, Any]:
        return {"picks": self._picks, "colour": str(self._colour or ""), "said": self._said, "out": str(self.out)}

    def pick(self, given: dict[str, Any]) -> None:
        """{"at", "x", "y" in shares of the picture}."""
        picture = self._pictures.frame(self._position(given.get("at"), "at"))
        self._picks.append(colour_at(picture, number(given.get("x"), "x"), number(given.get("y"), "y")))
        self._light.append(brightness_of(cv2.cvtColor(band_of(picture), cv2.COLOR_RGB2HSV)))
        self._colour, self._said = LineColour.of_picks(self._picks, float(np.median(self._light))), ""

    def change(self, given: dict[str, Any]) -> None:
        """{"forget": true} the picks, {"propose": true} a colour, or {"write": true} the label file."""
        if given.get("forget"):
            self._forget()
        if given.get("propose"):
            self._forget()
            self._colour = proposed(self._session.footage)
        if given.get("write"):
            if self._colour is None:
                raise AiccError("click on the line in at least one frame, or let a colour be proposed")
            self._said = label_by_line(self.out, self._session.footage, self._colour)[0]

    def picture(self, query: Query) -> Blob:
        """A frame with what is found of the line in it."""
        picture = self._pictures.frame(self._position(query.get("at"), "at"))
        if self._colour is None:
            return Blob(jpeg(picture))
        return Blob(jpeg(drawn(picture, find_in(band_of(picture), self._colour)[0], self._colour)))
