"""Work of layers on MACs: how many each layer occupies, and what zeros leave of it.

Designs by the thousand have meshes by the hundred, and nothing else of a design counts here: so
everything is worked out once for each mesh.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import DIMS, INPUTS, OUTPUTS, WEIGHTS, Dim, Sparsity

from ..arrays import Floats, Ints

#: Meshes that are remembered; then all are forgotten.
_MOST_MESHES: Final = 4096


class Parallelism(NamedTuple):
    """What of a hardware decides how many MACs work at once, and on which of their cycles.

    Attributes:
        cores: that run tiles side by side.
        axes: dimensions that may be unrolled over the children of a level along an axis, and how
            many these are, wherever there are several.
        zeros: what becomes of zeros among weights and inputs (``Effects.weight_zeros``).
    """

    cores: int
    axes: tuple[tuple[tuple[Dim, ...], int], ...]
    zeros: tuple[str, str]


def parallelism(hardware: Hardware) -> Parallelism:
    """Return the parallelism of a hardware.

    Cores that run tiles side by side may all work, whatever loops may be unrolled over them.
    """
    count = 1
    if hardware.fusion_level is None and isinstance(cores := fusion_cores(hardware), Cores):
        count = cores.count
    inside = len(hardware.levels) - (count > 1)
    axes = []
    for level, (along_x, along_y) in zip(hardware.levels[:inside], hardware.fanouts, strict=False):
        if along_x > 1:
            axes.append((level.spatial_x, along_x))
        if along_y > 1:
            axes.append((level.spatial_y, along_y))
    effects = hardware.effects
    return Parallelism(count, tuple(axes), (effects.weight_zeros, effects.input_zeros))


def served_shares(zeros: tuple[str, str], density: Floats) -> Floats:
    """Return float64[n, 3], the share of the MACs' accesses to each tensor that zeros leave.

    As the cost model has it (:func:`archloom.evaluators.loopnest.hardware_arrays.effect_arrays`): a
    zero spares what its MAC would access, but a gated operand is read to be known.

    Args:
        zeros: what becomes of zeros among weights and inputs.
        density: float64[n, 2], shares of nonzero weights and inputs.
    """
    left = np.where([z != "computed" for z in zeros], density, 1.0)
    shares = np.repeat(left.prod(axis=1)[:, None], OUTPUTS + 1, axis=1)
    for t, other in ((WEIGHTS, INPUTS), (INPUTS, WEIGHTS)):
        if zeros[t] == "gated":
            shares[:, t] = left[:, other]
    return shares


def served_by(hardware: Hardware, zeros: Sparsity) -> tuple[float, float, float]:
    """Return :func:`served_shares` of a layer with such zeros."""
    effects, density = hardware.effects, np.array([[zeros.weights, zeros.inputs]])
    (shares,) = served_shares((effects.weight_zeros, effects.input_zeros), density).tolist()
    return shares[WEIGHTS], shares[INPUTS], shares[OUTPUTS]


class MacWork:
    """Layers that run on MACs.

    Args:
        macs: int64[n], multiply-accumulates of each.
        loops: int64[n, 8], their loop bounds (order of DIMS).
        density: float64[n, 2], their shares of nonzero weights and inputs.
    """

    def __init__(self, macs: Ints, loops: Ints, density: Floats) -> None:
        self._macs, self._loops, self._density = macs, loops, density
        self._whole = loops.prod(axis=1, dtype=np.float64)
        self._products: dict[tuple[Dim, ...], Floats] = {}
        self._busy: dict[tuple[str, str], Floats] = {}
        self._energy: dict[tuple[str, str], float] = {}
        self._served: dict[tuple[str, str], tuple[float, float, float]] = {}
        self._occupied: dict[Parallelism, Floats] = {}
        self._cycles: dict[Parallelism, float] = {}

    def some(self, wanted: np.ndarray) -> "MacWork":
        """Return the layers that are ``wanted``, bool[n]."""
        return MacWork(self._macs[wanted], self._loops[wanted], self._density[wanted])

    def cycles(self, parallel: Parallelism) -> float:
        """Return cycles of all layers, one after another, each on all MACs that it can occupy."""
        cycles = self._cycles.get(parallel)
        if cycles is None:
            self._forget()
            shares = self._macs / self.occupied(parallel) * self._busy_share(parallel.zeros)
            cycles = self._cycles[parallel] = float(shares.sum())
        return cycles

    def cycles_on(self, parallel: Parallelism, macs: Floats) -> Floats:
        """Return float64[k], the same if at most ``macs[k]`` MACs may work at once."""
        at_once = np.minimum.outer(macs, self.occupied(parallel))
        work = self._macs * self._busy_share(parallel.zeros)
        cycles: Floats = (work / at_once).sum(axis=1)
        return cycles

    def energetic(self, zeros: tuple[str, str]) -> float:
        """Return the multiply-accumulates whose energy zeros leave, at the least."""
        energetic = self._energy.get(zeros)
        if energetic is None:
            spared = [z != "computed" for z in zeros]
            working = np.where(spared, self._density, 1.0).prod(axis=1)
            energetic = self._energy[zeros] = float((self._macs * working).sum())
        return energetic

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all layers."""
        return int(self._macs.sum())

    def served(self, zeros: tuple[str, str]) -> tuple[float, float, float]:
        """Return the least share of the MACs' accesses to weights, inputs and results that zeros
        leave to any of the layers."""
        if zeros not in self._served:
            shares = served_shares(zeros, self._density)
            weights, inputs, outputs = shares.min(axis=0, initial=1.0).tolist()
            self._served[zeros] = weights, inputs, outputs
        return self._served[zeros]

    def occupied(self, parallel: Parallelism) -> Floats:
        """MACs that each layer can occupy at once, float64[n].

        On each axis of each level no more children work than there are, nor than the product of
        the bounds that may be unrolled there. Padding a bound up does not help: it adds as many
        MACs as it occupies. Smaller tiles of a layer occupy no more.
        """
        occupied = self._occupied.get(parallel)
        if occupied is None:
            self._forget()
            most = np.full(len(self._loops), float(parallel.cores))
            for allowed, children in parallel.axes:
                most *= np.minimum(children, self._product(allowed))
            occupied = self._occupied[parallel] = np.minimum(most, self._whole)
        return occupied

    def _product(self, dims: tuple[Dim, ...]) -> Floats:
        if dims not in self._products:
            columns = [DIMS.index(d) for d in dims]
            self._products[dims] = self._loops[:, columns].prod(axis=1, dtype=np.float64)
        return self._products[dims]

    def _busy_share(self, zeros: tuple[str, str]) -> Floats:
        """Share of the cycles of each layer that zeros leave."""
        if zeros not in self._busy:
            skipped = [z == "skipped" for z in zeros]
            self._busy[zeros] = np.where(skipped, self._density, 1.0).prod(axis=1)
        return self._busy[zeros]

    def _forget(self) -> None:
        if max(len(self._occupied), len(self._cycles)) >= _MOST_MESHES:
            self._occupied.clear()
            self._cycles.clear()
