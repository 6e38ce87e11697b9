"""Stack of consecutive layers that run fused, in tiles of the face of the last one.

DeepFrack's cost of a stack (Glint et al., sections III and IV): its layers one after another on
each tile, from the benchmark of single tiles, plus what moves between DRAM and the chip. A tile
costs the same wherever it stands on the face. The first tile, one of the largest, fetches all
weights; later ones only those that are not cached. All sizes of tiles of a stack are costed at
once, with bounds of layers that were not measured.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion.buffer import buffer_words

from ..partition import Group
from .ranges import RangeShape
from .tile_benchmark import RESIDENCIES, TileBenchmark
from .tile_sets import Tile

#: energy (pJ) and cycles
CostWeights = tuple[float, float]


@dataclass(frozen=True, eq=False)
class TileCosts:
    """Energy (pJ, with leakage) and cycles of all sizes of tiles of a stack, at the least.

    The last place is for tiles that a grid lacks: they cost nothing.

    Attributes:
        streamed: float64[2, T + 1], with all weights from DRAM; infinite if a layer has no mapping.
        saved: float64[2, U, T + 1], less if the weights of a unit are cached.
        measured: bool[T], whether all of a tile was measured.
    """

    streamed: Floats
    saved: Floats
    measured: NDArray[np.bool_]

    def weighted(self, weights: CostWeights) -> tuple[Floats, Floats]:
        """Return float64[T + 1] and float64[U, T + 1], weighted sums of energy and cycles."""
        (e, c), (streamed, saved) = weights, (self.streamed, self.saved)
        # what cannot run costs infinitely much, whatever it is weighted with
        if not e or not c:
            kind = 0 if e else 1
            return weights[kind] * streamed[kind], weights[kind] * saved[kind]
        return e * streamed[0] + c * streamed[1], e * saved[0] + c * saved[1]


class Stack:
    """A range of layers with all that its tilings cost on one design.

    Args:
        shape: the range, or the first of its kind.
        bench: costs of single tiles.
        margin: words of the buffer that it must do without.
    """

    def __init__(self, shape: RangeShape, bench: TileBenchmark, margin: int = 0) -> None:
        self.shape = shape
        self._bench = bench
        keeps = "weights" in bench.hardware.levels[-2].keeps
        #: layers that cache their weights together: those that share them
        self.units: tuple[Group, ...] = shape.units if keeps else ()
        #: int64[U], of each unit's weights
        self.words = shape.weights[: len(self.units)]
        #: images of a pass; tiles hold one at a time
        self.images = bench.network.batch
        through = keeps and not bench.hardware.levels[-2].optional
        #: words of the buffer that stay free for weights that stream through it
        self.streaming_words = int(through and bool(self.units))
        held = np.append(shape.held, 0)
        #: int64[T + 1], words of the buffer that tiles leave free while they hold most
        self.free: Ints = buffer_words(bench.hardware) - margin - held
        self._costs: TileCosts | None = None
        # how many sizes were measured when these costs were worked out
        self._runs = 0

    def without(self, margin: int) -> "Stack":
        """Return the stack with so many words less of the buffer."""
        return Stack(self.shape, self._bench, margin)

    @property
    def fits(self) -> bool:
        """Whether any tile of the face fits the buffer."""
        return bool((self.free[self.shape.tiles.firsts] >= self.streaming_words).any())

    @property
    def costs(self) -> TileCosts:
        """Costs of all tiles, measured or at the least."""
        if self._costs is None:
            self._costs, self._runs = self._all_costs(), self._bench.measured
        return self._costs

    def refresh(self) -> None:
        """Take in what other stacks have measured since costs were worked out."""
        if self._runs != self._bench.measured:
            self._costs = None

    def forget(self) -> None:
        """Drop what can be worked out again."""
        self._costs = None

    def measured(self, tiles: Iterable[Tile]) -> bool:
        """Whether what these tiles cost is known."""
        return all(self.costs.measured[self.shape.tiles.number[tile]] for tile in tiles)

    def measure(self, tile: Tile) -> bool:
        """Find what a tile costs; whether all layers have a mapping for it."""
        at, costs = self.shape.tiles.number[tile], self.costs
        if not costs.measured[at]:
            numbers = self.shape.sizes[:, at]
            streamed, saved = np.full((2, 1), np.inf), np.zeros((2, len(self.units), 1))
            if all(self._bench.run(*run) is not None for run in self._runs_of(numbers)):
                streamed, saved = self._summed(self._bench.least(numbers[:, None]), np.array([at]))
            costs.streamed[:, at], costs.saved[:, :, at] = streamed[:, 0], saved[:, :, 0]
            costs.measured[at] = True
        return bool(np.isfinite(costs.streamed[:, at]).all())

    def _runs_of(self, sizes: Ints) -> Iterator[tuple[int, bool]]:
        """Yield sizes of all layers with the residencies that matter."""
        for size, has_unit in zip(sizes.tolist(), self._has_unit.tolist(), strict=True):
            for resident in RESIDENCIES[: 1 + has_unit]:
                yield size, resident

    @cached_property
    def _has_unit(self) -> NDArray[np.bool_]:
        """bool[m], whether each layer has weights that may be cached."""
        cached = {i for unit in self.units for i in unit}
        return np.array([i in cached for i in self.shape.layers])

    def _all_costs(self) -> TileCosts:
        sizes = self.shape.sizes
        streamed, saved = self._summed(self._bench.least(sizes), np.arange(sizes.shape[1]))
        able = np.isfinite(streamed).all(axis=0) & np.isfinite(saved).all(axis=(0, 1))
        streamed[:, ~able], saved[:, :, ~able] = np.inf, 0.0
        ran = self._bench.ran(sizes)
        measured = ((ran[1] | ~self._has_unit[:, None]) & ran[0]).all(axis=0) | ~able
        gap = np.zeros((2, 1))
        return TileCosts(
            np.concatenate([streamed, gap], axis=1),
            np.concatenate([saved, np.zeros((*saved.shape[:2], 1))], axis=2),
            measured,
        )

    def _summed(self, figures: Floats, tiles: Ints) -> tuple[Floats, Floats]:
        """Return streamed and saved of some tiles, given figures float64[3, 2, m, n] of layers."""
        energy, chip, dram = figures
        moved, brought = self._moved(tiles)
        cycles = np.maximum(chip, dram + moved * self._bench.cycles_per_word)
        energy = energy + self._bench.leakage_pj * cycles + brought
        streamed = np.stack([energy[0].sum(axis=0), cycles[0].sum(axis=0)])
        saved = np.zeros((2, len(self.units), len(tiles)))
        first = self.shape.layers[0]
        with np.errstate(invalid="ignore"):
            for kind, of in enumerate((energy, cycles)):
                less = of[0] - of[1]
                for place in range(max(map(len, self.units), default=0)):
                    some = [u for u, unit in enumerate(self.units) if len(unit) > place]
                    saved[kind, some] += less[[self.units[u][place] - first for u in some]]
        return streamed, saved

    def _moved(self, tiles: Ints) -> tuple[Floats, Floats]:
        """Return float64[m, n], words that cross the pins of DRAM for each layer beside weights,
        and the energy of those that arrive."""
        shape = self.shape
        moved = np.zeros((len(shape.layers), len(tiles)))
        brought = np.zeros_like(moved)
        first = shape.layers[0]
        for box in shape.arriving:
            words = box.words[tiles]
            moved[box.first - first] += words
            brought[box.first - first] += self._bench.fetch_pj(words)
        # a tile's part of the face, of the whole map
        part = (shape.tiles.rows * shape.tiles.columns)[tiles] / np.prod(shape.face)
        for i, whole in shape.leaving.items():
            moved[i - first] += whole * part
        return moved, brought

    @cached_property
    def leaving_pj(self) -> float:
        """Energy of writing to DRAM what leaves, the same for all tilings."""
        return self.images * sum(map(self._bench.store_pj, self.shape.leaving.values()))
