"""Derivation of seeds from what they are for, never from time or global state."""

from hashlib import blake2b


def derived_seed(*parts: int | str) -> int:
    """Return a 63-bit seed from the parts, such as (study seed, trial id, stage)."""
    # repr quotes texts, so that no two lists of parts read the same
    text = repr(parts).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1
