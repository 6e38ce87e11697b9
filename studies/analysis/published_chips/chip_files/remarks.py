"""What a chip file says of a figure: its value, the allowed ratio, the source, a reason."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from archloom.space import Faults, Place, did_you_mean
from archloom.studies.config import (
    EntryError,
    Key,
    Reading,
    Section,
    collecting,
    entry_error,
    number,
    text,
)

#: ratios that are allowed where a file says nothing
DEFAULT_ALLOWED: Final = (0.8, 1.25)

#: the word of a figure that is shown and not checked
_NONE: Final = "none"

#: largest ratio that may be allowed
_MOST: Final = 1e6

#: of a figure that is not checked
UNCHECKED: Final[tuple[float, ...]] = ()


def _read_allowed(entry: Any, _: Reading) -> tuple[float, ...]:
    if entry == _NONE:
        return UNCHECKED
    numbers = isinstance(entry, list) and all(type(n) in (int, float) for n in entry)
    if not numbers or len(entry) != 2 or not 0 < entry[0] <= entry[1] <= _MOST:
        raise ValueError(
            f"{entry!r} must be two ratios of archloom's value to the measured one, the lower "
            f"first, such as [0.8, 1.25]; or {_NONE}, to show the figure without a check"
        )
    return (float(entry[0]), float(entry[1]))


_RATIO: Final = {"type": "number", "exclusiveMinimum": 0}

ALLOWED: Final = Key(
    _read_allowed,
    lambda allowed: list(DEFAULT_ALLOWED if allowed is None else allowed) or _NONE,
    form=lambda: {
        "anyOf": [
            {"type": "array", "items": _RATIO, "minItems": 2, "maxItems": 2},
            {"enum": [_NONE]},
        ]
    },
).silent_if(lambda allowed: allowed is None)


#: a measured value
_POSITIVE: Final = number(above=0)


@dataclass(frozen=True, kw_only=True)
class Remarks(Section):
    """What is said of all figures of a kind, or of one.

    Attributes:
        name: name of the figure in tables, with its unit.
        allowed: lowest and highest allowed ratio of archloom's value to the measured one, or
            ``none`` to show the figure without a check (default: 0.8 to 1.25).
        source: where the measured value comes from.
        reason: why the values differ. ``{NAME}`` stands for the ratio with the switch NAME.
    """

    name: Annotated[str | None, text().or_none()] = None
    allowed: Annotated[tuple[float, ...] | None, ALLOWED] = None
    source: Annotated[str | None, text().or_none()] = None
    reason: Annotated[str | None, text().or_none()] = None

    def over(self, others: "Remarks") -> "Remarks":
        """Return these remarks, with those of ``others`` where these say nothing."""
        said = {
            key: getattr(self, key) if getattr(self, key) is not None else getattr(others, key)
            for key in Remarks.layout
        }
        return Remarks(**said)


@dataclass(frozen=True, kw_only=True)
class Lack(Section):
    """A published cause that takes part of a measured value, and that the model lacks.

    Attributes:
        share: its part of the measured time, energy or area, of the measured value.
        source: where the share comes from.
    """

    share: Annotated[float, number(above=0, most=1)]
    source: Annotated[str, text()]


def _read_lacks(entries: Any, beside: Reading) -> dict[str, Lack]:
    if not isinstance(entries, dict):
        raise ValueError(f"{entries!r} must be a mapping of causes, each with share and source")
    faults, found = Faults(), dict[str, Lack]()
    for name, entry in entries.items():
        with collecting(faults, str(name)):
            found[str(name)] = Lack.read(entry, beside)
    if (total := sum(lack.share for lack in found.values())) > 1:
        faults.add(Place(), f"has shares of {total:g} in all; they must be at most 1")
    if faults:
        raise EntryError(faults)
    return found


_LACKS: Final = Key(
    _read_lacks,
    lambda lacks: {name: lack.to_dict() for name, lack in lacks.items()},
    form=lambda: {"type": "object", "additionalProperties": Lack.form()},
).silent_if(lambda lacks: not lacks)


@dataclass(frozen=True, kw_only=True)
class Measured(Remarks):
    """A measured figure with remarks of its own.

    Attributes:
        measured: the measured value.
        name: name of the figure in the table, with its unit.
        allowed: lowest and highest allowed ratio of archloom's value to the measured one, or
            ``none`` to show the figure without a check.
        source: where the measured value comes from.
        reason: why the values differ. ``{NAME}`` stands for the ratio with the switch NAME.
        divided_by: name of another row; the figure is then this row's divided by that row's.
        lacks: by name, published causes that the model lacks, each with its share of the measured
            time, energy or area. The output has the ratio with each, and with all.
    """

    measured: Annotated[float, _POSITIVE]
    divided_by: Annotated[str | None, text().or_none()] = None
    lacks: Annotated[Mapping[str, Lack], _LACKS] = field(default_factory=dict)

    def with_lacks(self, ratio: float, sense: int) -> dict[str, float]:
        """Return the ratio with each cause that the model lacks, and with all of them.

        Args:
            ratio: of the model to the measured value.
            sense: 1 for values that grow with time, energy or area, -1 for those that fall.
        """
        shares = {name: lack.share for name, lack in self.lacks.items()}
        if len(shares) > 1:
            shares[" and ".join(shares)] = sum(shares.values())
        return {name: (ratio**sense + share) ** sense for name, share in shares.items()}


def _read_measured(entry: Any, beside: Reading) -> Measured:
    if isinstance(entry, dict):
        return Measured.read(entry, beside)
    return Measured(measured=_POSITIVE.read(entry, beside))


#: a number, or a number with remarks
MEASURED: Final = Key(
    _read_measured,
    form=lambda: {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, Measured.form()]},
).like(16.5, {"measured": 16.5, "allowed": [0.8, 1.0], "reason": "fill and drain"})


#: a switch in a reason
_QUOTED: Final = re.compile(r"\{([^{}]*)\}")


def check_reason(reason: str | None, beside: Reading) -> None:
    """Refuse a reason that quotes a switch which the file does not have.

    Raises:
        EntryError: it does.
    """
    switches = beside.before.get("switches")
    if switches is None:
        return
    for name in quoted(reason or ""):
        if name not in switches:
            known = did_you_mean(name, switches) if switches else "the file has no switches"
            raise entry_error(f"quotes {{{name}}}, which is no switch; {known}", "reason")


def quoted(reason: str) -> list[str]:
    """Return the switches that a reason quotes."""
    return _QUOTED.findall(reason)


def with_ratios(reason: str, ratios: Mapping[str, float]) -> str:
    """Return a reason with the ratio of each switch that it quotes."""
    return _QUOTED.sub(lambda found: f"{ratios[found[1]]:.2f}", reason)
