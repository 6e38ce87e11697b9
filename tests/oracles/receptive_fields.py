"""Receptive fields, halos and jumps of a fused group's maps in closed form, away from borders.

Independent of: sweeps over tiles; no interval is followed from tile to tile, and none is clamped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from archloom.evaluators.fusion.group_graph import Edge, GroupShape
from archloom.space.workload.layer import Layer

#: positions from the first to before the second
Interval = tuple[int, int]


def _back_to_front(shape: GroupShape) -> list[Edge]:
    """Reads of every map after all of those by its readers."""
    return sorted(shape.edges, key=lambda edge: -edge.reader)


def _window(layer: Layer, axis: int, made: Interval) -> Interval:
    """Positions that windows span, borders aside."""
    stride, reach = layer.stride[axis], ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis]
    start = made[0] * stride - layer.padding[axis]
    return start, (made[1] - 1) * stride - layer.padding[axis] + reach + 1


def _as_made(edge: Edge, axis: int, read: Interval) -> Interval:
    """Positions of a map as it is made that hold those that are read."""
    patch, cut = edge.patch[axis], edge.start[axis]
    return (read[0] + cut) // patch, (read[1] - 1 + cut) // patch + 1


def _inside(edge: Edge, layer: Layer, axis: int, made: Interval) -> Interval | None:
    """Positions that windows span inside the map that they are laid on, as it is made."""
    start, end = _window(layer, axis, made)
    start, end = max(0, start), min(layer.input_size[axis], end)
    return _as_made(edge, axis, (start, end)) if start < end else None


@dataclass(frozen=True, slots=True)
class AxisField:
    """Positions that tiles of the anchor need of one map along one axis, away from the borders.

    Attributes:
        extent: most positions that a tile needs, as if maps went on for ever: of a tile of
            one, the receptive field. 0 if none are needed.
        halo: most positions that two neighbouring tiles both need.
        jump: positions of the map for one of the anchor, the product of strides; 0 if every
            tile needs the same (all of a map that is flattened, or is a second factor); None
            if readers move at different pace, or only some do. Then extent and halo are those
            of the whole map, which bound what any tile needs.
    """

    extent: int
    halo: int
    jump: Fraction | None


#: rows and columns
Field = tuple[AxisField, AxisField]


def receptive_fields(
    shape: GroupShape, layers: Sequence[Layer], tile: tuple[int, int] = (1, 1)
) -> tuple[Field, ...]:
    """Return for each map what tiles of the anchor need of it, away from the borders.

    The hull over all readers, through windows, boxes of maps, interleaves and maps that are
    needed whole; other exported maps ask for nothing here. Where an interleave makes the needs
    of tiles take turns, the most counts. For searches that choose tiles: a tile of a map costs
    ``extent`` positions computed anew, ``extent - halo`` if neighbours keep what they share.
    At the borders, where windows are cut, tiles need no more.
    """
    rows, columns = (_fields(shape, layers, axis, tile[axis]) for axis in (0, 1))
    return tuple(zip(rows, columns, strict=True))


@dataclass(frozen=True, slots=True)
class _Moving:
    """Intervals of successive tiles; after ``len(at)`` of them they repeat ``step`` further."""

    at: tuple[Interval, ...]
    step: int

    def times(self, count: int) -> "_Moving":
        """The same with a period ``count`` times as long."""
        on = range(0, self.step * count, self.step)
        return _Moving(tuple((a + n, b + n) for n in on for a, b in self.at), self.step * count)


#: what all tiles need, what moves with them, or that it moves unevenly
_Need = Interval | _Moving | Literal["uneven"]


def _fields(shape: GroupShape, layers: Sequence[Layer], axis: int, tile: int) -> list[AxisField]:
    needed: dict[int, _Need] = {shape.anchor: _Moving(((0, tile),), tile)}
    for edge in _back_to_front(shape):
        u, made = edge.source, needed.get(edge.reader)
        size = shape.sizes[u][axis]
        read = None if made is None else _need(edge, layers[edge.reader], axis, size, made)
        if read is not None:
            needed[u] = _both(needed[u], read, size) if u in needed else read
    return [_field(needed.get(u), size[axis], tile) for u, size in enumerate(shape.sizes)]


def _need(edge: Edge, layer: Layer, axis: int, size: int, made: _Need) -> _Need | None:
    """Positions that a reader needs of a map for what it makes."""
    if edge.full:
        return (0, size)
    if isinstance(made, _Moving):
        step, patch = made.step * layer.stride[axis], edge.patch[axis]
        read = _Moving(tuple(_window(layer, axis, part) for part in made.at), step)
        read = read.times(patch // gcd(patch, step))
        return _Moving(tuple(_as_made(edge, axis, part) for part in read.at), read.step // patch)
    return "uneven" if made == "uneven" else _inside(edge, layer, axis, made)


def _both(one: _Need, other: _Need, size: int) -> _Need:
    """Positions that two readers need together of a map of ``size``."""
    if (0, size) in (one, other):
        return (0, size)
    if one == "uneven" or other == "uneven":
        return "uneven"
    if isinstance(one, _Moving) and isinstance(other, _Moving):
        period = lcm(len(one.at), len(other.at))
        one, other = one.times(period // len(one.at)), other.times(period // len(other.at))
        pairs = zip(one.at, other.at, strict=True)
        hulls = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs)
        return _Moving(hulls, one.step) if one.step == other.step else "uneven"
    if isinstance(one, _Moving) or isinstance(other, _Moving):
        return "uneven"
    return min(one[0], other[0]), max(one[1], other[1])


def _field(need: _Need | None, size: int, tile: int) -> AxisField:
    if need is None:
        return AxisField(0, 0, Fraction())
    if need == "uneven":
        return AxisField(size, size, None)
    if not isinstance(need, _Moving):
        extent = need[1] - need[0]
        return AxisField(extent, extent, Fraction())
    following = need.times(2).at[1 : len(need.at) + 1]
    pairs = zip(need.at, following, strict=True)
    return AxisField(
        extent=max(b - a for a, b in need.at),
        halo=max(0, *(b - a for (_, b), (a, _) in pairs)),
        jump=Fraction(need.step, tile * len(need.at)),
    )
