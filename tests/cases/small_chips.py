"""Small chips of the kinds of ``examples/spaces`` with random sizes, energies and layers."""

from dataclasses import replace

import numpy as np

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.effects import Effects
from archloom.space.hardware.hardware import AccessEnergy, Hardware, StorageLevel
from archloom.space.workload.dims import DIMS, TENSORS

#: kinds of chips: weights stand still, the same with tall arrays and few sums, sums stand still,
#: and cores with buffers of their own
WEIGHTS, TALL, SUMS, CORES = range(4)


def small_chip(rng: np.random.Generator, kind: int) -> Hardware:
    """Return a chip; energies of its words may be of any order."""
    x, y = int(rng.integers(1, 7)), int(rng.integers(4, 25) if kind == TALL else rng.integers(1, 9))
    if kind in (WEIGHTS, TALL):
        levels, mesh, array = _weights(rng, kind, x, y), (1, 1), (x, y)
    elif kind == SUMS:
        lanes = int(rng.integers(1, 7))
        levels, mesh, array = _sums(rng, x, y), (x, y), (1, lanes)
    else:
        mesh, array = (int(rng.integers(1, 3)), int(rng.integers(1, 3))), (x % 3 + 1, y)
        levels = _cores(rng, mesh, array)
    still = kind == TALL or (kind == WEIGHTS and rng.random() < 0.6)
    filled = str(rng.choice(["overlapped", "overlapped", "exposed"])) if still else "none"
    rate = 1000.0 if kind == TALL else float(rng.choice([1, 4, 100]))
    levels.append(_level("dram", TENSORS, (1, 1), None, rate, storage="dram"))
    made = Hardware(
        name="chip",
        technology="cacti_45nm",
        frequency_mhz=500,
        word_bits=8,
        pe_mesh=mesh,
        array=array,
        levels=tuple(levels),
        dram="lpddr4",
        vector_lanes=x,
        effects=Effects(fill_drain=filled),
    )
    if rng.random() < 0.3:
        return made
    return replace(made, levels=tuple(_priced(rng, one) for one in made.levels), mac_pj=0.1)


def _level(name, keeps, mesh, capacity, rate=1000.0, x=(), y=(), bits=(), storage="sram"):
    own = {} if storage == "dram" else {"spatial_x": x, "spatial_y": y}
    return StorageLevel(
        name=name,
        storage=storage,
        keeps=keeps,
        mesh=mesh,
        capacity_bytes=capacity,
        bandwidth_words=rate,
        width_words=1,
        tensor_bits=bits,
        **own,
    )


def _priced(rng, level: StorageLevel) -> StorageLevel:
    pj = np.round(rng.choice([0.05, 1, 1, 5, 30], 3) * rng.uniform(0.5, 2, 3), 3)
    return replace(level, energy=AccessEnergy(*map(float, pj), 0.0))


def _one(rng, some):
    return some[int(rng.integers(len(some)))]


def _weights(rng, kind: int, x: int, y: int) -> list[StorageLevel]:
    bits = (("outputs", 32),) if rng.random() < 0.5 else ()
    word = 4 if bits else 1
    most, room = (13, 2000) if kind == TALL else (60, 200)
    rows = _one(rng, [("C", "R", "S", "G"), ("C", "R", "S"), ("C",), ("R", "S"), ("C", "P")])
    columns = ("K",) if kind == TALL else _one(rng, [("K",), ("K", "Q"), ("K", "G")])
    rate = float(rng.choice([x, 4 * x, 1000]))
    sizes = [int(n) for n in rng.integers((1, 1, 4, 6), (4, most, room, room))]
    return [
        _level("cells", ("weights",), (x, y), sizes[0], 2.0),
        _level("sums", ("outputs",), (1, 1), word * sizes[1], rate, columns, rows, bits),
        _level("weights", ("weights",), (1, 1), sizes[2]),
        _level("maps", ("inputs", "outputs"), (1, 1), sizes[3]),
    ]


def _sums(rng, x: int, y: int) -> list[StorageLevel]:
    bits = (("outputs", 32),) if rng.random() < 0.5 else ()
    lanes = _one(rng, [("C", "R", "S"), ("C",), ("R", "S"), ("R", "P"), ("C", "R", "P", "Q")])
    rows = _one(rng, [("P", "Q"), ("P",), ("P", "R"), ("P", "Q", "R", "S")])
    sizes = [int(n) for n in rng.integers((1, 4, 6), (6, 200, 200))]
    return [
        _level("sums", ("outputs",), (x, y), (4 if bits else 1) * sizes[0], 2.0, (), lanes, bits),
        _level("weights", ("weights",), (1, 1), sizes[1], 4.0, ("K", "G"), rows),
        _level("maps", ("inputs", "outputs"), (1, 1), sizes[2], 4.0),
    ]


def _cores(rng, mesh, array) -> list[StorageLevel]:
    cells = (mesh[0] * array[0], mesh[1] * array[1])
    sizes = tuple((t, int(rng.integers(1, 40))) for t in TENSORS)
    return [
        _level("cells", ("weights",), cells, int(rng.integers(1, 4)), 2.0),
        _level("cores", TENSORS, mesh, sizes, 8.0, ("K",), ("C", "R", "S")),
        _level("shared", ("inputs", "outputs"), (1, 1), int(rng.integers(6, 200)), 4.0, DIMS, DIMS),
    ]


def small_problem(seed: int, kind: int) -> MappingProblem | None:
    """Return a layer with strides, dilation, padding and groups on a chip; None if there is no
    such layer, or the chip holds none of it.
    """
    rng = np.random.default_rng([seed, kind])
    hardware = small_chip(rng, kind)
    groups = 1 if rng.random() < 0.7 else int(rng.integers(2, 7))
    depthwise = groups > 1 and rng.random() < 0.6
    k, c = (1, 1) if depthwise else (int(n) for n in rng.integers(1, 17, 2))
    sides, taps = rng.integers(1, 15, 2), rng.integers(1, 4, 2)
    strides = rng.choice([1, 1, 1, 2, 3, 4], 2)
    dilation = np.ones(2, np.int64) if rng.random() < 0.85 else rng.integers(1, 3, 2)
    padding = np.zeros(2, np.int64) if rng.random() < 0.5 else rng.integers(0, taps)
    reach = (sides - 1) * strides + (taps - 1) * dilation + 1
    sizes = np.maximum(1, reach - 2 * padding + rng.integers(0, 2, 2))
    images = 1 if rng.random() < 0.8 else 2
    window = [tuple(int(n) for n in part) for part in (strides, dilation, padding, sizes)]
    bounds = (images, groups, k, c, *(int(n) for n in (*sides, *taps)))
    try:
        problem = MappingProblem(bounds, *window, hardware)
    except ValueError:
        return None
    return None if problem.impossible() is not None else problem
