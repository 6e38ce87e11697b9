"""Rules of a valid mapping, checked on its factors.

Independent of: every search and kernel.
"""

from math import prod

from archloom.space.hardware.hardware import Hardware
from archloom.space.mapping.mapping import Mapping, trimmed
from archloom.space.workload.dims import DIMS, TENSORS, Tensor
from archloom.space.workload.layer import Layer


def mapping_violations(mapping: Mapping, layer: Layer, hardware: Hardware) -> list[str]:
    """Return every rule that the mapping's structure breaks, with the numbers; empty if none.

    Factors may multiply to more than a bound, as long as no loop has a step without work.
    Capacity is not looked at here: it depends on what else lives in a buffer, and the
    evaluators check it.
    """
    if len(mapping.levels) != len(hardware.levels):
        have, want = len(mapping.levels), len(hardware.levels)
        return [f"mapping has {have} levels, {hardware.name} has {want}"]
    broken = _bound_violations(mapping, layer.bounds)
    for level, loops, fanout in zip(hardware.levels, mapping.levels, hardware.fanouts, strict=True):
        for axis, factors, allowed, children in (
            ("x", loops.spatial_x, level.spatial_x, fanout[0]),
            ("y", loops.spatial_y, level.spatial_y, fanout[1]),
        ):
            if prod(factors) > children:
                broken.append(
                    f"{level.name}: {prod(factors)} children along {axis}, has {children}"
                )
            broken += [
                f"{level.name}: {DIMS[d]} may not be unrolled along {axis}"
                for d, factor in enumerate(factors)
                if factor > 1 and DIMS[d] not in allowed
            ]
        broken += _keep_violations(level.name, loops.keeps, level.keeps, level.optional)
    return broken


def _bound_violations(mapping: Mapping, bounds: tuple[int, ...]) -> list[str]:
    covered = mapping.factors
    # a dimension that falls short has steps to spare nowhere
    least = trimmed(mapping, tuple(map(min, covered, bounds))).factors
    return [
        f"{DIMS[d]}: factors multiply to {got}, must multiply to the bound {want}"
        + (f"; {enough} would cover it" if got > want else "")
        for d, (got, want, enough) in enumerate(zip(covered, bounds, least, strict=True))
        if got < want or got > enough
    ]


def _keep_violations(
    name: str, kept: tuple[bool, bool, bool], keeps: tuple[Tensor, ...], optional: bool
) -> list[str]:
    broken = []
    for tensor, held in zip(TENSORS, kept, strict=True):
        if held and tensor not in keeps:
            broken.append(f"{name}: cannot hold {tensor}")
        if not held and tensor in keeps and not optional:
            broken.append(f"{name}: {tensor} may not bypass it")
    return broken
