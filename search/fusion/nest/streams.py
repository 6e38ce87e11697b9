"""Words that come more than once since what streams has little of the buffer."""

from math import prod, sqrt

from archloom.evaluators.fusion.nest import NestWalk
from archloom.space.fusion import STREAMED


def words_again(walk: NestWalk, left: tuple[int | None, ...]) -> float:
    """Return words that move besides those of each operand once, about the least of them.

    One operand of a product that streams comes once through any buffer. Two that stream through W
    words, the third being at hand, move 4 * K * C * P / W words (k + p = W; each k comes with all
    p), and three move 2 * K * C * P / sqrt(W) (Hong and Kung, STOC 1981), unless all but the
    largest fit.

    Args:
        walk: what happens in each iteration.
        left: for each member, words for what streams; None where nothing does.
    """
    return sum(_again(walk, m, words) for m, words in enumerate(left) if words is not None)


def _again(walk: NestWalk, m: int, words: int) -> float:
    group, depth = walk.group, walk.nest.depth
    used = (group.weights[m], group.maps[m], (group.made[m],))
    streams = [any(depth[t] == STREAMED for t in some) for some in used]
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
    sizes = sorted(size for size, far in zip((k * c, c * p, k * p), streams, strict=True) if far)
    if sum(sizes[:-1]) <= words:
        return 0.0
    least = 4 * k * c * p / words if count == 2 else 2 * k * c * p / sqrt(words)
    runs = int((walk.runs(m) * walk.times).sum())
    return max(0.0, least - sum(sizes)) * g * runs
