"""Small mapping problems by number, and all mappings of one of them."""

from dataclasses import replace
from itertools import permutations, product
from math import factorial, inf, prod
from random import Random

import numpy as np

from archloom.evaluators.loopnest.data_reuse import ORDER
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.exact.spatial.unrollings import keeps_of
from archloom.search.mapping.simd.draws import factorisations
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import DIMS, TENSORS
from archloom.space.workload.layer import Layer

from .mapped_layers import draw_staged, part, some

#: most mappings of a problem, and of a block that is priced at once
MOST, BLOCK = 60_000, 20_000

#: dimensions that move in each kind of problem, and how often kinds are drawn
KINDS = ("KC", "KCP", "NKC", "GPR", "GPQ", "KPR", "CPR", "CQS", "KPQ", "PQR", "PRQS", "KCPR",
         "GKCP", "GKPR", "NGPR", "NKPR", "KPQRS")  # fmt: skip
STEPS = ((1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (2, 3), (3, 2), (4, 2), (2, 2))


#: exponents of energy and of latency in each objective
OBJECTIVES = {"edp": (1.0, 1.0), "energy": (1.0, 0.0), "latency": (0.0, 1.0)}


def drawn_problem(number: int) -> MappingProblem:
    """Return the problem of that number, with at most MOST mappings; the same everywhere."""
    rng = Random(f"exact-{number}")
    while True:
        problem = _draw(rng)
        if problem is not None and mappings_of(problem.setup, True) <= MOST:
            return problem


def drawn_network(number: int) -> MappingProblem:
    """Return the problem of that number among those whose words take hops."""
    rng = Random(f"hops-{number}")
    while True:
        problem = _draw(rng)
        if problem is None or problem.setup.fanout.max() == 1:
            continue
        levels = [replace(level, energy=_wired(rng, level)) for level in problem.hardware.levels]
        effects = replace(problem.hardware.effects, network="mesh")
        hardware = replace(problem.hardware, levels=tuple(levels), effects=effects)
        problem = replace(problem, hardware=hardware)
        count = mappings_of(problem.setup, True) * prod(map(len, _ways(problem.setup)))
        if 500 <= count <= MOST:
            return problem


def drawn_filled(number: int) -> MappingProblem:
    """Return the problem of that number among those whose array fills and drains: exposed if the
    number is even, overlapped if it is odd.
    """
    rng = Random(f"filled-{number}")
    while True:
        problem = _draw(rng)
        if problem is None or problem.setup.fanout.max() == 1:
            continue
        problem = filled(rng, problem, number)
        if number % 3 == 2:
            # where outer levels cost no more than inner ones, fewer loads may cost more energy
            problem = replace(problem, hardware=_flat(rng, problem.hardware))
        if 100 <= mappings_of(problem.setup, True) <= MOST:
            return problem


def large_filled(number: int) -> MappingProblem:
    """Return the problem of that number among those with larger bounds whose array fills."""
    rng = Random(f"large-filled-{number}")
    while True:
        problem = _draw(rng, (4, 6, 8, 12))
        if problem is None or problem.setup.fanout.max() == 1 or len(problem.setup.fanout) < 3:
            continue
        problem = filled(rng, problem, number)
        if number % 2:
            problem = replace(problem, hardware=_flat(rng, problem.hardware))
        if MOST < mappings_of(problem.setup, True) <= 400_000:
            return problem


def _flat(rng: Random, hardware: Hardware) -> Hardware:
    """Return a hardware with energies of all levels from the same range."""
    levels = []
    for level in hardware.levels:
        assert level.energy is not None
        pj = [rng.randrange(1, 64) / 8 for _ in range(3)]
        energy = replace(level.energy, read_pj=pj[0], fill_pj=pj[1], update_pj=pj[2])
        levels.append(replace(level, energy=energy))
    return replace(hardware, levels=tuple(levels))


def awkward_filled(number: int) -> MappingProblem:
    """Return the problem of that number among those whose bounds hardly divide and whose array
    fills and drains, as :func:`drawn_filled` has it.
    """
    rng = Random(f"awkward-filled-{number}")
    while True:
        problem = _draw(rng, (2, 3, 5, 5, 7, 7, 11, 13))
        if problem is not None and problem.setup.fanout.max() > 1:
            return filled(rng, problem, number)


def filled(rng: Random, problem: MappingProblem, number: int) -> MappingProblem:
    """Return a problem on a hardware of the same meshes, of which all or some are in arrays that
    fill and drain.
    """
    hardware = problem.hardware
    across, down = hardware.mac_mesh
    meshes = sorted({level.mesh for level in hardware.levels} - {hardware.mac_mesh})
    # PEs with a level of their own, or with parts of the children of one
    parts = [[n for n in range(1, size + 1) if size % n == 0] for size in (across, down)]
    pes = rng.choice((rng.choice(meshes), (rng.choice(parts[0]), rng.choice(parts[1]))))
    mode = ("exposed", "overlapped")[number % 2]
    effects = replace(hardware.effects, fill_drain=mode)
    array = (across // pes[0], down // pes[1])
    hardware = replace(hardware, pe_mesh=pes, array=array, effects=effects)
    return replace(problem, hardware=hardware)


def _wired(rng: Random, level: StorageLevel) -> AccessEnergy:
    assert level.energy is not None
    hop_pj = rng.choice((0, 0.25, 1, 4, 30))
    return replace(level.energy, hop_pj=hop_pj, router_pj=rng.choice((0, 0, 0.25, 2, 20)))


def awkward_problem(number: int) -> MappingProblem:
    """Return the problem of that number among those whose bounds hardly divide."""
    rng = Random(f"awkward-{number}")
    while True:
        problem = _draw(rng, (2, 3, 5, 5, 7, 7, 11, 13))
        if problem is not None:
            return problem


def _draw(rng: Random, sizes: tuple[int, ...] = (2, 2, 2, 3, 4, 6)) -> MappingProblem | None:
    bounds = dict.fromkeys(DIMS, 1)
    for d in rng.choice(KINDS):
        bounds[d] = rng.choice(sizes if d not in "RS" else (2, 2, 3, 4))
    (sy, dy), (sx, dx) = rng.choice(STEPS), rng.choice(STEPS)
    sizes, pads = [], []
    for out, kernel, stride, dilation in (
        (bounds["P"], bounds["R"], sy, dy),
        (bounds["Q"], bounds["S"], sx, dx),
    ):
        window = (kernel - 1) * dilation + 1
        pad = rng.choice((0, 0, rng.randrange(window)))
        least = max(1, (out - 1) * stride - pad + 1)
        whole = (out - 1) * stride + window - pad
        sizes.append(max(1, rng.choice((whole, whole, rng.randint(min(least, whole), whole)))))
        pads.append(pad)
    layer = Layer(
        "small",
        "conv",
        **{d.lower(): bound for d, bound in bounds.items()},
        stride=(sy, sx),
        dilation=(dy, dx),
        padding=(pads[0], pads[1]),
        input_size=(sizes[0], sizes[1]),
    )
    hardware = _hardware(rng)
    density = (rng.choice((0.25, 0.5, 1.0)), rng.choice((0.5, 0.75, 1.0)))
    problem = MappingProblem.of_layer(layer, hardware)
    problem = replace(problem, staged=draw_staged(rng, hardware), density=density)
    return None if problem.impossible() else problem


def _hardware(rng: Random) -> Hardware:
    height = rng.choice((2, 2, 3, 3, 3, 4))
    meshes = [(1, 1)]
    for _ in range(height):
        fan = (rng.choice((1, 1, 2, 3, 4)), rng.choice((1, 1, 2, 4)))
        fan = fan if rng.random() < 0.6 else (1, 1)
        meshes.append((meshes[-1][0] * fan[0], meshes[-1][1] * fan[1]))
    *storage, macs = meshes
    plain = rng.random() < 0.4
    bits = rng.choice((8, 16))
    levels = [_level(rng, i, mesh, plain, bits) for i, mesh in enumerate(reversed(storage))]
    return chip(rng, bits, macs, levels)


def _level(rng: Random, i: int, mesh: tuple[int, int], plain: bool, bits: int) -> StorageLevel:
    scale = 4**i
    pj = [scale * rng.randrange(1, 64) / 8 for _ in range(3)]
    keeps = some(rng, 0.8) or TENSORS
    sizes = {t: rng.choice((1, 2, 3, 4, 6, 9, 16, 40)) * bits / 8 for t in keeps}
    limited = rng.random() < 0.35
    level = StorageLevel(
        name=f"level {i}",
        storage="sram",
        keeps=keeps,
        mesh=mesh,
        capacity_bytes=tuple(sizes.items()) if rng.random() < 0.3 else sum(sizes.values()),
        bandwidth_words=rng.choice((0.25, 0.5, 0.75, 1, 2.5, 4)) if limited else inf,
        width_words=rng.choice((1, 1, 2, 3)),
        optional=rng.random() < 0.15,
        energy=AccessEnergy(*pj),
        spatial_x=DIMS if rng.random() < 0.7 else tuple(d for d in DIMS if rng.random() < 0.6),
        spatial_y=DIMS if rng.random() < 0.7 else tuple(d for d in DIMS if rng.random() < 0.6),
    )
    if plain:
        return level
    return replace(
        level,
        read_bandwidth_words=rng.choice((inf, inf, 0.25, 1)) if limited else inf,
        write_bandwidth_words=rng.choice((inf, inf, 0.25, 1)) if limited else inf,
        multiple_buffering=rng.choice((1.0, 1.0, 1.5, 2.0)),
        multicast=TENSORS if rng.random() < 0.7 else some(rng, 0.5),
        cluster_size=part(rng, prod(mesh)),
        tensor_bits=tuple((t, rng.choice((8, 16, 24))) for t in some(rng, 0.2)),
        energy=AccessEnergy(
            *pj,
            leakage_pj=rng.choice((0, 0.375, 1.5)),
            address_pj=rng.choice((0, 0.5)),
        ),
    )


def chip(rng: Random, bits: int, macs: tuple[int, int], levels: list[StorageLevel]) -> Hardware:
    """Return a hardware of such levels, of which the last becomes DRAM."""
    dram = replace(levels[-1], storage="dram", keeps=TENSORS, capacity_bytes=None, optional=False)
    zeros = ("computed", "computed", "gated", "skipped")
    return Hardware(
        name="chip",
        technology="cacti_45nm",
        frequency_mhz=1000,
        word_bits=bits,
        pe_mesh=macs,
        array=(1, 1),
        levels=(*levels[:-1], dram),
        dram="lpddr4",
        vector_lanes=1,
        mac_pj=rng.randrange(16) / 8,
        effects=Effects(weight_zeros=rng.choice(zeros), input_zeros=rng.choice(zeros)),
    )


def _slots(setup: KernelInputs, d: int) -> list[int]:
    """Places of factors, level * 3 + kind, that a dimension may have."""
    meshes = (setup.fanout > 1) & (setup.spatial[:, :, d] > 0)
    return [
        3 * level + kind
        for level in range(len(meshes))
        for kind in range(3)
        if kind == 0 or meshes[level, kind - 1]
    ]


def _moving(setup: KernelInputs) -> list[int]:
    return [d for d in range(8) if setup.bounds[d] > 1]


def mappings_of(setup: KernelInputs, free: bool) -> int:
    """How many mappings a problem has, valid or not."""
    moving = _moving(setup)
    tilings = prod(len(factorisations(int(setup.bounds[d]), len(_slots(setup, d))).T)
                   for d in moving)  # fmt: skip
    orders = factorial(len(moving)) ** (len(setup.fanout) - 1)
    return tilings * orders * (2 ** int(setup.optional.sum()) if free else 1)


def all_loops(setup: KernelInputs) -> np.ndarray:
    """Every way to share factors out and to order loops: int64[B, L, 4, 8]."""
    moving, levels = _moving(setup), len(setup.fanout)
    loops = np.ones((1, levels, 4, 8), np.int64)
    for d in moving:
        slots = _slots(setup, d)
        table = factorisations(int(setup.bounds[d]), len(slots)).T.astype(np.int64)
        loops = np.repeat(loops, len(table), axis=0)
        rows = np.tile(table, (len(loops) // len(table), 1))
        for slot, column in zip(slots, rows.T, strict=True):
            loops[:, slot // 3, slot % 3, d] = column
    if not setup.both_axes:
        loops = loops[(loops[:, :, 1:3].min(axis=2) == 1).all(axis=(1, 2))]
    still = [d for d in range(8) if d not in moving]
    ways = np.array([[*way, *still] for way in permutations(moving)])
    orders = np.array(list(product(range(len(ways)), repeat=levels - 1)))
    loops = np.repeat(loops, len(orders), axis=0)
    loops[:, 0, ORDER] = np.arange(8)
    loops[:, 1:, ORDER] = np.tile(ways[orders], (len(loops) // len(orders), 1, 1))
    return loops


def unrolled_orders(setup: KernelInputs) -> list[np.ndarray]:
    """Every order of unrolled loops that can matter: int64[L, 2, 8] each."""
    return [np.array(ways).reshape(-1, 2, 8) for ways in product(*_ways(setup))]


def _ways(setup: KernelInputs) -> list[list[list[int]]]:
    """Orders of the loops along each axis of each level, one after another."""
    found = []
    for level, axis in product(range(len(setup.fanout)), (0, 1)):
        priced = setup.hop_pj[level] + setup.router_pj[level] > 0
        here = priced and setup.fanout[level, axis] > 1
        moving = [d for d in _moving(setup) if here and setup.spatial[level, axis, d]]
        still = [d for d in range(8) if d not in moving]
        found.append([[*way, *still] for way in permutations(moving)])
    return found


def all_costs(setup: KernelInputs, keeps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Energy (leakage included) and cycles of every valid mapping under one of ``keeps``."""
    loops = all_loops(setup)
    energies, latencies = [np.zeros(0)], [np.zeros(0)]
    for keep, across in product(keeps, unrolled_orders(setup)):
        status, energy, chip, dram = evaluate_batch(
            setup._replace(across=across),
            loops,
            np.broadcast_to(keep, (len(loops), *keep.shape)).copy(),
        )
        cycles = np.maximum(chip, dram)[status == VALID]
        energies.append(energy[status == VALID] + setup.leakage_pj * cycles)
        latencies.append(cycles)
    return np.concatenate(energies), np.concatenate(latencies)


def along_axes(problem: MappingProblem, both: bool) -> MappingProblem:
    """Return the problem where a dimension may be along both axes of a mesh, or may not."""
    return replace(problem, constraints=replace(problem.constraints, both_axes=both))


def unlike_all_mappings(problem: MappingProblem) -> list[str]:
    """Return objectives by which the exact search does not find and prove the least of all.

    Nothing is annealed first, so that what is found is the search's own.
    """
    energy, cycles = all_costs(problem.setup, keeps_of(problem.setup))
    wrong = []
    for name, weights in OBJECTIVES.items():
        found = prove(problem, 10**8, weights=weights, warm_up=0)
        score = weights[0] * np.log(energy) + weights[1] * np.log(cycles)
        least, best = score.min(initial=inf), inf if found.best is None else found.best.score
        if not (found.proven and (best == least or abs(best - least) <= 1e-9)):
            wrong.append(name)
    return wrong
