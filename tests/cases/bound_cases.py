"""Random layers, hardware and mappings for bounds, and what a mapping moves and costs."""

from dataclasses import dataclass
from math import inf, prod

import numpy as np

from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch, evaluate_one
from archloom.evaluators.loopnest.kernel_inputs import new_workspace
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.annealing import anneal, first_mapping
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import DIMS, TENSORS

FREE = AccessEnergy(0.0, 0.0, 0.0)


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def some(rng, values, chance):
    return tuple(v for v in values if rng.random() < chance)


def random_level(rng, name, mesh, scale, must_keep=False):
    keeps = TENSORS if must_keep else some(rng, TENSORS, 0.8) or ("weights",)
    private = rng.random() < 0.4
    sizes = {t: float(rng.integers(2, 40) * scale) for t in keeps}
    spatial = [DIMS if rng.random() < 0.5 else some(rng, DIMS, 0.5) for _ in range(2)]
    instances = prod(mesh)
    energy = AccessEnergy(*map(float, rng.uniform(0.2, 4, 3)), address_pj=float(rng.random() < 0.2))
    return StorageLevel(
        name=name,
        storage="sram",
        keeps=keeps,
        mesh=mesh,
        capacity_bytes=tuple(sizes.items()) if private else sum(sizes.values()),
        bandwidth_words=pick(rng, (inf, 0.5, 2.0, 8.0)),
        width_words=pick(rng, (1, 1, 2, 4)),
        spatial_x=spatial[0],
        spatial_y=spatial[1],
        optional=bool(rng.random() < 0.3),
        read_bandwidth_words=pick(rng, (inf, inf, 1.5)),
        write_bandwidth_words=pick(rng, (inf, inf, 0.75)),
        multiple_buffering=pick(rng, (1.0, 1.0, 2.0)),
        multicast=TENSORS if rng.random() < 0.8 else some(rng, TENSORS, 0.5),
        cluster_size=2 if instances % 2 == 0 and rng.random() < 0.2 else 1,
        tensor_bits=(("outputs", 16),) if rng.random() < 0.2 else (),
        energy=energy if rng.random() < 0.7 else None,
    )


def random_hardware(rng):
    """Return a hardware of two to four levels, with every kind of limit now and then."""
    meshes = [(1, 1)]
    for _ in range(int(rng.integers(1, 4))):
        wider = [m * pick(rng, (1, 1, 2, 3, 4)) for m in meshes[0]]
        meshes.insert(0, (wider[0], wider[1]))
    array = (pick(rng, (1, 1, 2, 4)), pick(rng, (1, 1, 1, 2)))
    levels = [
        random_level(rng, f"l{i}", mesh, 4**i, must_keep=i == len(meshes) - 2)
        for i, mesh in enumerate(meshes[:-1])
    ]
    dram = StorageLevel(
        name="dram",
        storage="dram",
        keeps=TENSORS,
        mesh=(1, 1),
        capacity_bytes=None,
        bandwidth_words=pick(rng, (inf, 0.5, 2.0)),
        width_words=pick(rng, (1, 4)),
        energy=AccessEnergy(8.0, 9.0, 10.0) if rng.random() < 0.8 else None,
    )
    zeros = ("computed", "computed", "gated", "skipped")
    return Hardware(
        name="random",
        technology="cacti_45nm",
        frequency_mhz=500.0,
        word_bits=8,
        pe_mesh=meshes[0],
        array=array,
        levels=(*levels, dram),
        dram="lpddr4",
        vector_lanes=4,
        mac_pj=0.5,
        effects=Effects(
            network="free",
            fill_drain=pick(rng, ("none", "none", "overlapped", "exposed")),
            weight_zeros=pick(rng, zeros),
            input_zeros=pick(rng, zeros),
        ),
    )


def random_problem(rng, hardware=None):
    """Return the problem of a random layer: any window, grouped or not, some operands staged."""
    hardware = hardware or random_hardware(rng)
    small, wide = (1, 1, 2, 3), (1, 2, 3, 4, 6, 8, 12, 16)
    bounds = [pick(rng, small), pick(rng, small), *(pick(rng, wide) for _ in range(4))]
    bounds += [pick(rng, (1, 1, 2, 3, 4)), pick(rng, (1, 1, 2, 3))]
    if rng.random() < 0.2:  # depthwise
        bounds[1], bounds[2], bounds[3] = pick(rng, wide), 1, 1
    stride, dilation = (tuple(int(n) for n in rng.integers(1, 4, 2)) for _ in range(2))
    if rng.random() < 0.5:
        stride, dilation = (1, 1), (1, 1)
    pads, sizes = [], []
    for axis in (0, 1):
        window = (bounds[6 + axis] - 1) * dilation[axis] + 1
        pad = int(rng.integers(0, window))
        least = max(1, (bounds[4 + axis] - 1) * stride[axis] - pad + 1)
        exact = (bounds[4 + axis] - 1) * stride[axis] + window - pad
        pads.append(pad)
        sizes.append(int(rng.integers(least, max(least, exact + 1) + 1)))
    buffer, staged = hardware.fusion_level, [False] * 3
    if buffer is not None and rng.random() < 0.4:
        keeps = hardware.levels[buffer].keeps
        staged = [t in keeps and bool(rng.random() < 0.5) for t in TENSORS]
    density = (float(rng.uniform(0.2, 1)), float(rng.uniform(0.2, 1)))
    return MappingProblem(
        tuple(bounds),
        stride,
        dilation,
        (pads[0], pads[1]),
        (sizes[0], sizes[1]),
        hardware,
        staged=(staged[0], staged[1], staged[2]),
        density=density,
    )


def primes(n):
    """Return the prime factors of n."""
    found, p = [], 2
    while n > 1:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return found


def random_mappings(problem, rng, count):
    """Return loops[count, L, 4, 8] and keep[count, L, 3]: any factors, orders and bypasses.

    Each draws how much it likes each level, so that some work in small tiles and some in large.
    """
    setup = problem.setup
    levels = len(problem.hardware.levels)
    loops = np.ones((count, levels, 4, 8), np.int64)
    keep = np.repeat(setup.allowed[None], count, axis=0)
    factors = [(d, p) for d in range(8) for p in primes(problem.bounds[d])]
    for one in range(count):
        liking = rng.dirichlet(np.full(levels, 0.5))
        for d, p in (factors[i] for i in rng.permutation(len(factors))):
            level = int(rng.choice(levels, p=liking))
            kind = int(rng.integers(3))
            if kind:
                full = loops[one, level, kind].prod() * p > setup.fanout[level, kind - 1]
                if full or not setup.spatial[level, kind - 1, d]:
                    kind = 0
            loops[one, level, kind, d] *= p
        for level in range(levels):
            loops[one, level, 3] = rng.permutation(8)
        bypassed = (rng.random((levels, 3)) < 0.5) & (setup.optional > 0)
        keep[one][bypassed] = 0
    return loops, keep


@dataclass(frozen=True)
class Run:
    """What one valid mapping moves and costs: float64[L, 2] words, as the bounds count them."""

    energy_pj: float
    chip_cycles: float
    dram_cycles: float
    words: np.ndarray
    counts: np.ndarray
    used: np.ndarray


def runs(problem, rng, count):
    """Yield the valid ones of ``count`` random mappings."""
    loops, keep = random_mappings(problem, rng, count)
    status, *_ = evaluate_batch(problem.setup, loops, keep)
    for i in np.flatnonzero(status == VALID):
        yield run_of(problem, loops[i], keep[i])


def run_of(problem, loops, keep):
    """Return the run of one mapping."""
    setup, levels = problem.setup, len(problem.hardware.levels)
    found = new_workspace(levels)
    status, energy, chip, dram = evaluate_one(setup, loops, keep, found)
    counts, used = found.counts, found.used
    assert status == VALID
    words = np.zeros((levels, 2))
    words[:, 0] = counts.sum(axis=(1, 2)) * used
    crossing = counts[:, :, 1].sum(axis=1).astype(float)
    for level in range(levels - 1):
        if keep[level, 2] and level < setup.top[2]:
            # results leave as often as partial sums of the tile change
            crossing[level] += drained(counts, level)
    words[:, 1] = crossing * used
    return Run(energy, chip, dram, words, counts, used)


def drained(counts, level):
    """Words of results that leave one instance: those that come back, and those it ever owns."""
    return counts[level, 2, 2] - counts[level, 2, 0] + counts[level, 2, 1]


def annealed(problem, goal, level, seed, budget):
    """Return the best run that annealing finds for one goal, or None if nothing is valid.

    ``goal`` is ``energy``, ``cycles`` or ``edp``, or words at a level, ``moved`` or ``crossing``.
    """
    setup = _aimed(problem.setup, goal, level)
    now, best, word = first_mapping(setup), first_mapping(setup), np.array([seed], np.uint64)
    anneal(setup, now, best, word, 0, budget)
    return run_of(problem, best.loops, best.keep) if best.score[0] < inf else None


def _aimed(setup, goal, level):
    """Return a setup whose objective is the goal."""
    if goal == "edp":
        return setup
    if goal == "cycles":
        return setup._replace(weights=np.array([0.0, 1.0]))
    base = setup._replace(weights=np.array([1.0, 0.0]), leakage_pj=0.0)
    if goal == "energy":
        return base
    read, fill, update = np.zeros((3, *setup.read_pj.shape))
    fill[level] = 1.0
    if goal == "moved":
        read[level] = update[level] = 1.0
    else:  # results that leave are those that come in, less those that are read again
        update[level, 2], read[level, 2] = 1.0, -1.0
    return base._replace(
        read_pj=read,
        fill_pj=fill,
        update_pj=update,
        mac_pj=1.0,
        width=np.ones_like(setup.width),
        cluster=np.ones_like(setup.cluster),
        served=np.ones(3),
        extras=0,
    )
