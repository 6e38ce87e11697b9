"""Draft layers while a network is made: what they fold, and which learned values they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final, Literal

from archloom.space.workload import Interleave, Layer, Network, Slice, is_input

from ..graph import Graph, Tensor
from .feature_map import FeatureMaps

#: feature maps that one sum takes in (ours): longer ones stay as the graph has them
_MOST_ADDENDS: Final = 16

#: what the layer before a layer can take up, if nothing else reads it
Folds = Literal["", "affine", "activation", "shuffle"]


@dataclass(slots=True)
class LayerDraft:
    """A layer to be.

    Attributes:
        layer: as it is without learned values that no loop touches.
        reads: names of feature maps.
        weights: learned tensors that its words of weights are, at most two.
        extra: learned tensors that no loop touches.
        folds: what the layer before it may take up.
    """

    layer: Layer
    reads: tuple[str, ...]
    weights: tuple[Tensor, ...] = ()
    extra: tuple[Tensor, ...] = ()
    folds: Folds = ""


def finish(
    graph: Graph, maps: FeatureMaps, drafts: Sequence[LayerDraft], outputs: Sequence[str]
) -> Network:
    """Return the network: layers folded, dead ones dropped, learned values paid for once.

    Learned tensors that no layer uses are not counted.

    Args:
        graph: that they were made from.
        maps: that they read.
        drafts: in topological order.
        outputs: names of feature maps that leave the network.

    Raises:
        ValueError: layers that do not go together.
    """
    live = _live(drafts, outputs)
    kept, outputs = _folded(live, outputs)
    _box_inputs(maps, kept)
    layers = _LearnedValues(graph, maps).paid(kept)
    read = {source for draft in kept for source in draft.reads}
    left = dict.fromkeys(name for name in outputs if name in read and not is_input(name))
    return Network(graph.name, tuple(layers), tuple(d.reads for d in kept), tuple(left))


def _box_inputs(maps: FeatureMaps, drafts: Sequence[LayerDraft]) -> None:
    """Say the shape of inputs of which some layer reads a box to all that would say another."""
    boxed = {
        source
        for draft in drafts
        for i, source in enumerate(draft.reads)
        if is_input(source) and draft.layer.slice_of(i)
    }
    for draft in drafts:
        if boxed.isdisjoint(draft.reads):
            continue
        layer = draft.layer
        boxes = list(layer.slices or [None] * layer.operands)
        for i, source in enumerate(draft.reads):
            shape = maps[source].shape
            windowed = i < len(layer.map_channels)
            as_read = (layer.map_channels[i], *layer.input_size) if windowed else None
            if source in boxed and boxes[i] is None and shape and as_read != shape:
                boxes[i] = Slice((0, 0, 0), shape, shape)
        draft.layer = replace(layer, slices=tuple(boxes) if any(boxes) else ())


def _live(drafts: Sequence[LayerDraft], outputs: Sequence[str]) -> list[LayerDraft]:
    """Return what leads to an output."""
    wanted = set(outputs)
    live = []
    for draft in reversed(drafts):
        if draft.layer.name in wanted:
            live.append(draft)
            wanted.update(draft.reads)
    return live[::-1]


def _folded(
    drafts: Sequence[LayerDraft], outputs: Sequence[str]
) -> tuple[list[LayerDraft], list[str]]:
    """Let layers take up the batch norms, biases, activations and sums that alone read them."""
    readers: dict[str, int] = dict.fromkeys(outputs, 1)
    for draft in drafts:
        for source in draft.reads:
            readers[source] = readers.get(source, 0) + 1
    kept: dict[str, LayerDraft] = {}
    now: dict[str, str] = {}
    for draft in drafts:
        reads = tuple(now.get(source, source) for source in draft.reads)
        before = kept.get(reads[0])
        alone = readers[draft.reads[0]] == 1
        taken = _taken_up(before, draft) if before and alone and draft.folds else None
        if taken:
            kept[reads[0]] = taken
            now[draft.layer.name] = reads[0]
        else:
            lone = [readers[source] == 1 for source in draft.reads]
            kept[draft.layer.name] = _summed(kept, replace(draft, reads=reads), lone)
    return list(kept.values()), [now.get(name, name) for name in outputs]


def _taken_up(before: LayerDraft, draft: LayerDraft) -> LayerDraft | None:
    """Return the layer before with what this one does, or None if it cannot."""
    first, then = before.layer, draft.layer
    if then.parts or any(then.slices):
        return None
    if draft.folds == "shuffle":
        patch = Interleave(max(1, then.p // first.p), max(1, then.q // first.q))
        before_it = (then.g * patch.rows * patch.columns, first.p, first.q)
        if first.operator != "conv" or first.interleave or first.map_shape != before_it:
            return None
        return replace(before, layer=replace(first, interleave=patch))
    if first.activation or first.map_shape != then.map_shape:
        return None
    extra = (*before.extra, *draft.weights, *draft.extra)
    if draft.folds == "activation":
        return replace(before, layer=replace(first, activation=then.operator), extra=extra)
    if first.operator not in ("conv", "gemm"):
        return None
    return replace(before, extra=extra)


def _summed(kept: dict[str, LayerDraft], draft: LayerDraft, lone: Sequence[bool]) -> LayerDraft:
    """Let a sum take in the sums that it alone reads: feature maps are added in one pass."""
    layer, extra = draft.layer, draft.extra
    if layer.operator != "add" or layer.broadcast or not any(lone):
        return draft
    reads: list[tuple[str, Slice | None]] = []
    addends = layer.operands
    for i, source in enumerate(draft.reads):
        inner = kept.get(source)
        box = layer.slice_of(i)
        takes = inner and lone[i] and box is None and _is_plain_sum(inner.layer, layer)
        if inner and takes and addends + inner.layer.operands <= _MOST_ADDENDS + 1:
            addends += inner.layer.operands - 1
            reads += [(name, inner.layer.slice_of(j)) for j, name in enumerate(inner.reads)]
            extra = (*extra, *inner.extra)
            del kept[source]
        else:
            reads.append((source, box))
    names, boxes = zip(*reads, strict=True)
    layer = replace(layer, operands=len(names), slices=boxes if any(boxes) else ())
    return replace(draft, layer=layer, reads=names, extra=extra)


def _is_plain_sum(inner: Layer, outer: Layer) -> bool:
    return (
        inner.operator == "add"
        and not inner.broadcast
        and not inner.activation
        and inner.map_shape == outer.map_shape
    )


class _LearnedValues:
    """Learned values that no layer has counted yet."""

    def __init__(self, graph: Graph, maps: FeatureMaps) -> None:
        self._left = dict(graph.learned)
        self._maps = maps
        self._owners: dict[tuple[str, ...], str] = {}

    def paid(self, drafts: Sequence[LayerDraft]) -> list[Layer]:
        """Return the layers with what they learn; weights first, tables that share them later."""
        layers = [self._with_weights(draft) for draft in drafts]
        asked: set[str] = set()
        for i, draft in enumerate(drafts):
            extra = sum(self._vector(tensor) for tensor in draft.extra)
            for source in draft.reads:
                if source not in asked and is_input(source):
                    extra += self._whole(self._maps[source].learned)
                asked.add(source)
            if extra:
                layers[i] = replace(layers[i], extra_params=layers[i].extra_params + extra)
        return layers

    def _with_weights(self, draft: LayerDraft) -> Layer:
        layer = draft.layer
        if not draft.weights:
            return layer
        key = tuple(sorted(tensor.name for tensor in draft.weights))
        learned = frozenset().union(*(tensor.learned for tensor in draft.weights))
        free = sum(self._left.get(name, 0) for name in learned)
        same = (*sorted(learned), f"of {layer.weight_words} words")
        again = bool(learned) and not free
        owner = self._owners.get(key) or (self._owners.get(same) if again else None)
        if owner:
            return replace(layer, weights_of=owner)
        self._owners.setdefault(key, layer.name)
        self._owners.setdefault(same, layer.name)
        for tensor in draft.weights:
            self._take(tensor)
        return layer

    def _take(self, tensor: Tensor) -> None:
        """Take the words of a tensor from the learned tensors that it is made of, or part of."""
        words = prod(tensor.shape)
        left = {name: self._left.get(name, 0) for name in sorted(tensor.learned)}
        exact = [name for name, count in left.items() if count == words]
        if sum(left.values()) != words and exact:
            left = {exact[0]: words}
        for name, count in left.items():
            taken = min(count, words)
            self._left[name] = count - taken
            words -= taken

    def _vector(self, tensor: Tensor) -> int:
        """Count a bias or the like: its own words, or all that it was folded from."""
        if len(tensor.learned) > 1:
            return self._whole(tensor.learned)
        found = 0
        for name in tensor.learned:
            found = min(self._left.get(name, 0), prod(tensor.shape))
            self._left[name] = self._left.get(name, 0) - found
        return found

    def _whole(self, names: frozenset[str]) -> int:
        """Count all that is left of learned tensors."""
        return sum(self._left.pop(name, 0) for name in names)
