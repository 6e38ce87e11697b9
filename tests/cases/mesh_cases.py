"""Random layers on random designs with one mesh of buffers that keep all tensors."""

from dataclasses import replace
from math import inf

import numpy as np

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload.dims import DIMS, TENSORS

from .bound_cases import pick, random_hardware, random_level, random_problem, some as chosen


def mesh_hardware(rng) -> Hardware:
    """Return a mesh of buffers for all tensors below buffers of one instance each, with ports that
    are wide mostly."""
    hardware = random_hardware(rng)
    while len(hardware.levels) < 3:
        hardware = random_hardware(rng)
    mesh = (int(rng.integers(2, 6)), int(rng.integers(1, 6)))
    sizes = {tensor: float(rng.integers(1, 24)) for tensor in TENSORS}
    first = replace(
        random_level(rng, "l0", mesh, 1, must_keep=True),
        optional=False,
        cluster_size=1,
        multicast=TENSORS,
        capacity_bytes=tuple(sizes.items()) if rng.random() < 0.6 else sum(sizes.values()),
        bandwidth_words=pick(rng, (inf, 4.0, 3.0)),
        read_bandwidth_words=inf,
        write_bandwidth_words=inf,
    )
    spatial = [DIMS if rng.random() < 0.7 else chosen(rng, DIMS, 0.7) for _ in range(2)]
    outer = [
        replace(
            level,
            mesh=(1, 1),
            cluster_size=1,
            capacity_bytes=float(rng.integers(60, 3000)),
            bandwidth_words=pick(rng, (inf, inf, 4.0, 16.0)),
            read_bandwidth_words=inf,
            write_bandwidth_words=inf,
        )
        for level in hardware.levels[1 : 2 if rng.random() < 0.5 else -1]
    ] or [replace(first, name="l1", mesh=(1, 1), capacity_bytes=500.0)]
    outer[0] = replace(outer[0], spatial_x=spatial[0], spatial_y=spatial[1])
    dram = replace(hardware.levels[-1], bandwidth_words=pick(rng, (inf, 2.0, 8.0)))
    levels = (first, *outer, dram)
    return replace(hardware, levels=levels, pe_mesh=mesh, array=(1, 1))


def mesh_problem(seed: int, hardware: Hardware | None = None) -> MappingProblem:
    """Return a layer, strides larger than its taps and dilation among them."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, hardware or mesh_hardware(rng))
    bounds = [pick(rng, (1, 1, 1, 2)), pick(rng, (1, 1, 1, 2)), *rng.integers(1, 20, 4).tolist()]
    if rng.random() < 0.2:
        bounds[1], bounds[2], bounds[3] = int(rng.integers(2, 20)), 1, 1
    bounds += [pick(rng, (1, 1, 2, 3, 4)) for _ in range(2)]
    stride = tuple(pick(rng, (1, 1, 1, 2, 3)) for _ in range(2))
    dilation = (1, 1) if rng.random() < 0.9 else (2, 1)
    padding = tuple(int(rng.integers(0, taps)) for taps in bounds[6:])
    sizes = [
        (bounds[4 + a] - 1) * stride[a] + (bounds[6 + a] - 1) * dilation[a] + 1 - 2 * padding[a]
        for a in (0, 1)
    ]
    return replace(
        problem,
        bounds=tuple(bounds),
        stride=stride,
        dilation=dilation,
        padding=padding,
        input_size=tuple(max(1, size) for size in sizes),
    )


def small_hardware(rng) -> Hardware:
    """Return such a design with three levels, of which mappings may bypass the middle one for some
    tensors, or may not."""
    hardware = mesh_hardware(rng)
    first, second, *_, dram = hardware.levels
    mesh = (int(rng.integers(1, 4)), int(rng.integers(2, 4)))
    sizes = {tensor: float(rng.integers(1, 9)) for tensor in TENSORS}
    first = replace(
        first,
        mesh=mesh,
        capacity_bytes=tuple(sizes.items()) if rng.random() < 0.6 else sum(sizes.values()),
    )
    second = replace(
        second,
        keeps=TENSORS if rng.random() < 0.5 else chosen(rng, TENSORS, 0.7) or ("inputs",),
        capacity_bytes=float(rng.integers(8, 80)),
        optional=bool(rng.random() < 0.5),
    )
    effects = replace(hardware.effects, fill_drain="none")
    levels = (first, second, dram)
    return replace(hardware, levels=levels, pe_mesh=mesh, effects=effects)


def small_mesh_problem(seed: int) -> MappingProblem:
    """Return a layer on it with so few mappings that they may be listed."""
    rng = np.random.default_rng(seed)
    problem = mesh_problem(seed, small_hardware(rng))
    wide = rng.permutation(6)[: int(rng.integers(2, 4))]
    bounds = [1] * 8
    for d in wide.tolist():
        bounds[d] = int(rng.integers(2, 8 if d > 1 else 3))
    for axis in range(2):
        if rng.random() < 0.5:
            bounds[6 + axis] = int(rng.integers(2, 4))
    sizes = [
        (bounds[4 + a] - 1) * problem.stride[a] + (bounds[6 + a] - 1) * problem.dilation[a] + 1
        for a in (0, 1)
    ]
    padding = tuple(int(rng.integers(0, taps)) for taps in bounds[6:])
    sizes = [max(1, size - 2 * pad) for size, pad in zip(sizes, padding, strict=True)]
    buffer = problem.hardware.fusion_level
    parted = buffer is not None and rng.random() < 0.3
    weights = pick(rng, ((1.0, 1.0), (1.0, 1.0), (1.0, 0.0), (2.0, 1.0)))
    return replace(
        problem,
        bounds=tuple(bounds),
        padding=padding,
        input_size=tuple(sizes),
        free_words=int(rng.integers(4, 60)) if parted else None,
        weights=weights if rng.random() < 0.5 else (1.0, 1.0),
        constraints=replace(problem.constraints, both_axes=bool(rng.random() < 0.7)),
    )
