"""Stack of consecutive layers that run fused, in tiles of the face of the last one.

DeepFrack's cost of a stack (Glint et al., sections III and IV): its layers one after another on
each tile, from the benchmark of single tiles, plus what moves between DRAM and the chip. A tile
costs the same wherever it stands on the face. The first tile, one of the largest, fetches all
weights; later ones only those that are not cached. All sizes of tiles of a stack are costed at
once, with bounds of layers that were not measured.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    """

    streamed: Floats
    saved: Floats

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
        self._measured: dict[int, tuple[Floats, Floats]] = {}
        self._costs: TileCosts | None = None

    def without(self, margin: int) -> "Stack":
        """Return the stack with so many words less of the buffer."""
        other = Stack(self.shape, self._bench, margin)
        other._measured = self._measured
        return other

    @property
    def fits(self) -> bool:
        """Whether any tile of the face fits the buffer."""
        return bool((self.free[self.shape.tiles.firsts] >= self.streaming_words).any())

    @property
    def costs(self) -> TileCosts:
        """Costs of all tiles, measured or at the least."""
        if self._costs is None:
            every = np.arange(len(self.shape.held))
            figures = self._bench.least(self.shape.sizes)
            streamed, saved = self._summed(figures, every)
            able = np.isfinite(streamed).all(axis=0) & np.isfinite(saved).all(axis=(0, 1))
            streamed[:, ~able], saved[:, :, ~able] = np.inf, 0.0
            gap = np.zeros((2, 1))
            costs = TileCosts(
                np.concatenate([streamed, gap], axis=1),
                np.concatenate([saved, np.zeros((*saved.shape[:2], 1))], axis=2),
            )
            for tile, measured in self._measured.items():
                _settle(costs, tile, measured)
            self._costs = costs
        return self._costs

    def forget(self) -> None:
        """Drop what can be worked out again."""
        self._costs = None

    def measured(self, tiles: Iterable[Tile]) -> bool:
        """Whether what these tiles cost is known."""
        return all(self.shape.tiles.number[tile] in self._measured for tile in tiles)

    def measure(self, tile: Tile) -> bool:
        """Find what a tile costs; whether all layers have a mapping for it."""
        at = self.shape.tiles.number[tile]
        if at not in self._measured:
            self._measured[at] = self._run(at)
            if self._costs is not None:
                _settle(self._costs, at, self._measured[at])
        return bool(np.isfinite(self._measured[at][0]).all())

    def _run(self, tile: int) -> tuple[Floats, Floats]:
        """Return float64[2] and float64[2, U] of a tile, all layers mapped."""
        numbers = self.shape.sizes[:, tile]
        weighted = {i for unit in self.units for i in unit}
        for i, size in zip(self.shape.layers, numbers.tolist(), strict=True):
            for resident in RESIDENCIES[: 1 + (i in weighted)]:
                if self._bench.run(size, resident) is None:
                    return np.full(2, np.inf), np.zeros((2, len(self.units)))
        streamed, saved = self._summed(self._bench.least(numbers[:, None]), np.array([tile]))
        return streamed[:, 0], saved[:, :, 0]

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


def _settle(costs: TileCosts, tile: int, measured: tuple[Floats, Floats]) -> None:
    costs.streamed[:, tile], costs.saved[:, :, tile] = measured
