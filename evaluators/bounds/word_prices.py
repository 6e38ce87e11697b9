"""What words cost that a bound counts: energy, and units through the ports of levels."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled
from archloom.evaluators.loopnest import BOTH_PORTS, READ_PORT, WRITE_PORT, KernelInputs
from archloom.space.workload import OUTPUTS

from ..arrays import Floats
from .traffic import AGAIN

#: who takes or brings the words that have a price: MACs, levels inside, or the level outside
BY_MACS, BY_INNER, FILLED = range(3)


class Prices(NamedTuple):
    """Costs to bound: prices of words are float64[L, 3, 4] by level, :data:`BY_MACS` and so on, and
    :data:`archloom.evaluators.bounds.traffic.AGAIN`.

    Attributes:
        accesses_pj: energy of moving a word.
        ports: float64[3, L, 3, 4], units through the ports of a level (reads, writes, both).
        rates: float64[3, L], units per cycle of one instance.
        busy: share of the cycles that zeros leave.
        macs_pj: one multiply-accumulate.
        leakage_pj: float64[L], one instance in use, per cycle.
    """

    accesses_pj: Floats
    ports: Floats
    rates: Floats
    busy: float
    macs_pj: float
    leakage_pj: Floats


def prices_of(setup: KernelInputs, width: Floats | None = None) -> Prices:
    """Return the prices of a problem.

    ``width[L, 3]`` are words of an access, that of the problem if left out; parts of a word may
    count, where an access with whole ones is not quite full.
    """
    levels, served = len(setup.shared), setup.served.tobytes()
    accesses = (setup.read_pj, setup.fill_pj, setup.update_pj, setup.address_pj)
    full = setup.width.astype(np.float64) if width is None else width
    widths = (full, setup.cluster)
    return Prices(
        _words_pj(levels, served, *(array.tobytes() for array in (*accesses, *widths))),
        _words_units(levels, served, setup.unit.tobytes()),
        setup.bandwidth.T.copy(),
        setup.busy,
        setup.working * setup.mac_pj,
        setup.used_leakage_pj,
    )


# designs that differ in meshes, sizes of outer buffers or rates have the same
@lru_cache(maxsize=4096)
def _words_pj(
    levels: int,
    served: bytes,
    read_pj: bytes,
    fill_pj: bytes,
    update_pj: bytes,
    address_pj: bytes,
    widths: bytes,
    clusters: bytes,
) -> Floats:
    """Return ``Prices.accesses_pj`` from the bytes of kernel inputs; to be read only."""
    words, by_level = np.zeros((levels, 3, 4)), (levels, -1)
    cluster = np.frombuffer(clusters, np.int64).reshape(by_level)
    accessed = np.frombuffer(widths).reshape(by_level) * cluster
    address = np.frombuffer(address_pj).reshape(by_level) / cluster
    read, fill, update = (
        np.frombuffer(pj).reshape(by_level) / accessed for pj in (read_pj, fill_pj, update_pj)
    )
    shares, inside = _shares(served), slice(BY_MACS, BY_INNER + 1)
    taken = np.column_stack([read[:, :OUTPUTS], update[:, OUTPUTS]])
    words[:, inside, :AGAIN] = shares * taken[:, None] + address[:, None]
    words[:, inside, AGAIN] = shares[:, OUTPUTS] * read[:, OUTPUTS, None]
    words[:, FILLED, :OUTPUTS] = fill[:, :OUTPUTS] + address
    words[:, FILLED, AGAIN] = fill[:, OUTPUTS] + address[:, 0]
    return words


@lru_cache(maxsize=256)
def _words_units(levels: int, served: bytes, units: bytes) -> Floats:
    """Return ``Prices.ports`` from the bytes of kernel inputs; to be read only."""
    ports, unit = np.zeros((3, levels, 3, 4)), np.frombuffer(units, np.int64).reshape(levels, 3)
    asked, inside = _shares(served) * unit[:, None], slice(BY_MACS, BY_INNER + 1)
    ports[READ_PORT, :, inside, :OUTPUTS] = asked[..., :OUTPUTS]
    ports[READ_PORT, :, inside, AGAIN] = ports[WRITE_PORT, :, inside, OUTPUTS] = asked[..., OUTPUTS]
    ports[WRITE_PORT, :, FILLED, :OUTPUTS] = unit[:, :OUTPUTS]
    ports[WRITE_PORT, :, FILLED, AGAIN] = unit[:, OUTPUTS]
    ports[BOTH_PORTS] = ports[READ_PORT] + ports[WRITE_PORT]
    return ports


def _shares(served: bytes) -> Floats:
    """Return the share of words that zeros leave, :data:`BY_MACS` and :data:`BY_INNER`: they spare
    what MACs ask for.
    """
    shares = np.ones((2, 3))
    shares[BY_MACS] = np.frombuffer(served)
    return shares


@compiled
def prices_of_words(sizes: Floats, across: bool) -> Floats:
    """Return float64[1, L, 3, 4]: each word of level and tensor counts ``sizes[L, 3]``.

    Either all words that a level moves count, or those across its outer border: what fills it,
    and results that leave it.
    """
    prices = np.zeros((1, len(sizes), 3, 4))
    for who in range(3):
        if across and who != FILLED:
            continue
        prices[0, :, who, :3] = sizes
        prices[0, :, who, AGAIN] = sizes[:, OUTPUTS]
        if who == FILLED and not across:
            prices[0, :, who, OUTPUTS] = 0.0
    return prices
