"""FAST's pinning problem: what may stay in the shared buffer, and what that saves.

Layers run one by one in the order of the network. Results that stay in the shared buffer until
they are read, and weights that stay there for ever, never cross DRAM (FAST, Zhang et al., ASPLOS
2022, section 4.5). All figures here are of its linear model, not of the common cost model.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

#: ``printed``: the constraints of the paper, with its limits: a layer reads on the chip only what
#: the layer before it made. ``live``: any reader, several of them, and capacity for each map from
#: the layer that makes it to its last reader on the chip.
Form = Literal["printed", "live"]

FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Saving:
    """Savings of a layer if one of its operands is on the chip: t_i^k of the paper, and more."""

    cycles: float = 0.0
    energy_pj: float = 0.0
    dram_words: int = 0


@dataclass(frozen=True, slots=True)
class MapRead:
    """One result of an earlier layer that a layer reads.

    Attributes:
        producer: the layer that makes it.
        tile_words: what of it is in the buffer at a time if it streams.
        saving: of reading it on the chip.
        possible: whether the hardware can keep it where this layer reads it.
    """

    producer: int
    tile_words: int
    saving: Saving
    possible: bool = True


@dataclass(frozen=True, slots=True)
class PinLayer:
    """One layer.

    Attributes:
        longest_cycles, energy_pj, dram_words: if every operand streams (T_i^max of the paper).
        shortest_cycles: if none does (T_i^min).
        own_words: buffer in use if all stream (B_i).
        map_words, map_tile_words: all of its result, and what is in the buffer if it streams.
        write: what is saved if the result is not written.
        leaves: whether the result leaves the network, so that it is written anyway.
        reads: of earlier layers, each of them once, ascending.
        weight_owner: the layer that brings its weights, itself unless they are shared.
        weight_words, weight_tile_words: as for the result; 0 words if there is nothing to keep.
        weights: what is saved if they are on the chip before the layer runs.
        weight_load: what it takes to bring them there once.
    """

    longest_cycles: float
    shortest_cycles: float
    energy_pj: float
    dram_words: int
    own_words: int
    map_words: int
    map_tile_words: int
    write: Saving
    leaves: bool
    reads: tuple[MapRead, ...]
    weight_owner: int
    weight_words: int = 0
    weight_tile_words: int = 0
    weights: Saving = Saving()
    weight_load: Saving = Saving()


@dataclass(frozen=True, slots=True)
class PinnedData:
    """Data that stay on the chip.

    Attributes:
        reads: (producer, reader) of each read from the buffer.
        steady: layers whose weights never leave it; or, of a problem that loads them, stay there
            for all sub-batches of a pass.
    """

    reads: frozenset[tuple[int, int]] = frozenset()
    steady: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LinearCost:
    """Cost of a pass under the linear model."""

    energy_pj: float
    cycles: float
    dram_words: int


@dataclass(frozen=True)
class PinningProblem:
    """What may stay in the buffer of a chip.

    Attributes:
        layers: in the order in which they run, with what they take for one sub-batch.
        capacity_words: of the buffer.
        leakage_pj_per_cycle: of the chip.
        sub_batches: how often all layers run in a pass.
        loads_weights: whether the first sub-batch of each pass brings weights that stay; otherwise
            they are on the chip before the first pass.
    """

    layers: tuple[PinLayer, ...]
    capacity_words: int
    leakage_pj_per_cycle: float = 0.0
    sub_batches: int = 1
    loads_weights: bool = False

    def load(self, i: int) -> Saving:
        """What layer ``i`` takes more in the first sub-batch if its weights stay."""
        layer = self.layers[i]
        brings = self.loads_weights and layer.weight_owner == i
        return layer.weight_load if brings else Saving()

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each layer those that read its result, ascending."""
        found: list[list[int]] = [[] for _ in self.layers]
        for i, layer in enumerate(self.layers):
            for read in layer.reads:
                found[read.producer].append(i)
        return tuple(map(tuple, found))

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """Layers that bring weights which can stay, ascending."""
        return tuple(
            i
            for i, layer in enumerate(self.layers)
            if layer.weight_owner == i and layer.weight_words
        )


def unwritten(problem: PinningProblem, pinned: PinnedData, form: Form) -> frozenset[int]:
    """Return the layers whose results count as never written.

    The paper's p^O holds as soon as one reader reads on the chip, whatever the others do: for
    results with several readers its model is too good. The live form asks all of them.
    """
    some = frozenset(producer for producer, _ in pinned.reads)
    if form == "printed":
        return some
    return frozenset(
        u
        for u in some
        if not problem.layers[u].leaves
        and all((u, reader) in pinned.reads for reader in problem.readers[u])
    )


def linear_cost(problem: PinningProblem, pinned: PinnedData, form: Form) -> LinearCost:
    """Return what the linear model says: T_i = max(T_i^min, T_i^max - sum of t_i^k p_i^k).

    A pass is so many times that of a sub-batch. In the first, T_i^max also has the time to load
    weights that stay.
    """
    spared, times = unwritten(problem, pinned, form), problem.sub_batches
    energy, total, words = 0.0, 0.0, 0
    for i, layer in enumerate(problem.layers):
        savings = [r.saving for r in layer.reads if (r.producer, i) in pinned.reads]
        savings += [layer.write] * (i in spared)
        stays = layer.weight_owner in pinned.steady
        savings += [layer.weights] * stays
        load = problem.load(i) if stays else Saving()
        cycles = layer.longest_cycles - sum(s.cycles for s in savings)
        total += (times - 1) * max(layer.shortest_cycles, cycles)
        total += max(layer.shortest_cycles, cycles + load.cycles)
        energy += times * (layer.energy_pj - sum(s.energy_pj for s in savings)) + load.energy_pj
        words += times * (layer.dram_words - sum(s.dram_words for s in savings)) + load.dram_words
    return LinearCost(energy + problem.leakage_pj_per_cycle * total, total, words)
