"""What the faults look like: one frame per protocol and severity on one sheet, as the model saw it."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from donkey_aicc.tubs.drive import Drive
from donkey_aicc.untrusted import json_or_none

NAME = "contact_sheet.jpg"
TILE_PX, LEFT_PX, LINE_PX, GAP_PX = 128, 96, 22, 8
MOST_TILES = 6  # in a row
INK, PAPER = (20, 24, 28), (255, 255, 255)


def contact_sheet(nominal: Sequence[Drive], ood: Mapping[str, Sequence[Drive]]) -> bytes:
    """JPEG; the same drives give the same bytes. The frame is the middle one of the first stretch under that severity."""
    rows = [("nominal", [("", drive.images[len(drive) // 2]) for drive in nominal[:MOST_TILES]])]
    rows += [(name, list(_tiles(drives))[:MOST_TILES]) for name, drives in ood.items()]
    tiles = max(1, *(len(row) for _, row in rows))
    width, tall = LEFT_PX + tiles * (TILE_PX + GAP_PX), TILE_PX + LINE_PX + GAP_PX
    sheet = Image.new("RGB", (width, len(rows) * tall + GAP_PX), PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(15)
    for number, (name, row) in enumerate(rows):
        top = GAP_PX + number * tall
        draw.text((GAP_PX, top + TILE_PX // 2), name.capitalize()[:12], INK, font, anchor="lm")
        for place, (label, pixels) in enumerate(row):
            left = LEFT_PX + place * (TILE_PX + GAP_PX)
            shown = Image.fromarray(np.ascontiguousarray(pixels)).resize((TILE_PX, TILE_PX), Image.Resampling.BICUBIC)
            sheet.paste(shown, (left, top))
            draw.text((left, top + TILE_PX + 4), label, INK, font, anchor="la")
    out = io.BytesIO()
    said = json.dumps([[name, [label for label, _ in row]] for name, row in rows])
    sheet.save(out, "JPEG", quality=85, comment=said)
    return out.getvalue()


def cut_sheet(sheet: bytes) -> list[tuple[str, list[tuple[str, bytes]]]]:
    """The sheet as (fault, [(label, JPEG)]), so that a page puts as many beside each other as its reader's screen has room for.

    Empty for a picture that is no such sheet.
    """
    try:
        with Image.open(io.BytesIO(sheet)) as picture:
            named = json_or_none(picture.info.get("comment", b""))
            return [(str(name), _cut(picture, row, labels)) for row, (name, labels) in enumerate(named)]
    except (OSError, TypeError, ValueError, Image.DecompressionBombError):
        return []


def _cut(picture: Image.Image, row: int, labels: Sequence[str]) -> list[tuple[str, bytes]]:
    found = []
    for place, label in enumerate(labels):
        left, top = LEFT_PX + place * (TILE_PX + GAP_PX), GAP_PX + row * (TILE_PX + LINE_PX + GAP_PX)
        tile = io.BytesIO()
        picture.crop((left, top, left + TILE_PX, top + TILE_PX)).save(tile, "JPEG", quality=90)
        found.append((str(label), tile.getvalue()))
    return found


def _tiles(drives: Sequence[Drive]) -> Iterator[tuple[str, np.ndarray]]:
    """(label, (64, 64, 3) uint8) of every severity that occurs, weakest first."""
    found: dict[int, np.ndarray] = {}
    for drive in drives:
        for severity in np.unique(drive.severity[drive.protocol != ""]).tolist():
            rows = np.flatnonzero((drive.protocol != "") & (drive.severity == severity))
            found.setdefault(int(severity), drive.images[rows[len(rows) // 2]])
    for severity in sorted(found):
        yield (f"severity {severity}" if severity else "severity unknown"), found[severity]
