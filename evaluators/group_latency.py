"""How long each tile of a fused group takes (fusion model section 5, fill and drain hidden)."""

from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from ..space.hardware import Hardware
from .occupancy import Tiles
from .tile_cost import Grid

#: images that are looked at: all between the first and the last take the same time
_SHOWN: Final = 3


@dataclass
class GroupWork:
    """What the tiles of one image do, summed over layers.

    Attributes:
        image: float64[3, Th, Tw], in each tile: cycles of the layers one after another, cycles
            that DRAM needs for what streams, words through the buffer's ports.
        loads: float64[3, Th, Tw], more of each in the first image: resident weights arrive
            during the first tile in which their layer runs.
    """

    image: Grid
    loads: Grid

    def add(self, run: Grid, load: int, hardware: Hardware) -> None:
        """Add one layer.

        Args:
            run: float64[3, Th, Tw], of each tile: cycles without and of DRAM, and words through
                the buffer's ports.
            load: words of the layer's resident weights.
            hardware: that runs it.
        """
        busy = np.maximum(run[0], run[1])
        self.image += np.stack([busy, run[1], run[2]])
        if load:
            i, j = divmod(int(np.argmax(run[0] > 0)), busy.shape[1])
            cycles = ceil(load / hardware.levels[-1].bandwidth_words)
            # a layer waits for its own weights (s in max(t, s))
            late = max(busy[i, j], run[1, i, j] + cycles) - busy[i, j]
            self.loads[:, i, j] += late, cycles, load


def no_work(tiles: Tiles) -> GroupWork:
    """Return the work of no layers."""
    grid = (3, *tiles.grid)
    return GroupWork(np.zeros(grid), np.zeros(grid))


def tile_cycles(tiles: Tiles, hardware: Hardware, prefetch: bool, work: GroupWork) -> Grid:
    """Return float64[V, Th * Tw], the cycles of each tile of V images: the first, one, the last.

    A tile takes the longest of: its layers one after another, the DRAM transfers that run
    meanwhile, and the words through the buffer's ports. Without prefetch the transfers of a
    tile come before and after it instead.
    """
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    shown = min(tiles.images, _SHOWN)
    images = np.repeat(work.image[:, None], shown, axis=1)
    images[:, 0] += work.loads
    body, dram, words = (figure.ravel() for figure in images)
    words += np.tile((tiles.fetched + tiles.stored).ravel(), shown)
    fetch = np.tile(np.ceil(tiles.fetched / rate).ravel(), shown)
    store = np.tile(np.ceil(tiles.stored / rate).ravel(), shown)
    if prefetch:
        dram[:-1] += fetch[1:]
        dram[1:] += store[:-1]
        dram[0] += fetch[0]
        dram[-1] += store[-1]
    time: Grid = np.maximum(np.maximum(body, dram), np.ceil(words / port))
    if not prefetch:
        time += fetch + store
    return time.reshape(shown, -1)


def group_cycles(tiles: Tiles, time: Grid) -> int:
    """Return the cycles of all images from those of :func:`tile_cycles`."""
    of_image = [int(part.sum()) for part in time]
    return sum(of_image) + (tiles.images - len(time)) * of_image[len(time) // 2]
