"""What AccelForge counted for its best mapping, in its own price and in Archloom's.

Both models move the same words through the same levels, but for two things:

- AccelForge charges a read of the level inside for each result that leaves it (a drain). Archloom,
  like Timeloop's dense model (Parashar et al., ISPASS 2019), does not.
- Where a loop bound does not divide, AccelForge charges steps of the array in parts: 197 keys in
  tiles of 29 take 197/29 of them. Archloom charges those in which any PE works: seven.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from .cascade import Cascade, Product
from .design import Design

#: a loop: rank, size of its tiles, whether it is unrolled
Loop = tuple[str, float, bool]

Words = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True, slots=True)
class Price:
    """Energy and time of one pass at 1 GHz."""

    energy_pj: float
    latency_cycles: float

    @property
    def edp_js(self) -> float:
        """Energy-delay product."""
        return self.energy_pj * 1e-12 * self.latency_cycles * 1e-9


def own_price(found: dict[str, Any]) -> Price:
    """Return the price that AccelForge gives its best mapping."""
    return Price(found["energy_pj"], found["latency_cycles"])


def counted_pj(found: dict[str, Any], design: Design, vector_pj: float = 0.0) -> float:
    """Return the energy of what was counted: words, multiply-accumulates, vector operations.

    Args:
        found: what AccelForge recorded.
        design: gives the energies.
        vector_pj: of what the vector unit does for one word.
    """
    each = {"DRAM": design.dram_pj, "buffer": design.buffer_pj}
    computed = {"MAC": design.mac_pj, "vector": vector_pj}
    total = 0.0
    for product in found["counts"].values():
        total += sum(computed[unit] * n for unit, n in product["computed"].items())
        for component, tensors in product["words"].items():
            words = sum(n for actions in tensors.values() for n in actions.values())
            total += each.get(component, design.spad_pj) * words
    return total


def level_words(found: dict[str, Any], level: str) -> float:
    """Return the words that a level read and wrote."""
    return sum(
        words
        for product in found["counts"].values()
        for actions in product["words"].get(level, {}).values()
        for words in actions.values()
    )


def archloom_price(found: dict[str, Any], cascade: Cascade, design: Design) -> Price:
    """Return the price of AccelForge's best mapping in Archloom's terms."""
    energy, cycles = found["energy_pj"], 0.0
    for product in cascade.products:
        name = product.result.name
        counts = found["counts"][name]
        loops = [(rank, tile, unrolled) for rank, tile, unrolled in found["loops"][name]]
        energy -= drained_pj(product, counts["words"], loops, cascade, design)
        busy = dict(counts["cycles"])
        if "MAC" in busy:
            busy["MAC"] = whole_steps(loops, cascade)
        cycles += max(busy.values())
    return Price(energy, cycles)


def drained_pj(
    product: Product, words: Words, loops: Sequence[Loop], cascade: Cascade, design: Design
) -> float:
    """Return the energy of reading results of a product as they leave buffer and PEs."""
    result = product.result.name
    there = {level: words.get(level, {}).get(result, {}) for level in ("DRAM", "buffer")}
    energy = design.buffer_pj * there["DRAM"].get("write", 0.0)
    if "spad_outputs" in words:
        # all PEs whose results are added up send theirs; a partial sum from DRAM is no such result
        arrived = there["buffer"].get("write", 0.0) - there["DRAM"].get("read", 0.0)
        energy += design.spad_pj * arrived * added_up(product, loops, cascade)
    return energy


def added_up(product: Product, loops: Sequence[Loop], cascade: Cascade) -> float:
    """Return how many PEs add up their results into one."""
    reduced = product.ranks(True, True, False)
    tiles = {rank: float(cascade.sizes[rank]) for rank in reduced}
    factor = 1.0
    for rank, tile, unrolled in loops:
        if rank in reduced:
            factor *= tiles[rank] / tile if unrolled else 1.0
            tiles[rank] = tile
    return factor


def whole_steps(loops: Sequence[Loop], cascade: Cascade) -> int:
    """Return the steps of the array: those in which any PE works."""
    ranks = dict.fromkeys(rank for rank, _, _ in loops)
    return prod(
        _steps(cascade.sizes[r], [(t, unrolled) for rank, t, unrolled in loops if rank == r])
        for r in ranks
    )


def _steps(size: int, loops: Sequence[tuple[float, bool]]) -> int:
    """Return the steps along one rank; the last tile of each loop is as small as it comes out."""
    if not loops:
        return 1
    (tile, unrolled), *inner = loops
    whole = min(size, ceil(tile))
    if unrolled:
        # the first PE has a full tile
        return _steps(whole, inner)
    rest = size % whole
    return (size // whole) * _steps(whole, inner) + (_steps(rest, inner) if rest else 0)


def accelforge_price(price: Price, dram_writes: int, design: Design) -> Price | None:
    """Return a price of Archloom's in AccelForge's terms: with reads of results as they leave.

    None where PEs hold results of their own: how often these leave depends on each mapping.
    """
    if design.spad_words[2]:
        return None
    return Price(price.energy_pj + design.buffer_pj * dram_writes, price.latency_cycles)
