"""Irregular tiles: rectangles of any size that cut the anchor feature map of a fused group."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from archloom.space.workload import Network

from ..errors import Infeasible


@dataclass(frozen=True, slots=True)
class TileRect:
    """A rectangle of a map: its first row and column, and how many of each it has."""

    row: int
    column: int
    rows: int
    columns: int

    def __post_init__(self) -> None:
        if min(self.row, self.column) < 0 or min(self.rows, self.columns) < 1:
            raise ValueError(f"{self}: starts count from 0, and sides from 1")

    def to_list(self) -> list[int]:
        """Return plain JSON values: first row and column, rows, columns."""
        return list(astuple(self))


def anchor_layer(network: Network, layers: Sequence[int]) -> int:
    """Return the layer of a group on whose feature map tiles are cut.

    Of the maps that leave the group and that none of its layers reads, the largest; of equal
    ones that with the most channels, then the last.
    """

    def size(i: int) -> tuple[int, int, int]:
        layer = network.layers[i]
        return layer.p * layer.q, layer.output_channels, i

    inside = set(layers)
    return max((i for i in layers if not inside & set(network.consumers[i])), key=size)


def bad_cuts(
    network: Network, layers: Sequence[int], faces: Sequence[TileRect]
) -> Infeasible | None:
    """Return where ``faces`` do not cover the group's anchor feature map exactly once, or None."""
    anchor = network.layers[anchor_layer(network, layers)]
    size = (anchor.p, anchor.q)
    # plans without such tiles, most of those that are shown, need none
    import numpy as np

    covers = np.zeros((0, 4), np.int64) if not faces else np.array([astuple(f) for f in faces])
    edges = [
        np.unique(np.concatenate([[0, size[a]], covers[:, a], covers[:, a] + covers[:, a + 2]]))
        for a in (0, 1)
    ]
    # how often each box between neighbouring cuts is covered: sums of changes at its corners
    count = np.zeros((len(edges[0]), len(edges[1])), np.int64)
    first = [np.searchsorted(edges[a], covers[:, a]) for a in (0, 1)]
    last = [np.searchsorted(edges[a], covers[:, a] + covers[:, a + 2]) for a in (0, 1)]
    for i, rows in enumerate((first[0], last[0])):
        for j, columns in enumerate((first[1], last[1])):
            np.add.at(count, (rows, columns), 1 if i == j else -1)
    count = count.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
    inside = np.outer(edges[0][1:] <= size[0], edges[1][1:] <= size[1])
    wrong = np.argwhere(count != inside)
    if not len(wrong):
        return None
    i, j = (int(x) for x in wrong[0])
    if not inside[i, j]:
        fault = "are outside the map"
    else:
        fault = f"are in {count[i, j]} faces" if count[i, j] else "are in no face"
    at = " and ".join(
        f"{name} {edges[a][n]}-{edges[a][n + 1] - 1}"
        for a, (name, n) in enumerate((("rows", i), ("columns", j)))
    )
    area = np.outer(np.diff(edges[0]), np.diff(edges[1]))
    return Infeasible(
        "bad_cuts",
        f"map {size[0]}x{size[1]} of {anchor.name}: {at} {fault}",
        size[0] * size[1],
        int(area[(count == 1) & inside].sum()),
        "positions",
        "assign every position of the map to exactly one face",
    )
