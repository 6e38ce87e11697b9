"""Random problems of what stays in the buffer, and every way to choose it."""

from collections.abc import Iterator

import numpy as np

from archloom.search.fusion.fast.ilp import IntegerProgram
from archloom.search.fusion.fast.model import (
    FORMS,
    Form,
    MapRead,
    PinLayer,
    PinnedData,
    PinningProblem,
    Saving,
    linear_cost,
)


def random_problem(
    rng: np.random.Generator, most: int = 10, branching: bool = True
) -> PinningProblem:
    """Return 2 to ``most`` layers; chains, or layers that read any one to three earlier ones."""
    count = int(rng.integers(2, most + 1))
    layers: list[PinLayer] = []
    # about as many yes-or-no choices as can be enumerated
    weighted = min(1.0, 6 / count)
    for i in range(count):
        producers = [i - 1] if i else []
        if branching and i > 1 and rng.random() < 0.4:
            producers = sorted(map(int, rng.choice(i, min(i, int(rng.integers(1, 3))), False)))
        reads = tuple(
            MapRead(u, _tile(rng, layers[u].map_words), _saving(rng), bool(rng.random() < 0.9))
            for u in producers
        )
        layers.append(_layer(rng, i, layers, reads, weighted))
    own = max(layer.own_words for layer in layers)
    every = sum(layer.map_words + layer.weight_words for layer in layers)
    capacity = own + int(rng.integers(0, max(2, every)) * rng.random())
    return PinningProblem(tuple(layers), capacity, float(rng.integers(0, 3)))


def _layer(
    rng: np.random.Generator,
    i: int,
    before: list[PinLayer],
    reads: tuple[MapRead, ...],
    share: float,
) -> PinLayer:
    words = int(rng.integers(1, 60))
    weights = int(rng.integers(1, 60)) if rng.random() < share else 0
    owners = [u for u, layer in enumerate(before) if layer.weight_owner == u]
    owner = i
    if owners and rng.random() < 0.1:
        owner = int(rng.choice(owners))
        weights = before[owner].weight_words
    map_tile, weight_tile = _tile(rng, words), _tile(rng, weights)
    write, load = _saving(rng), _saving(rng)
    saved = [*(r.saving for r in reads), write, load]
    longest = sum(s.cycles for s in saved) + float(rng.integers(0, 10))
    shortest = float(rng.integers(1, max(2, int(longest))))
    return PinLayer(
        longest_cycles=longest,
        shortest_cycles=min(shortest, longest),
        energy_pj=sum(s.energy_pj for s in saved) + float(rng.integers(1, 50)),
        dram_words=sum(s.dram_words for s in saved) + int(rng.integers(0, 50)),
        own_words=map_tile + weight_tile + sum(r.tile_words for r in reads),
        map_words=words,
        map_tile_words=map_tile,
        write=write,
        leaves=bool(rng.random() < 0.1),
        reads=reads,
        weight_owner=owner,
        weight_words=weights,
        weight_tile_words=weight_tile,
        weights=load if weights else Saving(),
    )


def _tile(rng: np.random.Generator, words: int) -> int:
    return int(rng.integers(0, words + 1) * rng.random())


def _saving(rng: np.random.Generator) -> Saving:
    cycles, energy, words = map(int, rng.integers(0, 30, 3))
    return Saving(float(cycles), float(energy), words)


def choices(problem: PinningProblem, weights: bool, only_next: bool) -> Iterator[PinnedData]:
    """Return every choice of reads and weights; of reads of the layer before only, if asked."""
    reads = [
        (r.producer, i)
        for i, layer in enumerate(problem.layers)
        for r in layer.reads
        if r.possible and (not only_next or r.producer == i - 1)
    ]
    owners = problem.owners if weights else ()
    for chosen in range(1 << len(reads)):
        on_chip = frozenset(pair for n, pair in enumerate(reads) if chosen >> n & 1)
        for kept in range(1 << len(owners)):
            steady = frozenset(owner for n, owner in enumerate(owners) if kept >> n & 1)
            yield PinnedData(on_chip, steady)


def broken_in_print(problem: PinningProblem, pinned: PinnedData) -> list[str]:
    """Return the inequalities of FAST's equation 4 that a choice breaks, written out one by one."""
    layers, n = problem.layers, len(problem.layers)
    p_in = {
        (r.producer, i): int((r.producer, i) in pinned.reads)
        for i, layer in enumerate(layers)
        for r in layer.reads
    }
    # the least p^O that its first inequality allows
    p_out = [max([p_in[i, j] for j in problem.readers[i]], default=0) for i in range(n)]
    p_weight = [int(i in pinned.steady) for i in range(n)]
    broken = []
    for i, layer in enumerate(layers):
        mine = layer.weight_owner
        used = layer.own_words + (layer.map_words - layer.map_tile_words) * p_out[i]
        for r in layer.reads:
            used += (layers[r.producer].map_words - r.tile_words) * p_in[r.producer, i]
        used += (layer.weight_words - layer.weight_tile_words) * p_weight[mine]
        used += sum(layers[j].weight_words * p_weight[j] for j in range(n) if j != mine)
        if used > problem.capacity_words:
            broken.append(f"C >= B + ... of layer {i}: {used}")
        if sum(p_in[i, j] for j in problem.readers[i]) < p_out[i]:
            broken.append(f"sum p^I >= p^O of layer {i}")
        for j in problem.readers[i]:
            if p_out[i] < p_in[i, j]:
                broken.append(f"p^O >= p^I of {i}, {j}")
            if n * (1 - p_in[i, j]) < j - i - 1:
                broken.append(f"M (1 - p^I) >= o(i) - o(producer) - 1 of {i}, {j}")
    return broken


def broken_alive(problem: PinningProblem, pinned: PinnedData) -> list[str]:
    """Return what a choice breaks of the live form: who reads first, and room at every step."""
    layers = problem.layers
    last: dict[int, int] = {}
    for producer, reader in pinned.reads:
        last[producer] = max(last.get(producer, 0), reader)
    broken = [
        f"{reader} reads {producer} from DRAM although it is on the chip"
        for producer, end in last.items()
        for reader in problem.readers[producer]
        if reader <= end and (producer, reader) not in pinned.reads
    ]
    for i, layer in enumerate(layers):
        tiles = {r.producer: r.tile_words for r in layer.reads}
        used = layer.own_words
        for producer, end in last.items():
            if producer <= i <= end:
                tile = layer.map_tile_words if producer == i else tiles.get(producer, 0)
                used += layers[producer].map_words - tile
        used += sum(layers[owner].weight_words for owner in pinned.steady)
        used -= layer.weight_tile_words * (layer.weight_owner in pinned.steady)
        if used > problem.capacity_words:
            broken.append(f"{used} words while layer {i} runs")
    return broken


def best_of_all(
    problem: PinningProblem, form: Form, steady: bool, energy: float, latency: float
) -> float:
    """Return the least weighted sum over all choices that the form allows."""
    broken = broken_in_print if form == "printed" else broken_alive
    found = []
    for pinned in choices(problem, steady, only_next=form == "printed"):
        cost = linear_cost(problem, pinned, form)
        found.append((energy * cost.energy_pj + latency * cost.cycles, pinned))
    # dear to check, so the cheapest first
    for value, pinned in sorted(found, key=lambda pair: pair[0]):
        if not broken(problem, pinned):
            return value
    raise AssertionError("not even what streams everything is allowed")


def small_problem(seed: int, form: Form, kind: str) -> PinningProblem:
    """Return a random problem whose choices can be enumerated."""
    rng = np.random.default_rng([seed, FORMS.index(form)])
    while True:
        problem = random_problem(rng, branching=kind == "branching")
        near = sum(r.producer == i - 1 for i, la in enumerate(problem.layers) for r in la.reads)
        reads = near if form == "printed" else sum(len(la.reads) for la in problem.layers)
        if reads + len(problem.owners) <= 13:
            return problem


def differs(seed: int, form: Form, kind: str) -> str:
    """Say how the program's answer differs from the best of all choices; empty if it does not."""
    problem = small_problem(seed, form, kind)
    steady = form == "printed" or seed % 2 == 0
    energy, latency = ((0.0, 1.0), (1.0, 0.0), (0.3, 0.7))[seed % 3]
    solved = IntegerProgram(problem, form, steady).solve(energy, latency)
    if solved.cost != linear_cost(problem, solved.pinned, form):
        return f"seed {seed}: its cost is not that of its answer"
    value = energy * solved.cost.energy_pj + latency * solved.cost.cycles
    best = best_of_all(problem, form, steady, energy, latency)
    if abs(value - best) > 1e-7 * best or solved.gap_percent > 1e-6:
        return f"seed {seed}: {value}, gap {solved.gap_percent}, and the best is {best}"
    return ""
