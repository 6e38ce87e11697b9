"""The closed form in plain Python: what ``mapping_throughput.py`` holds the compiled forms against.

The formulas of ``evaluators/loopnest/data_reuse.py`` and ``evaluators/loopnest/kernel.py`` on ints
and lists, written to be fast as such: one walk over the loops for all tensors, numbers of the
problem taken out of the arrays once. Switched effects are left out, which only makes it faster.
"""

from math import ceil, inf, prod
from typing import Any

from archloom.evaluators.loopnest.kernel_inputs import KernelInputs
from archloom.space.workload.dims import RELEVANT, C, G, K, N, P, Q, R, S

_WEIGHTS, _INPUTS, _OUTPUTS = ([d for d in range(8) if row[d]] for row in RELEVANT)
_NEEDS = [(d in _WEIGHTS, d in _INPUTS, d in _OUTPUTS) for d in range(8)]


class PlainModel:
    """Energy and cycles of mappings of one problem without padding, bypass by need alone.

    Words are as wide as memories, there are no clusters and no zeros, all networks multicast,
    and no operand lives in the buffer.
    """

    def __init__(self, setup: KernelInputs) -> None:
        self.levels = len(setup.fanout)
        self.strides = [(int(s), int(d)) for s, d, _, _ in setup.window]
        self.fanout = setup.fanout.tolist()
        self.room = [c if c >= 0 else inf for c in setup.shared.tolist()]
        self.bandwidth = setup.bandwidth.tolist()
        self.pj = list(
            zip(
                setup.read_pj.tolist(),
                setup.fill_pj.tolist(),
                setup.update_pj.tolist(),
                strict=True,
            )
        )
        self.macs_pj = prod(float(b) for b in setup.bounds) * setup.working * setup.mac_pj

    def words(self, extents: list[int]) -> tuple[int, int, int, int, int]:
        """Return words of a tile of each tensor, and the rows and columns of its inputs."""
        n, g, k, c, p, q, r, s = extents
        (stride, dilation), (stride_q, dilation_s) = self.strides
        rows = (r - 1) * dilation + (p - 1) * stride + 1
        columns = (s - 1) * dilation_s + (q - 1) * stride_q + 1
        return g * k * c * r * s, n * g * c * rows * columns, n * g * k * p * q, rows, columns

    def evaluate(self, loops: Any, keep: Any) -> tuple[float, float] | None:
        """Return energy in pJ and cycles of a mapping ``[L][4][8]``; None if it does not fit."""
        extents, spreads, tiles = [[1] * 8], [], []
        for (temporal, x, y, _), kept, fanout, room in zip(
            loops, keep, self.fanout, self.room, strict=True
        ):
            if prod(x) > fanout[0] or prod(y) > fanout[1]:
                return None
            spread = [a * b for a, b in zip(x, y, strict=True)]
            inside = extents[-1]
            extents.append([i * s * t for i, s, t in zip(inside, spread, temporal, strict=True)])
            spreads.append(spread)
            tile = self.words(extents[-1])
            tiles.append(tile)
            if kept[0] * tile[0] + kept[1] * tile[1] + kept[2] * tile[2] > room:
                return None
        entering, steps = self._entering(loops, extents, spreads, tiles)
        return self._price(keep, extents, spreads, entering, steps)

    def _entering(
        self, loops: Any, extents: Any, spreads: Any, tiles: Any
    ) -> tuple[list[tuple[int, int, int, int]], int]:
        """Return words that enter each level, outputs that it owns, and the steps of all loops."""
        turns = owners = whole = run_w = run_i = run_o = 1
        slide = at = 0
        found = []
        for level in range(self.levels - 1, -1, -1):
            weights, inputs, outputs, rows, columns = tiles[level]
            fresh, reach = inputs, rows if slide in (P, R) else columns
            if slide >= P:
                step = extents[at][slide] * spreads[at][slide]
                step *= self.strides[slide % 2][slide >= R]
                fresh = inputs // reach * min(step, reach)
            enters = inputs * whole + (run_i - whole) * fresh
            found.append((weights * run_w, enters, outputs * run_o, outputs * owners))
            temporal, _, _, order = loops[level]
            for d in reversed(order):
                n = temporal[d]
                if n == 1:
                    continue
                for_w, for_i, for_o = _NEEDS[d]
                if for_i:
                    whole, slide, at = turns, d, level
                turns *= n
                if for_w:
                    run_w = turns
                if for_i:
                    run_i = turns
                if for_o:
                    run_o = turns
                    owners *= n
        return found[::-1], turns

    def _distinct(self, inside: list[int], spread: list[int]) -> tuple[int, int, int]:
        """Return children of one instance with different data, for each tensor."""
        (stride, dilation), (stride_q, dilation_s) = self.strides
        rows = _diagonals(spread[P], stride * inside[P], spread[R], dilation * inside[R])
        columns = _diagonals(spread[Q], stride_q * inside[Q], spread[S], dilation_s * inside[S])
        shared = spread[G] * spread[C]
        outputs = spread[N] * spread[G] * spread[K] * spread[P] * spread[Q]
        return (
            shared * spread[K] * spread[R] * spread[S],
            spread[N] * shared * rows * columns,
            outputs,
        )

    def _price(
        self, keep: Any, extents: Any, spreads: Any, entering: Any, steps: int
    ) -> tuple[float, float]:
        used = [1] * self.levels
        for level in range(self.levels - 1, 0, -1):
            used[level - 1] = used[level] * prod(spreads[level])
        energy, cycles, asked = 0.0, float(steps), [steps] * 3
        for level, kept in enumerate(keep):
            distinct = (1, 1, 1)
            if max(spreads[level]) > 1:
                distinct = self._distinct(extents[level], spreads[level])
            inside = level < self.levels - 1
            read = written = 0
            read_pj, fill_pj, update_pj = self.pj[level]
            for t in range(3):
                content = asked[t] * distinct[t]
                asked[t] = content
                if not kept[t]:
                    continue
                enters = asked[t] = entering[level][t] if inside else 0
                reads, fills, updates = content, enters, 0
                if t == 2:
                    owned = entering[level][3]
                    reads, fills, updates = content - owned, max(0, enters - owned), content
                read += reads
                written += fills + updates
                each = reads * read_pj[t] + fills * fill_pj[t] + updates * update_pj[t]
                energy += used[level] * each
            ports = self.bandwidth[level]
            if min(ports) < inf:
                needed = max(read / ports[0], written / ports[1], (read + written) / ports[2])
                cycles = max(cycles, ceil(needed))
        return energy + self.macs_pj, cycles


def _diagonals(a: int, step_a: int, b: int, step_b: int) -> int:
    if a == 1 or b == 1:
        return a * b
    x, y = step_a, step_b
    while y:
        x, y = y, x % y
    return a * b - max(0, a - step_b // x) * max(0, b - step_a // x)
