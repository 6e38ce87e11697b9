"""Tenants: networks that share one chip, what is asked of it, and the least that it can cost.

Tenants run in the shares that the study gives: of all inferences a share s_m is of tenant m.
Whatever the software and the schedule, an inference of m keeps the array busy for at least c_m
seconds and the pins for at least w_m; so a second is enough for at most

    rate <= 1 / max(sum s_m c_m, sum s_m w_m)

inferences of the mix (docs/explanation/bounds.md, "Several networks on one chip").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Final, NamedTuple

#: relative; times that are bounds are lowered by it, for those that are found are rounded otherwise
_ROUNDING: Final = 1e-9

#: most that networks on one chip gain over one at a time: the array and the pins both work all the
#: time, where alone one of the two at least does
_MOST_STP: Final = 2.0


@dataclass(frozen=True, slots=True)
class Tenant:
    """A network that shares the chip with others.

    Attributes:
        workload: its name.
        share: of all inferences; what counts is its ratio to the shares of the others.
        weight: what one of its inferences is worth.
        deadline_ms: that a request, which is one pass, may take; None for any time.

    Raises:
        ValueError: a number that is not positive and finite.
    """

    workload: str
    share: float = 1.0
    weight: float = 1.0
    deadline_ms: float | None = None

    def __post_init__(self) -> None:
        for name in ("share", "weight", "deadline_ms"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value > 0):
                raise ValueError(
                    f"{name} of {self.workload} is {value}, must be positive and finite"
                )

    @property
    def deadline_s(self) -> float | None:
        """The deadline in seconds."""
        return None if self.deadline_ms is None else self.deadline_ms / 1e3


class EngineTimes(NamedTuple):
    """What a pass of a network takes of the two engines of a chip, or lower bounds of that.

    Attributes:
        compute_s: that the array and all else on the chip work.
        pins_s: that DRAM moves its words.
        inferences: of the pass.
    """

    compute_s: float
    pins_s: float
    inferences: int


def shares(tenants: Sequence[Tenant]) -> tuple[float, ...]:
    """Return the share of each tenant; they add up to 1."""
    total = fsum(tenant.share for tenant in tenants)
    return tuple(tenant.share / total for tenant in tenants)


def mean_worth(tenants: Sequence[Tenant]) -> float:
    """Return what an inference of the mix is worth."""
    mix = zip(shares(tenants), tenants, strict=True)
    return fsum(share * tenant.weight for share, tenant in mix)


def least_together(tenants: Sequence[Tenant], times: Mapping[str, EngineTimes]) -> dict[str, float]:
    """Return lower bounds of the costs of all tenants together.

    Args:
        tenants: at least one.
        times: by network, lower bounds of what a pass takes.
    """
    mine = [times[tenant.workload] for tenant in tenants]
    mix = list(zip(shares(tenants), mine, strict=True))
    compute_s = fsum(share * one.compute_s / one.inferences for share, one in mix)
    pins_s = fsum(share * one.pins_s / one.inferences for share, one in mix)
    period_s = max(compute_s, pins_s) * (1 - _ROUNDING)
    late = [
        max(one.compute_s, one.pins_s) * (1 - _ROUNDING) / tenant.deadline_s
        for tenant, one in zip(tenants, mine, strict=True)
        if tenant.deadline_s is not None
    ]
    return {
        "goodput": period_s / mean_worth(tenants),
        "stable_load": period_s,
        "stp": 1 / _MOST_STP if len(tenants) > 1 else 1.0,
        **({"deadline": max(late)} if late else {}),
    }
