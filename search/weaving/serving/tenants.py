"""Networks that share an NPU, how often each is asked, and until when it has to answer."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.weaving import (
    Chain,
    Npu,
    Ticks,
    demands,
    isolated_ticks,
    steady_rows,
    throughput_bound,
    ticked,
)
from archloom.space import is_amount

from .requests import NO_DEADLINE

#: a share of the optimal rates below this counts as none
_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class Deadline:
    """How long after its arrival a request may end.

    Attributes:
        amount: seconds, or isolated times.
        isolated: whether it counts isolated times.

    Raises:
        ValueError: an amount that is not positive.
    """

    amount: float
    isolated: bool = False

    def __post_init__(self) -> None:
        if not (is_amount(self.amount, 0.0, 1e9) and self.amount > 0):
            raise ValueError(f"a deadline must be above 0 and at most 1e9, got {self.amount!r}")


@dataclass(frozen=True, eq=False)
class Tenants:
    """Networks that share an NPU.

    Attributes:
        chains: one for each network.
        npu: what they share.
        deadlines: one for each network; None if it has none.
        shares: how many of all requests are for each network; None for what bounds STP, or, where
            that leaves a network out, the same time alone for each.

    Raises:
        ValueError: lists of other lengths, two networks of one name, shares that are not positive,
            or chains that cannot be counted in ticks.
    """

    chains: tuple[Chain, ...]
    npu: Npu
    deadlines: tuple[Deadline | None, ...]
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        count, names = len(self.chains), [chain.name for chain in self.chains]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]} occurs twice; give each network its own name")
        if len(self.deadlines) != count:
            raise ValueError(f"{len(self.deadlines)} deadlines for {count} networks")
        if self.shares is None:
            return
        if len(self.shares) != count or not all(is_amount(s, 1e-6, 1e6) for s in self.shares):
            raise ValueError(
                f"{count} networks need as many shares from 1e-06 up to 1e+06, got {self.shares}"
            )

    @cached_property
    def work(self) -> Ticks:
        """The chains in ticks."""
        return ticked(self.chains, self.npu)

    @cached_property
    def isolated(self) -> Floats:
        """float64[k]: ticks between queries of a network where nothing else runs."""
        return isolated_ticks(self.work)

    @cached_property
    def demands(self) -> Floats:
        """float64[k, 3]: ticks that a query keeps each resource busy."""
        return demands(self.work)

    @property
    def ticks_per_s(self) -> float:
        """Ticks of a second."""
        return float(self.npu.dram_bytes_per_s)

    @cached_property
    def rates(self) -> Floats:
        """float64[k]: queries per tick of each network at load 1.

        More of this mix than load 1 cannot be served for ever: load 1 keeps a resource busy all
        the time.
        """
        shares = self.shares
        if shares is None:
            best = throughput_bound(self.work, self.isolated).rates
            if np.all(best * self.isolated > _LEAST_SHARE):
                return best
            shares = tuple(1.0 / self.isolated)
        mix: Floats = np.asarray(shares, np.float64)
        busiest = float((mix @ steady_rows(self.work)).max())
        return mix / busiest

    @cached_property
    def within(self) -> Ints:
        """int64[k]: ticks after their arrival until which requests are in time."""
        ticks = [
            NO_DEADLINE
            if deadline is None
            else int(deadline.amount * (alone if deadline.isolated else self.ticks_per_s))
            for deadline, alone in zip(self.deadlines, self.isolated, strict=True)
        ]
        return np.minimum(ticks, NO_DEADLINE).astype(np.int64)
