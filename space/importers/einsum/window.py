"""Window: an index such as ``2*p+r-1`` as stride, dilation and padding of a convolution or pool."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .syntax import EinsumError, Index


@dataclass(frozen=True, slots=True)
class Window:
    """One index of a feature map that a kernel slides along.

    Attributes:
        position: rank of the result; None if there is one position.
        kernel: rank that is summed; None if the window is one value.
        stride, dilation: factors of the two.
        start, end: zeros before the first value and behind the last one.
    """

    position: str | None
    kernel: str | None
    stride: int
    dilation: int
    start: int
    end: int


def reach(index: Index, sizes: Mapping[str, int]) -> int:
    """Return how many values lie from index 0, or the padding before it, to the last one."""
    return (
        1 + sum(factor * (sizes[rank] - 1) for factor, rank in index.terms) + max(0, index.offset)
    )


def window_of(
    index: Index, kept: Collection[str], size: int, sizes: Mapping[str, int], where: str
) -> Window:
    """Return an index as a window.

    Args:
        index: of a feature map.
        kept: ranks of the result.
        size: of that dimension of the feature map.
        sizes: of ranks.
        where: the feature map, for messages.

    Raises:
        EinsumError: more ranks than a window has, or values far outside of the feature map.
    """
    positions = [(factor, rank) for factor, rank in index.terms if rank in kept]
    kernels = [(factor, rank) for factor, rank in index.terms if rank not in kept]
    for group, what in ((positions, "are on the left"), (kernels, "are summed over")):
        if len(group) > 1:
            named = " and ".join(rank for _, rank in group)
            raise EinsumError(
                f"index {index} of {where} has ranks {named}, which both {what}; a window has one "
                "rank of the result and one that is summed over"
            )
    if index.offset > 0:
        raise EinsumError(
            f"index {index} of {where} begins at {index.offset}, must begin at 0, or below 0 "
            "for padding"
        )
    stride, position = positions[0] if positions else (1, None)
    dilation, kernel = kernels[0] if kernels else (1, None)
    start = -index.offset
    span = dilation * (sizes[kernel] - 1) + 1 if kernel else 1
    end = reach(index, sizes) - start - size
    ranks = " and ".join(index.ranks)
    if start >= span:
        raise EinsumError(
            f"index {index} of {where} begins {start} values before it, but a window spans only "
            f"{span}, so its first windows hold nothing but padding; check the sizes of {ranks}"
        )
    if end > start:
        raise EinsumError(
            f"index {index} of {where} ends {end} values behind its {size}; the padding "
            "behind must "
            f"be at most that before, {start}; check the sizes of {ranks}"
        )
    if position and end <= -stride:
        raise EinsumError(
            f"index {index} of {where} leaves {-end} of its {size} values unread, and one more "
            f"window would fit; increase the size of rank {position}"
        )
    return Window(position, kernel, stride, dilation, start, end)
