"""What users write on the command line of ``archloom serve``: deadlines and shares by network."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from archloom.search.weaving.serving import Deadline
from archloom.space import did_you_mean

from ...errors import UserError

_UNITS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

_DEADLINE: Final = re.compile(r"([0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?)(s|ms|us|x)")


def read_deadlines(texts: Sequence[str], names: Sequence[str]) -> tuple[Deadline | None, ...]:
    """Return the deadline of each network.

    ``resnet50=20ms`` is for one network, ``20ms`` or ``4x`` (isolated times) for all that are not
    named.

    Raises:
        UserError: all that is wrong.
    """
    faults: list[str] = []
    general: Deadline | None = None
    named: dict[int, Deadline] = {}
    for text in texts:
        name, sign, amount = text.rpartition("=")
        try:
            deadline = _deadline(amount)
            if sign:
                named[_new_place(name, names, named)] = deadline
        except ValueError as error:
            faults.append(f"--deadline {text}: {error}")
            continue
        if not sign:
            if general is not None:
                faults.append(
                    f"--deadline {text}: a deadline for all networks is given twice; name a network"
                )
            general = deadline
    if faults:
        raise UserError("\n".join(faults))
    return tuple(named.get(place, general) for place in range(len(names)))


def _deadline(text: str) -> Deadline:
    found = _DEADLINE.fullmatch(text)
    if found is None:
        raise ValueError(
            "must be a number with a unit: s, ms, us, or x for multiples of the isolated query "
            "time; for example 20ms or 4x"
        )
    amount, unit = float(found[1]), found[2]
    return Deadline(amount, isolated=True) if unit == "x" else Deadline(amount * _UNITS[unit])


def read_shares(texts: Sequence[str], names: Sequence[str]) -> tuple[float, ...] | None:
    """Return how many of the requests are for each network; None if nobody says.

    Raises:
        UserError: all that is wrong; a network without a share too, once one has one.
    """
    if not texts:
        return None
    faults: list[str] = []
    shares: dict[int, float] = {}
    for text in texts:
        name, sign, amount = text.rpartition("=")
        try:
            if not sign:
                raise ValueError("must have the form NETWORK=NUMBER")
            shares[_new_place(name, names, shares)] = _share(amount)
        except ValueError as error:
            faults.append(f"--share {text}: {error}")
    missing = [name for place, name in enumerate(names) if place not in shares]
    if missing and not faults:
        faults.append(
            f"--share: {', '.join(missing)} has no share; give every network a share, or none"
        )
    if faults:
        raise UserError("\n".join(faults))
    return tuple(shares[place] for place in range(len(names)))


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not 1e-6 <= share <= 1e6:
        raise ValueError("must be from 1e-06 up to 1e+06")
    return share


def place_of(name: str, names: Sequence[str]) -> int:
    """Return which network a name means; its options may be left out where that is clear.

    Raises:
        ValueError: none, or several.
    """
    if name in names:
        return names.index(name)
    short = [place for place, label in enumerate(names) if label.split("(")[0] == name]
    if len(short) == 1:
        return short[0]
    if short:
        raise ValueError(f"{name!r} is ambiguous: {', '.join(names[place] for place in short)}")
    raise ValueError(f"network {name!r} is not among the networks; {did_you_mean(name, names)}")


def _new_place(name: str, names: Sequence[str], there: Collection[int]) -> int:
    place = place_of(name, names)
    if place in there:
        raise ValueError(f"{names[place]} is given twice")
    return place
