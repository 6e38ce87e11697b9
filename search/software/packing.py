"""Plain values in short strings: compressed JSON, in signs that JSON leaves as they are."""

import json
import zlib
from base64 import b85decode, b85encode
from typing import Any, Final

from archloom.space import bounded_json

#: most bytes that a string is unpacked to; results of ten networks take a few hundred thousand
MOST_BYTES: Final = 64 * 2**20


def pack(content: Any) -> str:
    """Return JSON of something in a short string; :func:`unpack` is the inverse."""
    return b85encode(zlib.compress(json.dumps(content, separators=(",", ":")).encode())).decode()


def unpack(text: str) -> Any:
    """Return what :func:`pack` was given.

    Raises:
        ValueError, TypeError, RecursionError, zlib.error: it is no such string, or would expand to
            more than any content does.
    """
    expander = zlib.decompressobj()
    plain = expander.decompress(b85decode(text), MOST_BYTES)
    if expander.unconsumed_tail:
        raise ValueError(f"it expands to more than {MOST_BYTES // 2**20} MiB")
    return bounded_json(plain)
