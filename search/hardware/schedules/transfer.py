"""Similar layers, whose best schedules are good starts for each other."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Final

from archloom.evaluators.host import ConvShape, KernelSpec, Schedule

#: the farthest layer that counts as similar: the distance of four doublings
_FARTHEST: Final = 4 * log(2)


def distance(one: ConvShape, other: ConvShape) -> float:
    """Return how different two shapes are: the sum of the logarithms of their ratios."""
    pairs = [
        (a.p * a.q, a.c // a.groups, a.k // a.groups, a.r * a.s, a.stride[0], a.groups)
        for a in (one, other)
    ]
    return sum(abs(log(a / b)) for a, b in zip(*pairs, strict=True))


def similar_schedules(
    spec: KernelSpec, best: Mapping[KernelSpec, Sequence[Schedule]], most: int = 2
) -> list[Schedule]:
    """Return schedules that fit of the most similar layers, the most similar first.

    Args:
        spec: a kernel.
        best: the fastest schedules of kernels that were tuned, the fastest first.
        most: schedules that are wanted.
    """
    kind = (spec.algorithm, spec.dtype, spec.sparse, spec.shape.depthwise)
    near = sorted(
        (distance(spec.shape, other.shape), number, other)
        for number, other in enumerate(best)
        if (other.algorithm, other.dtype, other.sparse, other.shape.depthwise) == kind
        and other != spec
    )
    found: list[Schedule] = []
    for far, _, other in near:
        for schedule in best[other][:1]:
            if far <= _FARTHEST and schedule.fault(spec) is None and schedule not in found:
                found.append(schedule)
    return found[:most]
