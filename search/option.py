"""One way to run a step, with an estimate of what it costs; and which are worth a price."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..space.fusion import FusionGroup
from ..space.surroundings import Surroundings

Floats = NDArray[np.float64]

#: tilings of a group that go on to be priced, those of the least estimates
_MOST: Final = 16


@dataclass(frozen=True, eq=False)
class Option:
    """One way to run a step.

    Attributes:
        group, around: what is priced.
        layer_pj, layer_cycles: float64[m], least energy and cycles of each member over all tiles.
        moved_pj: of what moves between DRAM and buffer for the group.
        moved_cycles: of what moves while layers run.
        late_cycles: in which layers wait: the first tile for weights that stay, all of them for
            maps if there is no room to move these ahead.
    """

    group: FusionGroup
    around: Surroundings
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: float
    moved_cycles: float
    late_cycles: float


def best_options(options: list[Option]) -> list[Option]:
    """Return the options of the least products, and those of the least energy and latency."""

    def product(option: Option) -> float:
        return _energy(option) * _cycles(option)

    few = sorted(options, key=product)[:_MOST]
    for least in (_energy, _cycles):
        best = min(options, key=least, default=None)
        if best is not None and best not in few:
            few.append(best)
    return few


def _energy(option: Option) -> float:
    return float(option.layer_pj.sum()) + option.moved_pj


def _cycles(option: Option) -> float:
    return max(float(option.layer_cycles.sum()), option.moved_cycles) + option.late_cycles
