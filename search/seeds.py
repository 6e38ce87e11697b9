"""Seeds that depend only on what they are for, never on time or on global state."""

from hashlib import blake2b


def derived_seed(*parts: int | str) -> int:
    """Return a 63-bit seed from the parts, such as (study seed, trial id, stage)."""
    text = "\x1f".join(f"{type(p).__name__}:{p}" for p in parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
