"""Ranks of the rows and columns of images: those that a window slides along somewhere."""

from collections.abc import Iterable

from .syntax import Einsum, accesses

#: a rank, or a dimension of a tensor
_Node = tuple[str, int]


def image_ranks(einsums: Iterable[Einsum]) -> frozenset[str]:
    """Return all ranks that name a dimension of which windows are read, in whatever tensor."""
    same: dict[_Node, _Node] = {}
    slid: list[_Node] = []
    ranks: set[str] = set()

    def root(node: _Node) -> _Node:
        while (up := same.setdefault(node, node)) != node:
            same[node] = same[up]
            node = up
        return node

    for einsum in einsums:
        left = set(einsum.ranks)
        ranks |= left
        for i, rank in enumerate(einsum.ranks):
            same[root((einsum.tensor, i))] = root((rank, -1))
        for access in accesses(einsum.value):
            ranks.update(access.ranks)
            for i, index in enumerate(access.indices):
                if index.plain is not None:
                    same[root((access.tensor, i))] = root((index.plain, -1))
                    continue
                slid.append((access.tensor, i))
                slid += [(rank, -1) for rank in index.ranks if rank in left]
    along = {root(node) for node in slid}
    return frozenset(rank for rank in ranks if root((rank, -1)) in along)
