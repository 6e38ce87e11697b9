"""Positions of every map of a fused group that an interval of the maps which leave it needs.

The same geometry as :mod:`.sweep`, exactly, for an interval of any length. Maps are numbered as in
:class:`archloom.evaluators.fusion.group_graph.GroupShape`, along one axis at a time (0 rows,
1 columns).
"""

from collections.abc import Mapping, Sequence

from archloom.space.workload import Layer

from ..group_graph import Edge, GroupShape

#: positions from the first to before the second
Interval = tuple[int, int]


def needs(
    shape: GroupShape, layers: Sequence[Layer], axis: int, wanted: Mapping[int, Interval]
) -> tuple[Interval | None, ...]:
    """Return the positions of each map that are needed to make some of the exported ones.

    Exact up to the borders, where windows are cut; what the readers of a map leave out between
    them counts as needed. For searches that cut the anchor into tiles of several sizes
    (DeepFrack's faces), which :func:`archloom.evaluators.fusion.tiling.sweep.axis_sweep` does not
    do.

    Args:
        shape, layers: the group and its layers.
        axis: 0 for rows, 1 for columns.
        wanted: for maps of the group, the positions to make, at least one.

    Returns:
        An interval for each map, None if nothing of it is needed.
    """
    found: list[Interval | None] = [wanted.get(u) for u in range(len(shape.sizes))]
    for edge in _back_to_front(shape):
        u, made = edge.source, found[edge.reader]
        if made is not None:
            whole = (0, shape.sizes[u][axis])
            read = whole if edge.full else _inside(edge, layers[edge.reader], axis, made)
            found[u] = _hull(found[u], read)
    return tuple(found)


def _back_to_front(shape: GroupShape) -> list[Edge]:
    """Reads of every map after all of those by its readers."""
    return sorted(shape.edges, key=lambda edge: -edge.reader)


def _hull(one: Interval | None, other: Interval | None) -> Interval | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


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
