"""Words that come more than once since what streams has little of the buffer."""

from math import prod, sqrt
from typing import TypeAlias

from archloom.evaluators.fusion.nest import NestGroup, NestWalk
from archloom.space.fusion import STREAMED, LoopNest

#: for each member, words for what streams; None where nothing does
Left: TypeAlias = tuple[int | None, ...]


def words_again(walk: NestWalk, left: Left) -> float:
    """Return words that move besides those of each operand once, about the least of them.

    One operand of a product that streams comes once through any buffer. Of two that stream through
    W words, the third being at hand, A x B words are multiplied for each index that both have: W -
    1 words of A stay while all of B comes, which moves A + B * A / (W - 1) words, or the same with
    B. Three move 2 * K * C * P / sqrt(W) words (Hong and Kung, STOC 1981), unless the smallest
    fits.

    Args:
        walk: what happens in each iteration.
        left: for each member, words for what streams; None where nothing does.
    """
    return sum(_again(walk, m, words) for m, words in enumerate(left) if words is not None)


def words_for_streams(group: NestGroup, nest: LoopNest, left: Left) -> bool:
    """Whether all that streams has a word of the buffer at least."""
    return all(n is None or sum(_streams(group, nest, m)) <= n for m, n in enumerate(left))


def several_stream(group: NestGroup, nest: LoopNest, left: Left) -> bool:
    """Whether several operands stream to a member: if not, nothing comes again."""
    return any(n is not None and sum(_streams(group, nest, m)) > 1 for m, n in enumerate(left))


def _streams(group: NestGroup, nest: LoopNest, m: int) -> list[bool]:
    """Whether what stands for weights, inputs and outputs of a member streams."""
    depth = nest.depth
    used = (group.weights[m], group.maps[m], (group.made[m],))
    return [any(depth[t] == STREAMED for t in some) for some in used]


def _again(walk: NestWalk, m: int, words: int) -> float:
    group, streams = walk.group, _streams(walk.group, walk.nest, m)
    count = sum(streams)
    if count < 2:
        return 0.0
    n, g, k, c, p, q = (
        prod(int(walk.tile(rank).flat[0]) for rank in ranks) for ranks in group.ranks.dims[m]
    )
    layer = group.layers[m]
    c, p = c * layer.r * layer.s, p * q
    if layer.multiplies_maps:
        g *= n
    else:
        p *= n
    sides = (p, k, c)  # that weights, maps and results do not have
    sizes = [k * c * p // side for side, far in zip(sides, streams, strict=True) if far]
    if count == 2:
        least_side = min(side for side, far in zip(sides, streams, strict=True) if far)
        fits = least_side < words
        least = k * c * p / max(1, words - 1) + min(sizes)
    else:
        fits, least = min(sizes) < words, 2 * k * c * p / sqrt(words)
    if fits:
        return 0.0
    runs = float((walk.runs(m) * walk.times).sum())
    for at, loop in enumerate(walk.nest.loops):
        if loop.rank in group.own[m]:
            # a last tile that covers less is a part of one
            runs *= group.ranks.sizes[loop.rank] / (walk.loops[at].count * loop.tile)
    return max(0.0, least - sum(sizes)) * g * runs
