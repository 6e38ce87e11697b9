"""Product of two factors: a matrix product, a convolution, or value by value.

A rank of both factors is summed over if nothing outside needs it, or else counts groups or heads;
ranks of one factor are rows or columns. With a weight that is a matrix product, grouped or not,
with two feature maps one of these.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from ..graph import Causal
from .causal import CausalRanks
from .graph_builder import GraphBuilder, Value
from .syntax import Access, EinsumError
from .window import window_of

Ranks = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor, and how it is written."""

    value: Value
    text: str


@dataclass(frozen=True, slots=True)
class Setting:
    """What is around a product.

    Attributes:
        node: name of the operator.
        kept: ranks that are not summed over.
        order: of ranks in the line's result.
        image_ranks: ranks of the rows and columns of images.
        causal: ranks that a causal mask is along.
    """

    node: str
    kept: Collection[str]
    order: Ranks
    image_ranks: Collection[str]
    causal: CausalRanks | None = None

    def sorted(self, ranks: Sequence[str]) -> Ranks:
        """Return ranks in the order of the result; what it does not have comes last."""
        place = {rank: i for i, rank in enumerate(self.order)}
        return tuple(sorted(ranks, key=lambda rank: place.get(rank, len(place))))


def multiply(build: GraphBuilder, first: Factor, second: Factor, around: Setting) -> Value:
    """Add the product of two factors without windows.

    Raises:
        EinsumError: two weights, or a rank of one factor that is summed over.
    """
    one, other = first.value, second.value
    if one.learned and other.learned:
        raise EinsumError(
            f"multiplies the weights {first.text} and {second.text}; replace both by their product"
        )
    for this, that in ((first, second), (second, first)):
        for rank in this.value.ranks:
            if rank not in that.value.ranks and rank not in around.kept:
                raise EinsumError(
                    f"sums over rank {rank}, which only {this.text} has; sum it in a line of its "
                    f"own first, or give {that.text} rank {rank}"
                )
    summed = [rank for rank in one.ranks if rank in other.ranks and rank not in around.kept]
    inside = set(one.ranks) <= set(other.ranks) or set(other.ranks) <= set(one.ranks)
    if not summed and inside:
        return by_value(build, "mul", one, other, around.node)
    if one.learned or other.learned:
        given, weight = (other, one) if one.learned else (one, other)
        return _by_weight(build, given, weight, summed, around)
    return _of_maps(build, one, other, summed, around)


def by_value(build: GraphBuilder, kind: str, one: Value, other: Value, node: str) -> Value:
    """Add an operator on values at the same place; what one lacks of the other's ranks repeats."""
    wide, narrow = (other, one) if len(other.ranks) > len(one.ranks) else (one, other)
    ranks = (*wide.ranks, *(rank for rank in narrow.ranks if rank not in wide.ranks))
    tensors = [build.laid(node, value, ranks) for value in (one, other)]
    shape = (1, *(build.sizes[rank] for rank in ranks))
    return Value(build.op(node, kind, tensors, shape), ranks)


def _by_weight(
    build: GraphBuilder, given: Value, weight: Value, summed: Sequence[str], around: Setting
) -> Value:
    groups = around.sorted([r for r in given.ranks if r in weight.ranks and r not in summed])
    rows = around.sorted([r for r in given.ranks if r not in weight.ranks])
    columns = around.sorted([r for r in weight.ranks if r not in given.ranks])
    inner = tuple(summed)
    image = len(rows) == 2 and all(rank in around.image_ranks for rank in rows)
    outputs, inputs = build.count(columns), build.count(inner)
    node = around.node
    if not groups and not image:
        shape = (1, *map(build.sizes.__getitem__, rows), inputs)
        taken = build.laid(node, given, (*rows, *inner), shape)
        learned = build.weight(weight.tensor, build.count(weight.ranks), (outputs, inputs))
        made = build.op(node, "linear", [taken, learned], (*shape[:-1], outputs))
        return build.value(node, made, (*rows, *columns))
    sides = tuple(build.sizes[rank] for rank in rows) if image else (build.count(rows),)
    count = build.count(groups)
    taken = build.laid(node, given, (*groups, *inner, *rows), (1, count * inputs, *sides))
    kernel = (count * outputs, inputs, *(1 for _ in sides))
    learned = build.weight(weight.tensor, build.count(weight.ranks), kernel)
    made = _convolved(build, node, [taken, learned], (1, count * outputs, *sides), groups=count)
    return build.value(node, made, (*groups, *columns, *rows))


def _convolved(
    build: GraphBuilder, node: str, inputs: Sequence[str], shape: tuple[int, ...], groups: int
) -> str:
    """Add a convolution with a kernel of one value."""
    ones, zeros = (1,) * (len(shape) - 2), (0,) * (len(shape) - 2)
    named = {"stride": ones, "dilation": ones, "start": zeros, "end": zeros, "groups": groups}
    return build.op(node, "conv", inputs, shape, **named)


def _of_maps(
    build: GraphBuilder, one: Value, other: Value, summed: Sequence[str], around: Setting
) -> Value:
    own = [[r for r in a.ranks if r not in b.ranks] for a, b in ((one, other), (other, one))]
    last = [r for r in around.order if r in own[0] or r in own[1]]
    known = all(r in around.order for ranks in own for r in ranks)
    if all(own) and known and last[-1] in own[0]:
        # the last rank of the result lies along its channels, which come from the second factor
        one, other, own = other, one, own[::-1]
    elif own[1] and not own[0]:
        one, other, own = other, one, own[::-1]
    heads = around.sorted([r for r in one.ranks if r in other.ranks and r not in summed])
    rows, columns = map(around.sorted, own)
    inner = tuple(r for r in one.ranks if r in summed)
    seen = {}
    if (keys := _masked_keys(around, rows, columns, inner)) and (causal := around.causal):
        # other rows lie inside of those of a query
        rows = tuple(sorted(rows, key=lambda rank: rank != causal.queries))
        count = build.sizes[causal.queries]
        inside = build.count(rows) // count
        seen = build.masked(Causal(-2, count, inside, keys, causal.window))
    m, k, n = map(build.count, (rows, inner, columns))
    lead, node = (1, *map(build.sizes.__getitem__, heads)), around.node
    tensors = [
        build.laid(node, one, (*heads, *rows, *inner), (*lead, m, k)),
        build.laid(node, other, (*heads, *inner, *columns), (*lead, k, n)),
    ]
    made = build.op(node, "matmul", tensors, (*lead, m, n), **seen)
    return build.value(node, made, (*heads, *rows, *columns))


def _masked_keys(
    around: Setting, rows: Ranks, columns: Ranks, inner: Ranks
) -> Literal["k", "c"] | None:
    """Return where a product has the keys of a mask, or None if it has none.

    Raises:
        EinsumError: queries are no rows of it, or keys stand beside other ranks.
    """
    causal = around.causal
    if causal is None or causal.keys not in (*rows, *columns, *inner):
        return None
    if causal.queries not in (*rows, *columns):
        return None
    beside = columns if causal.keys in columns else inner
    if causal.queries in columns or len(beside) > 1:
        raise EinsumError(
            f"a causal mask needs rank {causal.queries} along the rows of the product and rank "
            f"{causal.keys} alone along its columns or its sum; write {causal.queries} before "
            f"{causal.keys} on the left"
        )
    return "k" if causal.keys in columns else "c"


def convolve(
    build: GraphBuilder,
    access: Access,
    given: Value,
    sizes: Sequence[int],
    weight: Factor,
    around: Setting,
) -> Value:
    """Add the product of a feature map, read through windows, with a weight.

    Args:
        build: gets it.
        access: of the feature map.
        given: the feature map; its ranks mean nothing.
        sizes: of its dimensions.
        weight: the kernels.
        around: what is around.

    Raises:
        EinsumError: what is no convolution with one or two dimensions of windows.
    """
    slid = [i for i, index in enumerate(access.indices) if index.plain is None]
    beside = [
        i
        for i, index in enumerate(access.indices)
        if index.plain and index.plain not in weight.value.ranks
    ]
    plain = [i for i in range(len(access.indices)) if i not in slid and i not in beside]
    shared = [access.indices[i].ranks[0] for i in plain]
    _refuse_no_weight(access, weight, around)
    if len(slid) + len(beside) > 2:
        named = ", ".join(str(access.indices[i]) for i in (*slid, *beside))
        raise EinsumError(
            f"{access} has windows or positions along {named}; a convolution has at "
            "most two such ranks, rows and columns"
        )
    kept = around.kept
    windows = {
        i: window_of(access.indices[i], kept, sizes[i], build.sizes, str(access))
        for i in sorted((*slid, *beside))
    }
    kernels = [w.kernel for w in windows.values() if w.kernel]
    _refuse_other_ranks(access, weight, shared, kernels, kept)
    groups = around.sorted([rank for rank in shared if rank in kept])
    inner = tuple(rank for rank in shared if rank not in kept)
    columns = around.sorted([r for r in weight.value.ranks if r not in (*shared, *kernels)])
    count, inputs, outputs = map(build.count, (groups, inner, columns))
    names = {rank: plain[shared.index(rank)] for rank in shared}
    order = (0, *(names[rank] + 1 for rank in (*groups, *inner)), *(i + 1 for i in windows))
    node = around.node
    turned = build.op(
        node, "transpose", [given.tensor], (1, *(sizes[i - 1] for i in order[1:])), order=order
    )
    taken = build.op(node, "reshape", [turned], (1, count * inputs, *(sizes[i] for i in windows)))
    taps = tuple(build.sizes[w.kernel] if w.kernel else 1 for w in windows.values())
    kernel = (count * outputs, inputs, *taps)
    learned = build.weight(weight.value.tensor, build.count(weight.value.ranks), kernel)
    positions = [w.position for w in windows.values() if w.position]
    shape = tuple(build.sizes[w.position] if w.position else 1 for w in windows.values())
    made = build.op(
        node,
        "conv",
        [taken, learned],
        (1, count * outputs, *shape),
        stride=tuple(w.stride for w in windows.values()),
        dilation=tuple(w.dilation for w in windows.values()),
        start=tuple(w.start for w in windows.values()),
        end=tuple(w.end for w in windows.values()),
        groups=count,
    )
    return build.value(node, made, (*groups, *columns, *positions))


def _refuse_no_weight(access: Access, weight: Factor, around: Setting) -> None:
    if not weight.value.learned:
        raise EinsumError(
            f"{access} is read through windows, so {weight.text} must be a weight; add it "
            "under weights"
        )
    kept = [r for index in access.indices for r in index.ranks if index.plain is None]
    for rank in kept:
        if rank in weight.value.ranks and rank in around.kept:
            raise EinsumError(
                f"rank {rank} is in a window of {access}, in {weight.text} and on the left; a "
                "rank of the kernel must be summed over"
            )


def _refuse_other_ranks(
    access: Access,
    weight: Factor,
    shared: Sequence[str],
    kernels: Sequence[str],
    kept: Collection[str],
) -> None:
    for rank in kernels:
        if rank not in weight.value.ranks:
            raise EinsumError(
                f"sums over rank {rank} of {access}, which {weight.text} does not have"
            )
    for rank in weight.value.ranks:
        if rank not in (*shared, *kernels) and rank not in kept:
            raise EinsumError(f"sums over rank {rank}, which only {weight.text} has")
