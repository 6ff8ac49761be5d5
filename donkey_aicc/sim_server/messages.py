"""The wire: JSON objects out of a client's bytes, numbers out of its texts, and a tick of a car as a line of telemetry."""

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.untrusted import parse_json

MOST_BYTES = 1 << 14  # of a message; the longest of a client's has a few hundred
_LONGEST_NUMBER = 40
_TOKEN = re.compile(rb'["{}]|\\.?', re.DOTALL)
_QUALITY = 90


class Messages:
    """A client writes its objects back to back, in pieces of any size. What stands between them is left out."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = self._depth = 0
        self._in_text = False

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The objects that are complete now. What is no usable JSON raises AiccError, and the next call goes on behind it."""
        self._buffer += data
        while (end := self._next_end()) is not None:
            text = bytes(self._buffer[:end])
            del self._buffer[:end]
            self._at = 0
            message = parse_json(text, "a message")
            yield message
        if len(self._buffer) > MOST_BYTES:
            raise OverflowError(f"a message must have at most {MOST_BYTES} bytes")

    def _next_end(self) -> int | None:
        """Where the first object in the buffer ends; looks at every byte once, however small the pieces are."""
        if not self._depth:
            start = self._buffer.find(b"{", self._at)
            del self._buffer[: len(self._buffer) if start < 0 else start]
            self._at = 0
        while token := _TOKEN.search(self._buffer, self._at):
            sign = token[0]
            if sign == b"\\":  # what it takes with it has not come yet
                self._at = token.start()
                return None
            self._at = token.end()
            if sign == b'"':
                self._in_text = not self._in_text
            elif not self._in_text and sign in (b"{", b"}"):
                self._depth += 1 if sign == b"{" else -1
                if not self._depth:
                    return self._at
        self._at = len(self._buffer)
        return None


def number(message: Mapping[str, Any], name: str, usual: float = 0.0) -> float:
    """A number that may come as a text; `usual` if it is not there. Raises AiccError."""
    value = message.get(name, usual)
    try:
        if isinstance(value, bool) or isinstance(value, str) and len(value) > _LONGEST_NUMBER:
            raise ValueError
        found = float(value)
        if not math.isfinite(found):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise AiccError(f"{name} must be a finite number, got {str(value)[:_LONGEST_NUMBER]!r}") from None
    return found


def line(message_type: str, **fields: Any) -> bytes:
    """One message to a client."""
    return json.dumps({"msg_type": message_type, **fields}, separators=(",", ":")).encode() + b"\n"


def picture(image: np.ndarray, encoding: str, depth: int) -> str:
    """(H, W, 3) uint8 RGB -> base64 of a JPG or PNG with 1 or 3 channels."""
    pixels = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY if depth == 1 else cv2.COLOR_RGB2BGR)
    options = [cv2.IMWRITE_JPEG_QUALITY, _QUALITY] if encoding == "JPG" else [cv2.IMWRITE_PNG_COMPRESSION, 1]
    return base64.b64encode(cv2.imencode(f".{encoding.lower()}", pixels, options)[1].tobytes()).decode()
