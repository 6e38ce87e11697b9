"""What a chip does for several networks at once, with the software that was found for each.

The plans become chains of layers (:mod:`archloom.evaluators.weaving`), and a stream of all of them
in the tenants' shares is woven layer by layer. Goodput, STP and latencies are of that schedule, so
they are reached, not promised; the stable load is that of requests which come at random.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from archloom.evaluators.fusion import NetworkCost
from archloom.evaluators.weaving import (
    Chain,
    Npu,
    Ticks,
    alone_ticks,
    isolated_ticks,
    npu_of,
    part_counts,
    plan_chain,
    ticked,
)
from archloom.search.objectives import Tenant, mean_worth, shares
from archloom.search.weaving import MixedStream, mixed_stream
from archloom.space import Infeasible
from archloom.space.hardware import Hardware, Rooms, rooms_of

from .request_load import stable_rate

#: of a memory for weights and maps, what maps get of that which the largest plan leaves free
_MAP_PARTS: Final = (0.0, 0.25, 0.5, 0.75)

#: parts of layers that are woven at the most. Where the room for weights that wait is so small that
#: there would be more, next to nothing could be fetched ahead.
_MOST_PARTS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Sharing:
    """Networks that share a chip.

    Attributes:
        tenants: at least one.
        seed: of the requests; the same for all designs of a study.
        stable_load: whether anybody asks for the stable load, which takes longer than all else.
    """

    tenants: tuple[Tenant, ...]
    seed: int
    stable_load: bool = False


@dataclass(frozen=True, eq=False)
class _Woven:
    """Tenants on a chip whose memory is split.

    Attributes:
        chains, npu, work: their chains, what they share, and both in ticks.
        passes: float64[k], passes of each for one inference of the mix.
        stream: of passes in these ratios.
    """

    chains: Sequence[Chain]
    npu: Npu
    work: Ticks
    passes: np.ndarray
    stream: MixedStream

    @property
    def ticks_per_s(self) -> float:
        """Ticks of a second."""
        return float(self.npu.dram_bytes_per_s)

    @property
    def rate_per_s(self) -> float:
        """Inferences of the mix per second."""
        return self.stream.rate * self.ticks_per_s / float(self.passes.sum())


def together_costs(
    sharing: Sharing, hardware: Hardware, plans: Mapping[str, NetworkCost]
) -> dict[str, float]:
    """Return the costs of all tenants together, by metric: as many as are asked for and known.

    Args:
        sharing: the tenants.
        hardware: the chip.
        plans: the best plan of each network, evaluated there.

    Raises:
        ValueError: a chip without a memory in which weights could wait.
    """
    tenants = sharing.tenants
    costs = [plans[tenant.workload] for tenant in tenants]
    woven = _best_split(hardware, costs, shares(tenants))
    figures = {
        "goodput": woven.rate_per_s * mean_worth(tenants),
        "stp": _stp(woven) if len(tenants) > 1 else 1.0,
    }
    found = {metric: 1.0 / figure for metric, figure in figures.items()}
    alone_s = alone_ticks(woven.work) / woven.ticks_per_s
    late = [
        float(seconds) / tenant.deadline_s
        for tenant, seconds in zip(tenants, alone_s, strict=True)
        if tenant.deadline_s is not None
    ]
    if sharing.stable_load:
        found["stable_load"] = 1.0 / _stable_load(woven, sharing)
    return found | ({"deadline": max(late)} if late else {})


def _best_split(hardware: Hardware, costs: Sequence[NetworkCost], mix: Sequence[float]) -> _Woven:
    """Return the tenants with the split of the memory that gives the best stream."""
    rooms = rooms_of(hardware)
    if isinstance(rooms, Infeasible):
        raise ValueError(str(rooms))
    chains = [plan_chain(cost) for cost in costs]
    passes = np.array(mix) / [cost.network.batch for cost in costs]
    woven = [
        _woven(hardware, chains, passes, weights, maps) for weights, maps in _splits(rooms, chains)
    ]
    return max(woven, key=lambda one: one.stream.rate)


def _splits(rooms: Rooms, chains: Sequence[Chain]) -> list[tuple[int, int]]:
    """Return bytes for weights and for maps that are worth a trial.

    Every plan has the room that it was evaluated with; what the largest one leaves free is split.
    """
    if not rooms.shared:
        return [(rooms.weight_bytes, rooms.map_bytes)]
    largest = max(int(chain.footprint_bytes.max()) for chain in chains)
    maps = [largest + int(part * max(0, rooms.map_bytes - largest)) for part in _MAP_PARTS]
    return [(max(1, rooms.weight_bytes - one), one) for one in dict.fromkeys(maps)]


def _woven(
    hardware: Hardware,
    chains: Sequence[Chain],
    passes: np.ndarray,
    weight_bytes: int,
    map_bytes: int,
) -> _Woven:
    npu = npu_of(hardware, weight_bytes, map_bytes)
    if sum(int(part_counts(chain, npu).sum()) for chain in chains) > _MOST_PARTS:
        chains = [_in_turn(chain, npu) for chain in chains]
    work = ticked(chains, npu)
    stream = mixed_stream(work, (passes / passes.sum()).tolist())
    return _Woven(chains, npu, work, passes, stream)


def _in_turn(chain: Chain, npu: Npu) -> Chain:
    """Return a chain whose layers fetch and compute in turn, one engine at a time.

    Every chip can run it, in the time that each layer takes for both together, so what is found is
    reached, with any room for weights.
    """
    moved = chain.weight_bytes + chain.map_bytes
    ratio = Fraction(npu.clock_hz) / Fraction(npu.dram_bytes_per_s)
    cycles = [-(-int(b) * ratio.numerator // ratio.denominator) for b in moved]
    nothing = np.zeros_like(moved)
    added = chain.cycles + np.array(cycles, np.int64)
    return replace(chain, weight_bytes=nothing, map_bytes=nothing, cycles=added)


def _stable_load(woven: _Woven, sharing: Sharing) -> float:
    """Return inferences of the mix per second whose passes hardly ever miss a deadline."""
    deadlines_s = [t.deadline_s for t in sharing.tenants if t.deadline_s is not None]
    total = float(woven.passes.sum())
    ratios = (woven.passes / total).tolist()
    return stable_rate(woven.chains, woven.npu, ratios, deadlines_s, sharing.seed) / total


def _stp(woven: _Woven) -> float:
    """Return STP (Eyerman and Eeckhout, IEEE Micro 28(3), 2008): of all networks the sum of the
    rate times the time of a pass where nothing else runs."""
    rates = woven.stream.rate * woven.passes / woven.passes.sum()
    return float(rates @ isolated_ticks(woven.work))
