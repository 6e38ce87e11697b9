"""Values that a page carries packed together, as many as there is room for."""

import json
import zlib
from base64 import b64encode
from typing import Any


def json_bytes(value: Any) -> bytes:
    """Return a value as short JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


class Squeezed:
    """An object of JSON that grows, and stays below a size once it is packed.

    Args:
        most: letters that it may take.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._squeezer = zlib.compressobj(9)
        self._done = self._squeezer.compress(b"{")
        self._empty = True

    def add(self, key: str, value: Any) -> bool:
        """Add an entry if there is room; return whether there was."""
        longer = self._squeezer.copy()
        comma = b"" if self._empty else b","
        done = self._done + longer.compress(comma + json_bytes(key) + b":" + json_bytes(value))
        if len(_letters(done, longer)) > self._most:
            return False
        self._squeezer, self._done, self._empty = longer, done, False
        return True

    @property
    def text(self) -> str:
        """What a page carries (``pages/unpack.js``)."""
        return _letters(self._done, self._squeezer)


def _letters(done: bytes, squeezer: "zlib._Compress") -> str:
    last = squeezer.copy()
    return b64encode(done + last.compress(b"}") + last.flush()).decode()
