"""Whether a value is the kind of number that it should be: no text, no truth, no NaN."""

from math import inf

import numpy as np


def is_whole(value: object, least: int, most: int) -> bool:
    """Whether ``value`` is a whole number between the two; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return bool(least <= value <= most)


def is_amount(value: object, least: float, most: float) -> bool:
    """Whether ``value`` is a number between the two."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return bool(least <= value <= most)


def whole_fault(name: str, value: object, least: int, most: int) -> str:
    """Say what is wrong with a number that should be whole; empty if nothing is."""
    if is_whole(value, least, most):
        return ""
    return f"{name} must be a whole number from {least} up to {most}, got {value!r}"


def amount_fault(
    name: str, value: object, least: float, most: float, *, unlimited: bool = False
) -> str:
    """Say what is wrong with a number; empty if nothing is. ``unlimited`` lets it be infinite."""
    if is_amount(value, least, most) or (unlimited and is_amount(value, inf, inf)):
        return ""
    infinite = ", or infinite" if unlimited else ""
    return f"{name} must be a number from {least:g} up to {most:g}{infinite}, got {value!r}"
