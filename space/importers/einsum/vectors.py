"""Operators over whole ranks: softmax, norms, maxima and means."""

from collections.abc import Sequence
from typing import Final

from ..graph import Causal
from .causal import CausalRanks
from .graph_builder import GraphBuilder, Value
from .product import Setting
from .syntax import Access, Call, EinsumError
from .window import window_of

#: functions over ranks that they name, and the learned values that each has
VECTORS: Final[dict[str, tuple[str, ...]]] = {
    "softmax": (),
    "layer_norm": ("scale", "shift"),
    "rms_norm": ("scale",),
}
#: functions over ranks that are not on the left, and what graphs call such a pool
POOLS: Final = {"max": "max", "mean": "avg"}


def over_vectors(
    build: GraphBuilder, node: str, value: Value, call: Call, causal: CausalRanks | None
) -> Value:
    """Add a softmax or a norm.

    Raises:
        EinsumError: no ranks to work over, or ranks that the argument does not have.
    """
    name, along = call.function, call.along
    if not along or (name == "softmax" and len(along) > 1):
        rule = "one rank" if name == "softmax" else "a rank"
        raise EinsumError(
            f"{name} needs {rule} over which it works, such as {name}({call.argument}, k)"
        )
    for rank in along:
        if rank not in value.ranks or along.count(rank) > 1:
            raise EinsumError(
                f"{name} works over rank {rank}, which {call.argument} must have exactly once"
            )
    ranks = (*(rank for rank in value.ranks if rank not in along), *along)
    tensor = build.laid(node, value, ranks)
    shape = (1, *(build.sizes[rank] for rank in ranks))
    if name == "softmax":
        seen = {}
        if causal and along == (causal.keys,) and causal.queries in ranks:
            place = ranks.index(causal.queries) + 1
            seen = build.masked(Causal(place, shape[place], 1, "k", causal.window))
        return Value(build.op(node, name, [tensor], shape, axis=len(ranks), **seen), ranks)
    size = tuple(build.sizes[rank] for rank in along)
    words = build.count(along)
    learned = [build.weight(f"{node}.{each}", words, size) for each in VECTORS[name]]
    made = build.op(node, name, [tensor, *learned], shape, dimensions=len(along))
    return Value(made, ranks)


def reduced(
    build: GraphBuilder, node: str, value: Value, function: str, gone: Sequence[str]
) -> Value:
    """Add the maximum or mean over some ranks."""
    ranks = tuple(rank for rank in value.ranks if rank not in gone)
    axes = tuple(value.ranks.index(rank) + 1 for rank in gone)
    shape = (1, *(build.sizes[rank] for rank in ranks))
    return Value(build.op(node, function, [value.tensor], shape, axes=axes), ranks)


def pooled(
    build: GraphBuilder,
    function: str,
    access: Access,
    given: Value,
    sizes: Sequence[int],
    around: Setting,
) -> Value:
    """Add a pool over the windows of a feature map.

    Raises:
        EinsumError: windows along more than two dimensions, or a rank that is gone elsewhere.
    """
    kept, images = around.kept, around.image_ranks
    slid = [
        i for i, index in enumerate(access.indices) if index.plain is None or index.plain in images
    ]
    plain = [i for i in range(len(access.indices)) if i not in slid]
    channels = [access.indices[i].ranks[0] for i in plain]
    for rank in channels:
        if rank not in kept:
            raise EinsumError(
                f"{function} works over windows and over rank {rank}; write it as two lines"
            )
    if len(slid) > 2:
        named = ", ".join(str(access.indices[i]) for i in slid)
        raise EinsumError(
            f"{access} has windows or positions along {named}; a pooling has at "
            "most two such ranks, rows and columns"
        )
    windows = [window_of(access.indices[i], kept, sizes[i], build.sizes, str(access)) for i in slid]
    node, order = around.node, (0, *(i + 1 for i in (*plain, *slid)))
    turned = build.op(
        node, "transpose", [given.tensor], (1, *(sizes[i - 1] for i in order[1:])), order=order
    )
    sides = [sizes[i] for i in slid]
    taken = build.op(node, "reshape", [turned], (1, build.count(channels), *sides))
    shape = tuple(build.sizes[w.position] if w.position else 1 for w in windows)
    made = build.op(
        node,
        "pool",
        [taken],
        (1, build.count(channels), *shape),
        mode=POOLS[function],
        kernel=tuple(build.sizes[w.kernel] if w.kernel else 1 for w in windows),
        stride=tuple(w.stride for w in windows),
        start=tuple(w.start for w in windows),
        dilation=tuple(w.dilation for w in windows),
    )
    positions = [w.position for w in windows if w.position]
    return build.value(node, made, (*channels, *positions))
