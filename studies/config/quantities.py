"""Numbers of study files: plain, in the unit that the key says."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Annotated, Any, Final

from .sections import Section, number, number_hint

_QUANTITY: Final = re.compile(r"\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*([^\d\s].*?)\s*")

_FACTORS: Final = {
    "mm2": {"mm2": 1.0, "mm^2": 1.0, "cm2": 100.0, "cm^2": 100.0, "um2": 1e-6, "um^2": 1e-6},
    "W": {"W": 1.0, "mW": 1e-3, "kW": 1e3, "uW": 1e-6},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "ms": {"ms": 1.0, "s": 1e3, "us": 1e-3, "ns": 1e-6, "min": 6e4},
    "MB": {"MB": 1.0, "GB": 1e3, "TB": 1e6, "MiB": 1.048576, "GiB": 1073.741824},
    "J": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "nJ": 1e-9, "pJ": 1e-12},
    "1/s": {"1/s": 1.0, "/s": 1.0, "Hz": 1.0, "1/ms": 1e3, "/ms": 1e3},
    "": {"%": 1e-2},
}


def plain_number(unit: str) -> Callable[[Any], Any]:
    """Return a validator that explains a number written with a unit; others pass as they are."""
    named = _named(unit)

    def check(value: Any) -> Any:
        match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
        if not match or _number(value) is not None:
            return value
        factor = _FACTORS.get(unit, {}).get(match[2])
        if factor is None:
            raise ValueError(f"{value!r} has unit {match[2]!r}, must be {named}")
        converted = float(f"{float(match[1]) * factor:.12g}")
        raise ValueError(f"{value!r} must be {named}: write {converted:g}")

    return check


def positive(value: Any, unit: str) -> float:
    """Return a positive finite number.

    Raises:
        ValueError: it is none; the message has the value and the rule.
    """
    value = plain_number(unit)(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} must be {_named(unit)}{number_hint(value)}")
    try:
        found = float(value)
    except OverflowError:  # YAML has integers of any length
        found = inf
    if not (isfinite(found) and found > 0):
        raise ValueError(f"{value!r} must be greater than 0 and finite")
    return found


def _named(unit: str) -> str:
    return f"a plain number in {unit}" if unit else "a plain number"


def _number(text: Any) -> float | None:
    """Return the number that YAML read as a text, such as 5e-3; None if it is no number."""
    try:
        return float(text) if isinstance(text, str) else None
    except ValueError:
        return None


#: keys that hold a number in their unit
AREA_MM2: Final = number(above=0).prepared(plain_number("mm2"))
POWER_W: Final = number(above=0).prepared(plain_number("W"))
TIME_S: Final = number(above=0).prepared(plain_number("s"))
MEMORY_MB: Final = number(above=0).prepared(plain_number("MB"))


@dataclass(frozen=True, kw_only=True)
class RoundLimits(Section):
    """Limits of one round of a trial.

    Attributes:
        cpu_s: maximum CPU time.
        memory_mb: maximum memory (default: 80% of the memory of the machine).
    """

    cpu_s: Annotated[float, TIME_S] = 86400.0
    memory_mb: Annotated[float | None, MEMORY_MB.or_none()] = None
