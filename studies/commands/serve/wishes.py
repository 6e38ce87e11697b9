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
    named: dict[str, Deadline] = {}
    for text in texts:
        name, sign, amount = text.rpartition("=")
        try:
            deadline = _deadline(amount)
        except ValueError as error:
            faults.append(f"--deadline {text}: {error}")
            continue
        if not sign:
            if general is not None:
                faults.append(f"--deadline {text}: all networks have one already; name a network")
            general = deadline
        elif fault := _name_fault(name, names, named):
            faults.append(f"--deadline {text}: {fault}")
        else:
            named[name] = deadline
    if faults:
        raise UserError("\n".join(faults))
    return tuple(named.get(name, general) for name in names)


def _deadline(text: str) -> Deadline:
    found = _DEADLINE.fullmatch(text)
    if found is None:
        raise ValueError(
            "must be a number with its unit: s, ms, us, or x for isolated times; such as 20ms or 4x"
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
    shares: dict[str, float] = {}
    for text in texts:
        name, sign, amount = text.rpartition("=")
        fault = _name_fault(name, names, shares) if sign else "must be NETWORK=NUMBER"
        if fault:
            faults.append(f"--share {text}: {fault}")
            continue
        try:
            shares[name] = float(amount)
        except ValueError:
            faults.append(f"--share {text}: {amount!r} is no number")
            continue
        if not 1e-6 <= shares[name] <= 1e6:
            faults.append(f"--share {text}: must be from 1e-06 up to 1e+06")
    missing = [name for name in names if name not in shares]
    if missing and not faults:
        faults.append(f"--share: {', '.join(missing)} has none; give all networks one, or none")
    if faults:
        raise UserError("\n".join(faults))
    return tuple(shares[name] for name in names)


def _name_fault(name: str, names: Sequence[str], there: Collection[str]) -> str:
    if name not in names:
        return f"no network {name!r} is served; {did_you_mean(name, names)}"
    if name in there:
        return f"{name} has one already"
    return ""
