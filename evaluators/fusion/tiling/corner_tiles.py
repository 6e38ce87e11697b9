"""Corner tiles of an axis: those that tell how much any tile holds and moves.

Parts of the kernels of :mod:`.tile_words`.
"""

from typing import TypeAlias

from archloom.evaluators.jit import helper

from ...arrays import Ints

#: new, need, have, gone and share of :class:`.sweep.AxisSweep`
_Figures: TypeAlias = tuple[Ints, Ints, Ints, Ints, Ints]


@helper
def alike(one: int, other: int, figures: _Figures) -> bool:
    """Whether two neighbouring tiles of an axis look alike, and the tiles around them as well."""
    new, need, have, gone, share = figures
    last = new.shape[1] - 1
    for u in range(len(new)):
        coming = new[u, other + 1] if other < last else 0
        had = have[u, one - 1] if one else 0
        went = gone[u, one - 1] if one else 0
        shared = share[u, one - 1] if one else 0
        if (
            new[u, one] != new[u, other]
            or new[u, other] != coming
            or need[u, one] != need[u, other]
            or have[u, one] - went != have[u, other] - gone[u, one]
            or have[u, one] - gone[u, one] != have[u, other] - gone[u, other]
            or share[u, one] != share[u, other]
            or had - went != have[u, one] - gone[u, one]
            or shared != share[u, one]
        ):
            return False
    return True


@helper
def _unlike(u: int, one: int, other: int, figures: _Figures, keep: bool) -> bool:
    """Whether two tiles between the ends of an axis hold or move different lengths of a map.

    Where they lie does not count: nothing that is made of rows, and of columns made again, depends
    on it.
    """
    new, need, have, gone, share = figures
    if (
        need[u, one] != need[u, other]
        or new[u, one] != new[u, other]
        or new[u, one + 1] != new[u, other + 1]
        or share[u, one] != share[u, other]
        or share[u, one - 1] != share[u, other - 1]
    ):
        return True
    return keep and (
        have[u, one] - gone[u, one - 1] != have[u, other] - gone[u, other - 1]
        or have[u, one] - gone[u, one] != have[u, other] - gone[u, other]
        or have[u, one - 1] - gone[u, one - 1] != have[u, other - 1] - gone[u, other - 1]
    )


@helper
def leave_out_twins(at: Ints, figures: _Figures, keep: bool) -> int:
    """Put the corner tiles that differ first, in their order, and return how many they are.

    The first and the last tile stay: what moves around them is another image's.
    """
    maps, count, last = len(figures[0]), 1, len(at) - 1
    # what told two tiles apart is likely to tell the next ones apart
    first = 0
    for n in range(1, len(at)):
        k = 1 if n < last else count
        while k < count:
            if not _unlike(first, at[k], at[n], figures, keep):
                u = 0
                while u < maps and not _unlike(u, at[k], at[n], figures, keep):
                    u += 1
                if u == maps:
                    break
                first = u
            k += 1
        if k == count:
            at[count] = at[n]
            count += 1
    return count
