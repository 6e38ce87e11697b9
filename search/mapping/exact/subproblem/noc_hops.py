"""What hops and routers cost in a subproblem, word by word that enters a child (theorem 8).

The network below a level serves groups of children that share a word. A child that lets a tensor
pass counts as well: the words that would enter its tile take hops, and those that pass on take
routers. Terms are those of :class:`archloom.search.mapping.exact.subproblem.subproblem.Subproblem`.
"""

from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import helper, lean
from archloom.evaluators.loopnest import DILATION, STRIDE, KernelInputs
from archloom.space.workload import INPUTS, P, R

from .subproblem import (
    ANY_TENSOR,
    OF_INPUTS,
    Subproblem,
    leakage,
    least_words,
    meets,
    port_cycles,
    prepare,
    served,
    step_cycles,
)

#: values of ``Subproblem.sizes``: bounds of groups and hops are given, or must be found
BOUNDED, UNKNOWN = 0, -1

#: a code of :func:`ratio_code` for any way to share
ANY: Final = -1


def ratio_code(outs: int, step_out: int, kernels: int, step_kernel: int) -> int:
    """A number that says which sums of i * step_out and j * step_kernel are equal.

    0 if no two children can share (``i < outs`` or ``j < kernels`` is one alone), 1 if none do.
    """
    if outs == 1 or kernels == 1:
        return 0
    x, y = step_out, step_kernel
    while y:
        x, y = y, x % y
    if step_out // x >= kernels or step_kernel // x >= outs:
        return 1
    return 2 + step_out // x * outs + step_kernel // x


_ratio_code = helper(ratio_code)


@helper
def shares_as_coded(setup: KernelInputs, subproblem: Subproblem, level: int, extents: Ints) -> bool:
    """Whether children of a level with such tiles share inputs as the subproblem says."""
    window, spread = setup.window, subproblem.spread[level]
    for axis in range(2):
        code = subproblem.codes[level, axis]
        if code == ANY:
            continue
        step_out = window[axis, STRIDE] * extents[P + axis]
        step_kernel = window[axis, DILATION] * extents[R + axis]
        if code != _ratio_code(spread[P + axis], step_out, spread[R + axis], step_kernel):
            return False
    return True


@helper
def least_hops(near: Floats, children: int, groups: int, even: bool) -> float:
    """Hops that ``groups`` of ``children`` take at least, wherever they stand.

    A group takes as many as its farthest child is away, and one fewer than it has children.
    """
    size = children // groups if even else 1
    hops = 0.0
    for i in range(groups - 1):
        hops += max(near[(i + 1) * size - 1], size - 1.0)
    return float(hops + max(near[children - 1], size - 1.0))


@helper
def _bound_network(
    setup: KernelInputs, subproblem: Subproblem, tensor: int, level: int, children: int
) -> None:
    """Set the least groups and hops of a tensor where nothing says which child stands where."""
    different = served(setup, subproblem, tensor, level, False)
    even = not (tensor == INPUTS and meets(setup, subproblem.spread, level))
    subproblem.groups[level, tensor, 0] = different
    subproblem.hops[level, tensor, 0] = least_hops(
        subproblem.near[level], children, different, even
    )


@helper
def _routers(
    subproblem: Subproblem, tensor: int, level: int, moved: float, passing: float
) -> float:
    """Words at routers, if ``moved`` enter a child and ``passing`` pass in all."""
    words, total = 0.0, 0.0
    for size in range(subproblem.sizes[level, tensor]):
        total += subproblem.groups[level, tensor, size]
    for size in range(subproblem.sizes[level, tensor]):
        here = passing * subproblem.groups[level, tensor, size] / total
        words += here * (1.0 + np.floor(moved * subproblem.hops[level, tensor, size] / here))
    return words


@helper
def _all_hops(subproblem: Subproblem, tensor: int, level: int) -> float:
    """Hops that serve all children of a level with a word each."""
    hops = 0.0
    for size in range(max(1, subproblem.sizes[level, tensor])):
        hops += subproblem.hops[level, tensor, size]
    return hops


@helper
def passing_pj(
    subproblem: Subproblem, tensor: int, level: int, words: float, inside: float
) -> float:
    """Energy of the network below a level whose children let a tensor pass.

    ``words`` would enter each child, ``inside`` (0 if that is not known) the nearest keeper
    further in. What is not known for sure is bounded: words * (1 + floor(hops)) are no fewer
    than either words or hops.
    """
    energy = words * subproblem.stream_pj[level, tensor]
    price = subproblem.routed_pj[level, tensor]
    if price == 0.0:
        return float(energy)
    moved = words * _all_hops(subproblem, tensor, level)
    passing = subproblem.passing[level, tensor]
    if subproblem.coupled[level, tensor]:
        if inside == 0.0:
            return float(energy + price * moved)
        passing *= inside
    if subproblem.unsure[level, tensor]:
        return float(energy + price * max(passing, moved))
    return float(energy + price * _routers(subproblem, tensor, level, words, passing))


@helper
def _price_network(
    setup: KernelInputs, subproblem: Subproblem, tensor: int, level: int, kept: bool
) -> None:
    """Set what words over the network below a level cost; ``kept`` where they enter."""
    children = 1
    for d in range(8):
        children *= subproblem.spread[level, d]
    hop_pj, router_pj = setup.hop_pj[level], setup.router_pj[level]
    subproblem.stream_pj[level, tensor], subproblem.routed_pj[level, tensor] = 0.0, 0.0
    if children == 1 or hop_pj + router_pj == 0.0:
        return
    if subproblem.sizes[level, tensor] == UNKNOWN:
        _bound_network(setup, subproblem, tensor, level, children)
    used, hops = subproblem.used[level], _all_hops(subproblem, tensor, level)
    subproblem.stream_pj[level, tensor] = used * (hops * hop_pj)
    if not kept:
        subproblem.routed_pj[level, tensor] = used * router_pj
        return
    if subproblem.sizes[level, tensor] > 0:
        groups = 0.0
        for size in range(subproblem.sizes[level, tensor]):
            groups += subproblem.groups[level, tensor, size]
        words = _routers(subproblem, tensor, level, 1.0, groups)
    else:
        words = max(subproblem.groups[level, tensor, 0], hops)
    subproblem.stream_pj[level, tensor] += used * (words * router_pj)


@helper
def _wire_tensor(
    setup: KernelInputs, subproblem: Subproblem, tensor: int, total: int
) -> tuple[float, float]:
    fixed, least = 0.0, 0.0
    # words that pass are those of the MACs, or of the nearest keeper inside
    passing, coupled, sure = float(total), False, True
    for level in range(setup.top[tensor] + 1):
        kept = level == 0 or bool(subproblem.keep[level - 1, tensor])
        if level > 0 and kept:
            passing, coupled, sure = 1.0, True, True
        known = tensor == INPUTS and bool(subproblem.varies[level])
        passing *= served(setup, subproblem, tensor, level, known)
        if tensor == INPUTS and level > 0 and not known and subproblem.guess[level] == 0:
            sure = sure and not meets(setup, subproblem.spread, level)
        _price_network(setup, subproblem, tensor, level, kept)
        subproblem.passing[level, tensor] = passing
        subproblem.coupled[level, tensor] = coupled
        subproblem.unsure[level, tensor] = not sure or subproblem.sizes[level, tensor] <= 0
        if level == 0:
            fixed += total * subproblem.stream_pj[0, tensor]
            continue
        pj = 0.0
        if kept:
            words = least_words(subproblem, tensor, level - 1)
            pj = words * subproblem.stream_pj[level, tensor]
            subproblem.least_pj[level - 1, tensor] += pj
        elif subproblem.stream_pj[level, tensor] + subproblem.routed_pj[level, tensor] > 0.0:
            words = least_words(subproblem, tensor, level - 1)
            pj = passing_pj(subproblem, tensor, level, float(words), 0.0)
            subproblem.runs[level - 1, tensor] = 1
            subproblem.least_pj[level - 1, tensor] = pj
        least += pj
    return fixed, least


@helper
def wire(setup: KernelInputs, subproblem: Subproblem, total: int) -> tuple[float, float]:
    """Set what networks cost in a prepared subproblem; return what all mappings share, and the
    least of the rest.
    """
    levels = subproblem.keep.shape[0]
    fixed, least = 0.0, 0.0
    subproblem.carries[ANY_TENSOR], subproblem.carries[OF_INPUTS] = 0, 0
    for t in range(3):
        for level in range(levels):
            subproblem.runs[level, t] = subproblem.parent[level, t] >= 0
            subproblem.stream_pj[level, t], subproblem.routed_pj[level, t] = 0.0, 0.0
        shared, rest = _wire_tensor(setup, subproblem, t, total)
        fixed += shared
        least += rest
        needed = False
        for level in range(levels - 1, -1, -1):
            if level + 1 < levels:
                routed = subproblem.routed_pj[level + 1, t] > 0.0
                needed = needed or (subproblem.coupled[level + 1, t] > 0 and routed)
            needed = needed and subproblem.keep[level, t] == 0
            subproblem.needed[level, t] = needed
            if needed:
                subproblem.carries[ANY_TENSOR] = 1
                if t == INPUTS:
                    subproblem.carries[OF_INPUTS] = 1
    return fixed, least


@lean
def wired_bounds(setup: KernelInputs, subproblem: Subproblem) -> tuple[float, float, float]:
    """Prepare a subproblem; return the least energy, cycles and used leakage of its mappings."""
    fixed, least, total = prepare(setup, subproblem)
    shared, hops = wire(setup, subproblem, total)
    chip, dram = port_cycles(setup, subproblem.units)
    cycles = max(step_cycles(setup, total), chip, dram)
    return fixed + least + shared + hops, cycles, leakage(setup, subproblem)
