"""How the children of a level can stand on its mesh, for levels whose words take hops.

Children are numbered through all unrolled loops, those along x first, and fill the mesh row by
row: a *layout* is the order of these loops. Which children share words does not depend on it; how
many hops serve them does. Layouts that serve no group in fewer hops than another are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, permutations, product
from typing import Final, TypeAlias

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.loopnest import KernelInputs, group_sizes
from archloom.search.mapping.exact.subproblem import ANY, ratio_code
from archloom.space.workload import INPUTS, RELEVANT, P, R

from .unrollings import axis_factors, divisors, guesses_at, stretches_of

#: more layouts of one level than this are not listed
MOST_LAYOUTS: Final = 2**12

#: of unrolled loops, innermost first: what they mean for each tensor, factor, dimension
Loops: TypeAlias = tuple[tuple[int, int, int], ...]

#: numbers of groups, and hops that serve them, by ascending size
Served: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]

#: steps of input rows, then of columns, between neighbours along results and along the kernel
Steps: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Layout:
    """One way to place children: factors along x and y, orders [2, 8] of both, and what it costs.

    ``served`` are groups and hops of each tensor.
    """

    x: Ints
    y: Ints
    across: Ints
    served: tuple[Served, ...]


@dataclass(frozen=True)
class Sharing:
    """How children of a level share inputs, as far as a subproblem fixes it.

    ``guess`` and ``codes`` are those of
    :class:`archloom.search.mapping.exact.subproblem.subproblem.Subproblem`, ``steps`` an example of
    a tile that shares so.
    """

    guess: int
    codes: tuple[int, int]
    steps: Steps


def meshed_levels(setup: KernelInputs) -> list[int]:
    """Return the levels that have a network with a price."""
    priced = setup.hop_pj + setup.router_pj > 0
    return [i for i, here in enumerate(priced) if here and setup.fanout[i].prod() > 1]


def distances(setup: KernelInputs) -> Floats:
    """Return hops to each child of a mesh, ascending: float64[L, n], 0 where there are none."""
    meshed = meshed_levels(setup)
    near = np.zeros((len(setup.fanout), max([1, *(setup.fanout[i].prod() for i in meshed)])))
    for level in meshed:
        width, height = setup.fanout[level].tolist()
        rows = np.abs(np.arange(height) - (height - 1) / 2)
        near[level, : width * height] = np.sort((np.arange(width)[:, None] + rows).ravel())
    return near


def sharings(setup: KernelInputs, keep: Flags, spread: Ints) -> Iterator[tuple[Sharing, ...]]:
    """Yield how the children of all levels may share inputs, for one choice of factors."""
    yield from product(*(_sharings(setup, keep, spread, i) for i in range(len(keep))))


def _sharings(setup: KernelInputs, keep: Flags, spread: Ints, level: int) -> list[Sharing]:
    rows, columns = setup.window[:, :2].tolist()
    alone: Steps = ((rows[0], rows[1]), (columns[0], columns[1]))
    networked = level in meshed_levels(setup) and 0 < level <= setup.top[INPUTS]
    if not networked or not _meets(setup, spread[level], level):
        some = guesses_at(setup, keep, spread, level)
        return [Sharing(guess, (ANY, ANY), alone) for guess in some]
    rows, columns = (_ratios(setup, spread, level, axis) for axis in (0, 1))
    found = []
    for (a, row), (b, column) in product(rows.items(), columns.items()):
        guess = stretches_of(spread[level], 0, *row) * stretches_of(spread[level], 1, *column)
        found.append(Sharing(guess, (a, b), (row, column)))
    return found


def _meets(setup: KernelInputs, here: Ints, level: int) -> bool:
    """Whether rows or columns of results and of the kernel are unrolled at once, ``here[8]``."""
    both = any(here[P + axis] > 1 and here[R + axis] > 1 for axis in (0, 1))
    return both and bool(setup.multicast[level, INPUTS])


def _ratios(setup: KernelInputs, spread: Ints, level: int, axis: int) -> dict[int, tuple[int, int]]:
    """Return every code of rows (or columns), with steps that have it."""
    inside, left = spread[:level].prod(axis=0), setup.bounds // spread.prod(axis=0)
    found: dict[int, tuple[int, int]] = {}
    outs, kernels = int(spread[level, P + axis]), int(spread[level, R + axis])
    for out, kernel in product(*(divisors(int(left[d])) for d in (P + axis, R + axis))):
        step = int(setup.window[axis, 0] * out * inside[P + axis])
        shift = int(setup.window[axis, 1] * kernel * inside[R + axis])
        found.setdefault(ratio_code(outs, step, kernels, shift), (step, shift))
    return found


class Layouts:
    """All layouts worth a look of the levels of a problem, found as they are asked for."""

    def __init__(self, setup: KernelInputs) -> None:
        self.setup = setup
        self.levels = meshed_levels(setup)
        self._orders: dict[tuple[int, ...], tuple[dict[Loops, Layout], bool]] = {}
        self._found: dict[tuple[int, ...], tuple[list[Layout], bool]] = {}

    def of(self, level: int, row: Ints, steps: Steps) -> tuple[list[Layout], bool]:
        """Return the layouts of factors ``row[8]``, and whether there are no more.

        ``steps`` say which children share inputs.
        """
        uneven = _meets(self.setup, row, level)
        key = (level, *row.tolist(), *(steps[0] + steps[1] if uneven else ()))
        if key not in self._found:
            orders, complete = self._listed(level, row, uneven)
            found = [
                Layout(one.x, one.y, one.across, self._served(level, loops, steps, uneven))
                for loops, one in orders.items()
            ]
            self._found[key] = (_undominated(found), complete)
        return self._found[key]

    def _listed(self, level: int, row: Ints, uneven: bool) -> tuple[dict[Loops, Layout], bool]:
        """Return one layout of each order that matters, up to a number, and whether it is all."""
        key = (level, *row.tolist())
        if key not in self._orders:
            kinds = self._kinds(level, uneven)
            found: dict[Loops, Layout] = {}
            complete = True
            for x in self._along_x(level, row):
                one, two = (
                    _orders(tuple((kinds[d], int(f[d]), d) for d in range(8) if f[d] > 1))
                    for f in (x, row // x)
                )
                for (a, by_x), (b, by_y) in product(one.items(), two.items()):
                    across = np.array([_full(by_x), _full(by_y)])
                    found.setdefault(_merged((*a, *b)), Layout(x, row // x, across, ()))
                if len(found) > MOST_LAYOUTS:
                    complete = False
                    break
            self._orders[key] = found, complete
        return self._orders[key]

    def _kinds(self, level: int, uneven: bool) -> list[int]:
        """A bit for each tensor that a dimension moves, and more where windows meet."""
        kinds = []
        for d in range(8):
            moves = [RELEVANT[t][d] or not self.setup.multicast[level, t] for t in range(3)]
            kind = sum(1 << t for t in range(3) if moves[t])
            kinds.append(kind + 8 * (d - P + 1) if uneven and d >= P else kind)
        return kinds

    def _along_x(self, level: int, row: Ints) -> Iterator[Ints]:
        """Yield the factors along x of all ways to share factors among both axes."""
        setup = self.setup
        choices = [axis_factors(setup, level, d, int(row[d])) for d in range(8)]
        width, height = setup.fanout[level].tolist()
        for x in product(*choices):
            along = np.array(x)
            if along.prod() <= width and (row // along).prod() <= height:
                yield along

    def _served(self, level: int, loops: Loops, steps: Steps, uneven: bool) -> tuple[Served, ...]:
        width, height = self.setup.fanout[level].tolist()
        found = []
        for t in range(3):
            if t == INPUTS and uneven:
                found.append(_shared(width, height, loops, steps))
            else:
                moving = _merged(tuple((kind >> t & 1, factor, 0) for kind, factor, _ in loops))
                found.append(_even(width, height, moving))
        return tuple(found)


def _merged(loops: Loops) -> Loops:
    """Make one of neighbouring loops that mean the same, and of those of one dimension."""
    found: list[tuple[int, int, int]] = []
    for kind, factor, _ in loops:
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] * factor, 0)
        else:
            found.append((kind, factor, 0))
    return tuple(found)


@lru_cache(maxsize=4096)
def _orders(loops: Loops) -> dict[Loops, tuple[int, ...]]:
    """Return orders of loops that differ in more than names, with dimensions that have them."""
    found: dict[Loops, tuple[int, ...]] = {}
    for order in permutations(loops):
        # of loops that mean the same the order of DIMS is enough
        if all(a[0] != b[0] or a[2] < b[2] for a, b in pairwise(order)):
            found.setdefault(_merged(order), tuple(d for _, _, d in order))
    return found


def _full(named: tuple[int, ...]) -> list[int]:
    if named == tuple(sorted(named)):
        return list(range(8))
    return [*named, *(d for d in range(8) if d not in named)]


@lru_cache(maxsize=2**16)
def _even(width: int, height: int, loops: Loops) -> Served:
    """Groups and hops where ``kind`` says whether a loop moves the tensor."""
    children = np.arange(np.prod([factor for _, factor, _ in loops], dtype=np.int64))
    keys, inside = np.zeros_like(children), 1
    for moves, factor, _ in loops:
        if moves:
            keys += children % factor * inside
            inside *= factor
        children //= factor
    return _grouped(keys, width, height)


@lru_cache(maxsize=2**16)
def _shared(width: int, height: int, loops: Loops, steps: Steps) -> Served:
    """Groups and hops of inputs where rows (or columns) of results and kernel are unrolled."""
    children = np.arange(np.prod([factor for _, factor, _ in loops], dtype=np.int64))
    at, inside = np.zeros((3, len(children)), np.int64), dict[int, int]()
    for kind, factor, _ in loops:
        # rows, columns, and all else that moves inputs; each dimension of a window is a kind
        place = kind // 8 - 1
        axis, step = (place % 2, steps[place % 2][place // 2]) if place >= 0 else (2, 1)
        if kind >> INPUTS & 1:
            at[axis] += children % factor * inside.get(place, 1) * step
            inside[place] = inside.get(place, 1) * factor
        children //= factor
    _, keys = np.unique(at, axis=1, return_inverse=True)
    return _grouped(keys.astype(np.int64).ravel(), width, height)


def _grouped(keys: Ints, width: int, height: int) -> Served:
    groups, hops = np.zeros(len(keys) + 1, np.int64), np.zeros(len(keys) + 1)
    group_sizes(keys, np.array([width, height]), groups, hops)
    (sizes,) = np.nonzero(groups)
    return tuple(groups[sizes].tolist()), tuple(hops[sizes].tolist())


def _undominated(layouts: list[Layout]) -> list[Layout]:
    """Leave out each layout that another serves all groups as well as."""
    costs = np.array([[h for _, hops in one.served for h in hops] for one in layouts])
    kept: list[int] = []
    for i in np.argsort(costs.sum(axis=1), kind="stable").tolist():
        if not any((costs[j] <= costs[i]).all() for j in kept):
            kept.append(i)
    return [layouts[i] for i in kept]
