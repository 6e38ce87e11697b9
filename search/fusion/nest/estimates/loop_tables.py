"""Figures of all sizes of tiles of loops over some ranks, with one way in which results stay."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import compiled

from .loop_arrays import GroupArrays, LoopSizes, WordFigures
from .loop_figures import (
    count_cells,
    layer_figures,
    list_stays,
    loop_work,
    most_stays,
    stay_figures,
    stay_words,
    surely_there,
)
from .loop_uses import find_uses
from .stays import StayOptions, stay_options
from .tile_sizes import runs, set_tiles


class LoopTable(NamedTuple):
    """What nests with the same loops take, for all sizes of tiles.

    Attributes:
        options: of operands.
        depth: int64[options], as of ``Stays``.
        surely: bool[options, m], as of :func:`.loop_figures.surely_there`.
        layer_pj: float64[m, cells], least energy of each member.
        runs: float64[cells], how often members run, all together.
    """

    options: StayOptions
    depth: Ints
    surely: Flags
    layer_pj: Floats
    runs: Floats


@compiled
def loop_table(group: GroupArrays, sizes: LoopSizes, words: WordFigures, made: Ints) -> LoopTable:
    """Return the figures of all sizes of tiles, those of the innermost loop beside each other.

    Args:
        group, sizes, words: of the group, its loops outermost first.
        made: int64[m], depth of what each member makes and others read, else 0.
    """
    members, loops = group.own.shape
    operands, cells = len(group.kind), count_cells(sizes)
    work = loop_work(operands, members, loops)
    tiles, uses, stays = work.tiles, work.uses, work.stays
    options = stay_options(operands, members, loops, most_stays(operands, loops), cells)
    energy, times = np.zeros((members, cells)), np.zeros(cells)
    find_uses(group, sizes, made, uses)
    list_stays(group, words.keeps_weights, made, uses, stays, options)
    surely = np.zeros_like(options.there)
    surely_there(group, uses, stays, options, surely)
    for cell in range(cells):
        set_tiles(sizes, cell, tiles)
        layer_figures(group, sizes, words, tiles, uses, options, energy, cell)
        stay_words(group, sizes, words, tiles, stays, options, cell)
        stay_figures(group, sizes, words, tiles, uses, stays, options, cell)
        times[cell] = runs(group, sizes, tiles, uses)
    return LoopTable(options, stays.depth, surely, energy, times)
