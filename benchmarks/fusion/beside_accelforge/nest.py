"""AccelForge's loop tree of a fused group as a loop nest of Archloom, and how long that takes.

Archloom counts the first fetch and the last store of a group, and lets transfers overlap only as
far as the buffer has space for them. AccelForge's counts have neither, so they are not the time of
its plan in Archloom's terms.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final

from archloom.evaluators.fusion.group import GroupCost
from archloom.evaluators.fusion.nest import NestGroup, nest_group
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.space.fusion import STREAMED, FusionGroup, LoopNest, NestLoop

from .cascade import Cascade

#: dimensions G, P, C and K, by the tensors that have their letters: first operand, second, result
_DIMS: Final = {
    (True, True, True): 1,
    (True, False, True): 4,
    (True, True, False): 3,
    (False, True, True): 2,
}


def as_nest(
    found: dict[str, Any], cascade: Cascade, price: MemoizedPlanEvaluator
) -> GroupCost | None:
    """Return what AccelForge's loops around all products cost as a nest of Archloom, with
    Archloom's mappings inside; None if they are no such nest.

    Args:
        found: what AccelForge recorded.
        cascade: the products.
        price: evaluates plans of the cascade's network.
    """
    nest = loop_nest(found["tree"], cascade)
    if nest is None:
        return None
    cost = price.group(FusionGroup(tuple(range(len(cascade.products))), nest=nest))
    return cost if isinstance(cost, GroupCost) else None


def no_slower(cost: GroupCost, found: dict[str, Any], cascade: Cascade) -> bool:
    """Return whether no product takes longer inside a nest than in AccelForge's mapping: then the
    mapping is no faster than the nest."""
    for share, name in zip(cost.layers, cascade.results, strict=True):
        cycles = found["counts"][name]["cycles"]
        chip = sum(times * tile.chip_cycles for times, tile in share.evaluations)
        if chip > max(cycles.get(unit, 0) for unit in ("MAC", "buffer")):
            return False
    return True


def loop_nest(tree: Sequence[str], cascade: Cascade) -> LoopNest | None:
    """Return the loops that all products share, and how long the buffer keeps each tensor; None
    if they share none, or some share more than others."""
    network = cascade.network()
    group = nest_group(network, tuple(range(len(network.layers))), frozenset())
    branches = [at for at, line in enumerate(tree) if line.strip() == "-"]
    if group is None or not branches or any(tree[at] != "-" for at in branches):
        return None
    ranks = _ranks(group, cascade)
    if ranks is None:
        return None
    loops, depth = list[NestLoop](), dict[str, int]()
    tiles = dict(cascade.sizes)
    for line in tree[: branches[0]]:
        if line.startswith("buffer keeps "):
            depth |= dict.fromkeys(_kept(line), len(loops))
        elif line.startswith("for "):
            letter, tile = _loop(line)
            tiles[letter] = tile
            rank, letters = ranks[letter]
            inside = NestLoop(rank, prod(tiles[some] for some in letters))
            if loops and loops[-1].rank == rank and len(loops) not in depth.values():
                # heads that share keys and their queries are rows of one product
                loops.pop()
            if any(loop.rank == rank for loop in loops):
                return None
            loops.append(inside)
    if not loops:
        return None
    for line in _before_loops(tree[branches[0] :]):
        if line.startswith("buffer keeps "):
            depth |= dict.fromkeys(_kept(line), len(loops))
    names = [_name(group, cascade, t) for t in range(len(group.operands))]
    return LoopNest(tuple(loops), tuple(depth.get(name, STREAMED) for name in names))


def _before_loops(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of each branch above its first loop."""
    looped = False
    for line in lines:
        looped = line != "-" and (looped or line.strip().startswith("for "))
        if not looped:
            yield line.strip()


def _kept(line: str) -> list[str]:
    return line.removeprefix("buffer keeps ").split(", ")


def _loop(line: str) -> tuple[str, int]:
    """Return the rank of a temporal loop and its tiles, of ``for m in tiles of 256``."""
    _, letter, _, _, _, tile = line.split()
    return letter, int(tile)


def _ranks(group: NestGroup, cascade: Cascade) -> dict[str, tuple[int, tuple[str, ...]]] | None:
    """Return the rank of each letter, and all letters that it stands for; None if a dimension is
    several ranks."""
    found: dict[str, tuple[int, tuple[str, ...]]] = {}
    for m, product in enumerate(cascade.products):
        if product.elementwise or len(product.operands) == 1:
            continue
        for where, dim in _DIMS.items():
            letters, ranks = product.ranks(*where), group.ranks.dims[m][dim]
            if len(ranks) > 1:
                return None
            found |= {letter: (rank, letters) for letter in letters for rank in ranks}
    return found


def _name(group: NestGroup, cascade: Cascade, t: int) -> str:
    """Return what a cascade calls an operand."""
    operand = group.operands[t]
    m = operand.readers[0] if operand.kind == "read" else operand.maker
    product = cascade.products[m]
    if operand.kind == "made":
        return product.result.name
    return product.operands[t in group.weights[m]].name
