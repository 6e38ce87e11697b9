"""Convolutions of all kinds, drawn by number: shape, format, type, density and schedule."""

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from archloom.evaluators.host.kernel import KernelSpec
from archloom.evaluators.host.schedules import Schedule, Untuned, schedule_kind, tunable
from archloom.evaluators.host.shape import ConvShape

#: kernels that Halide compiles: algorithm, type, whether weights are in CSR
COMPILED_KINDS = (
    *((a, "float32", False) for a in ("direct", "gemm", "spatial_pack")),
    *((a, "int8", False) for a in ("direct", "gemm", "spatial_pack")),
    *((a, "float16_stored", False) for a in ("direct", "gemm", "spatial_pack")),
    *((a, "float16", False) for a in ("direct", "gemm", "spatial_pack")),
    ("direct", "float32", True),
    ("gemm", "float32", True),
)
PORTABLE_KINDS = (
    ("portable", "float32", False),
    ("portable", "int8", False),
    ("portable", "float32", True),
)
LIBRARY_KINDS = (("library", "float32", False),)

DENSITIES = (0.0, 1.0, 0.2, 0.5)
GROUPINGS = ("one", "several", "depthwise")

#: draws until a schedule fits
TRIES = 60


def convolutions(
    kinds: tuple[tuple[str, str, bool], ...], count: int
) -> Iterator[tuple[KernelSpec, Schedule]]:
    """Yield kernels with a schedule; kinds, groupings and densities take turns."""
    for number in range(count):
        rng = np.random.default_rng([20, number])
        algorithm, dtype, sparse = kinds[number % len(kinds)]
        turn = number // len(kinds)
        shape = drawn_shape(rng, GROUPINGS[turn % len(GROUPINGS)])
        # dense kernels may have pruned weights too
        density = DENSITIES[turn % 4] if sparse else (1.0, 1.0, 0.3, 0.0)[turn % 4]
        spec = KernelSpec(shape, algorithm, dtype, sparse, density)
        yield spec, drawn_schedule(rng, spec, untuned=turn % 5 == 0)


def drawn_shape(rng: np.random.Generator, grouping: str) -> ConvShape:
    """Return a small shape whose maps, windows, strides and padding have no common measure."""

    def drawn(*values: int) -> int:
        return int(rng.choice(values))

    def pair(*values: int) -> tuple[int, int]:
        first = drawn(*values)
        return first, first if rng.random() < 0.6 else drawn(*values)

    groups = {"one": 1, "several": drawn(2, 3), "depthwise": drawn(4, 6, 8)}[grouping]
    c = groups * (1 if grouping == "depthwise" else drawn(1, 2, 3, 4))
    k = groups * drawn(*((1, 2) if grouping == "depthwise" else (1, 2, 4, 6, 16)))
    r, s = pair(1, 2, 3, 4)
    dilation, stride = pair(1, 1, 2), pair(1, 1, 2, 3)
    spread = ((r - 1) * dilation[0] + 1, (s - 1) * dilation[1] + 1)
    padding = int(rng.integers(spread[0])), int(rng.integers(spread[1]))
    h, w = (n + drawn(0, 1, 3, 5, 8, 13) for n in spread)
    p = (h + 2 * padding[0] - spread[0]) // stride[0] + 1
    q = (w + 2 * padding[1] - spread[1]) // stride[1] + 1
    # another row below, or a column less on the right, than padding on both sides makes
    p, q = p + (rng.random() < 0.15), max(q - (rng.random() < 0.15), 1)
    about = (stride, dilation, padding, groups, str(rng.choice(["", "relu", "relu6"])))
    return ConvShape(c, h, w, k, r, s, int(p), int(q), *about)


def drawn_schedule(rng: np.random.Generator, spec: KernelSpec, untuned: bool) -> Schedule:
    """Return a schedule that fits, the untuned one if it is asked for or none was found."""
    if untuned or not tunable(spec):
        return Untuned()
    kind = schedule_kind(spec)
    for _ in range(TRIES):
        drawn = {}
        for field in fields(kind):
            value = kind.CHOICES[field.name][int(rng.integers(len(kind.CHOICES[field.name])))]
            drawn[field.name] = {"no": False, "yes": True}.get(str(value), value)
        schedule = kind(**drawn)
        if schedule.fault(spec) is None:
            return schedule
    return Untuned()
