"""Ports with a bandwidth: what they have moved, and which of them can decide cycles."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import allocating, helper, lean
from archloom.evaluators.loopnest import (
    BOTH_PORTS,
    OF_ENERGY,
    OF_LATENCY,
    READ_PORT,
    WRITE_PORT,
    KernelInputs,
)
from archloom.space.workload import OUTPUTS

from ...objectives import SCORE_ROUNDING
from .subproblem import Subproblem


class Ports(NamedTuple):
    """``level[K]`` and ``kind[K]`` of ports, and units that they move in a cycle, ``rate[K]``."""

    level: Ints
    kind: Ints
    rate: Floats


class Prices(NamedTuple):
    """By ``table[J, 1 + K]`` of picojoules and of units through K ports, costs are mixed J times.

    Where energy alone counts, no column of the table is for a port.
    """

    ports: Ports
    table: Floats


def ports_of(setup: KernelInputs) -> Ports:
    """Return all ports with a limit."""
    level, kind = np.nonzero(setup.bandwidth < np.inf)
    rate = setup.bandwidth[level, kind]
    return Ports(np.ascontiguousarray(level), np.ascontiguousarray(kind), rate)


@helper
def moved(ports: Ports, port: int, units: Floats) -> float:
    """Units through a port, of units[L, 2] that are read and written."""
    level, kind = ports.level[port], ports.kind[port]
    if kind == BOTH_PORTS:
        return float(units[level, READ_PORT] + units[level, WRITE_PORT])
    return float(units[level, kind])


@helper
def free_cycles(ports: Ports, port: int, levels: int, cycles: float, inner: float) -> float:
    """Cycles in which a port does not decide when a layer ends that takes ``cycles`` at least, and
    ``inner`` on chip: the array fills and drains after levels on chip, while DRAM goes on.
    """
    return cycles if ports.level[port] == levels - 1 else inner


@helper
def priced(prices: Prices, j: int, energy: float, units: Floats) -> float:
    """Cost of an energy and of units[L, 2], by price j."""
    cost = float(prices.table[j, 0] * energy)
    for port in range(prices.table.shape[1] - 1):
        cost += prices.table[j, 1 + port] * moved(prices.ports, port, units)
    return cost


@allocating
def chosen(ports: Ports, at: Ints) -> Ports:
    """Return the ports ``at[n]``."""
    many = len(at)
    some = Ports(np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many))
    for n in range(many):
        some.level[n], some.kind[n] = ports.level[at[n]], ports.kind[at[n]]
        some.rate[n] = ports.rate[at[n]]
    return some


@helper
def _per_word(
    setup: KernelInputs, subproblem: Subproblem, level: int, width: int, pj: float
) -> float:
    """Energy that a word more costs a level at least, but for the rounding to whole accesses."""
    return float(subproblem.active[level] * (pj / width + setup.address_pj[level]))


@helper
def _units_per_pj(
    setup: KernelInputs, subproblem: Subproblem, ports: Ports, port: int, t: int, level: int
) -> float:
    """Most units that a keeper moves through a port for a picojoule that its fills cost."""
    at, kind, parent = ports.level[port], ports.kind[port], subproblem.parent[level, t]
    if at not in (level, parent):
        return 0.0
    own = _per_word(setup, subproblem, level, setup.width[level, t], setup.fill_pj[level, t])
    price = setup.read_pj[parent, t]
    price += setup.update_pj[parent, t] if t == OUTPUTS else 0.0
    sent = _per_word(setup, subproblem, parent, setup.width[parent, t], price)
    chain = subproblem.chain[level, t]
    if at == level:
        if kind == READ_PORT:
            return 0.0
        return float(setup.unit[level, t] / (own + sent * chain))
    if t != OUTPUTS and kind == WRITE_PORT:
        return 0.0
    units = chain * setup.unit[parent, t] * (2 if t == OUTPUTS and kind == BOTH_PORTS else 1)
    # where children start stretches of inputs that the tile decides, there may be many
    own = 0.0 if subproblem.varies[level + 1] else own
    return float(units / (own + sent * chain))


@helper
def energy_below(setup: KernelInputs, score: float, cycles: float, leakage_pj: float) -> float:
    """Energy (pJ) of mappings with less than a score (ln) that take so many cycles at least."""
    a, b = setup.weights[OF_ENERGY], setup.weights[OF_LATENCY]
    left = score - (b * np.log(cycles) if b > 0 else 0.0)
    if a == 0:
        return np.inf if left > 0 else -np.inf
    return float(np.exp(left / a) - leakage_pj * cycles)


@allocating
def open_ports(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    most_pj: float,
    cycles: float,
    inner: float,
) -> Ints:
    """Return the ports that can need more than so many cycles; see :func:`binding`."""
    live = np.ones(len(ports.rate), np.uint8)
    binding(setup, subproblem, ports, most_pj, cycles, inner, live)
    (at,) = np.nonzero(live)
    return at


@lean
def binding(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    most_pj: float,
    cycles: float,
    inner: float,
    live: Flags,
) -> None:
    """Set live[K]: whether a port can need more than so many cycles in a mapping that costs
    less than an energy; a port on chip, more than ``inner`` cycles.

    ``most_pj`` is what the fills of keepers may cost beyond the least.
    """
    levels = subproblem.keep.shape[0]
    spare = most_pj
    for t in range(3):
        for level in range(levels):
            parent = subproblem.parent[level, t]
            if parent >= 0:
                # what must enter may have been rounded up to whole accesses
                spare += subproblem.active[level] * setup.fill_pj[level, t]
                spare += subproblem.active[parent] * setup.read_pj[parent, t]
                spare += subproblem.active[parent] * setup.update_pj[parent, t]
    for port in range(len(live)):
        steepest = 0.0
        for t in range(3):
            for level in range(levels):
                if subproblem.parent[level, t] >= 0:
                    some = _units_per_pj(setup, subproblem, ports, port, t, level)
                    steepest = max(steepest, some)
        most = moved(ports, port, subproblem.units)
        most += steepest * spare if steepest > 0 else 0.0
        times = free_cycles(ports, port, levels, cycles, inner)
        live[port] = 0 if most * (1 + SCORE_ROUNDING) <= times * ports.rate[port] else 1
