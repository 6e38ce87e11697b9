"""Lowering context: views of tensors, layers made so far, and everything that is wrong."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from archloom.space.workload import INPUT, Layer, Shape, Slice, copy, is_input

from ..graph import Graph, Op, Tensor
from .draft_layer import Folds, LayerDraft
from .feature_map import (
    CHANNELS,
    COLUMNS,
    ROWS,
    BatchMismatch,
    CannotLower,
    Choice,
    FeatureMaps,
    Read,
)
from .layout import alike, around_both, by_axis, factors_of, laid, usual_roles
from .tensor_view import BATCH, REPEATED, Dim, NotAView, Piece, View, expand, narrow, run, size

Handler = Callable[["Lowering", Op], View | tuple[View, ...]]


class Lowering:
    """One graph on its way to be a network.

    Args:
        graph: whose operators are lowered.
        n: images of a batch.
        batch: dimension of inputs that counts them, where it is as large; None if there is none.
    """

    def __init__(self, graph: Graph, n: int, batch: int | None) -> None:
        self.graph = graph
        self.maps = FeatureMaps(n)
        self.n = n
        self.views: dict[str, View] = {}
        self.drafts: list[LayerDraft] = []
        self._op = ""
        self._batch = batch
        self._names: set[str] = set()
        self._positions: dict[str, int] = {}
        self._copies: dict[object, View] = {}
        self.readers: dict[str, list[Op]] = {}
        for op in graph.ops:
            for name in op.inputs:
                self.readers.setdefault(name, []).append(op)

    def begin(self, op: Op) -> None:
        """Name what is made from now on after an operator."""
        self._op = op.name

    def tensor(self, name: str) -> Tensor:
        """Return what is known of a tensor."""
        return self.graph.tensors[name]

    def shape(self, op: Op) -> tuple[int, ...]:
        """Return the shape of an operator's first result."""
        return self.tensor(op.outputs[0]).shape

    def given(self, op: Op, position: int) -> Tensor | None:
        """Return an input that may be missing."""
        name = op.inputs[position] if position < len(op.inputs) else ""
        return self.tensor(name) if name else None

    def learned(self, *tensors: Tensor | None) -> tuple[Tensor, ...]:
        """Return those tensors that hold learned values.

        Raises:
            CannotLower: one of them is computed.
        """
        for tensor in tensors:
            if tensor is not None and not tensor.constant:
                raise CannotLower(
                    f"{tensor.name} is computed; only a learned constant can be used there"
                )
        return tuple(t for t in tensors if t is not None and t.learned)

    def view(self, name: str) -> View:
        """Return where a tensor's values stand; what no operator makes is an input."""
        if name not in self.views:
            tensor = self.tensor(name)
            first = self.graph.inputs[:1] == (name,)
            batch = None if tensor.constant else self._batch_of(tensor.shape)
            self.views[name] = self.input(
                "" if first else name, tensor.shape, tensor.learned, batch
            )
        return self.views[name]

    def beside(self, name: str, other: str) -> View:
        """Return where a tensor's values stand that meet another's dimension by dimension.

        A constant that has as many entries as there are images where the other counts images has
        some for each of them: front ends repeat a class token so before the network runs.
        """
        tensor, met = self.tensor(name), self.tensor(other)
        if name not in self.views and tensor.constant and not met.constant and self.n > 1:
            dims = zip(*(piece.dims for piece in self.view(other).pieces), strict=True)
            images = [i for i, each in enumerate(dims) if set(each) == {run(self.n, BATCH)}]
            if len(tensor.shape) == len(met.shape) and any(tensor.shape[i] > 1 for i in images):
                self.views[name] = self.input(name, tensor.shape, tensor.learned, images[0])
        return self.view(name)

    def _batch_of(self, shape: Sequence[int]) -> int | None:
        """Return the dimension that counts images, if there is one."""
        batch = self._batch
        if batch is None or len(shape) <= batch or shape[batch] != self.n:
            return None
        return batch

    def lookup(self, name: str, shape: Sequence[int], learned: frozenset[str]) -> View:
        """Return an input of its own: chosen rows of a table, a first state."""
        return self.input(name, shape, learned, self._batch_of(shape))

    def unknown(self, name: str) -> View:
        """Return a view of what could not be lowered, so that what follows can be."""
        shape = self.tensor(name).shape if name else ()
        return self.input(f"unknown {name}", shape, batch=self._batch_of(shape))

    def input(
        self,
        name: str,
        shape: Sequence[int],
        learned: frozenset[str] = frozenset(),
        batch: int | None = None,
    ) -> View:
        """Add an input; the network's own without a name."""
        source = f"{INPUT}:{name}" if name else INPUT
        while source in self.maps:
            source += "_"
        return self.maps.input(source, shape, batch, learned)

    def name(self, part: str = "") -> str:
        """Return a name for a layer, which nothing else has."""
        base = self._op + (f".{part}" if part else "")
        found = base = f"{base}_" if is_input(base) or not base else base
        again = 1
        while found in self._names:
            again += 1
            found = f"{base}_{again}"
        self._names.add(found)
        return found

    def emit(
        self,
        layer: Layer,
        reads: Iterable[Read],
        *,
        weights: tuple[Tensor, ...] = (),
        extra: tuple[Tensor, ...] = (),
        folds: Folds = "",
    ) -> str:
        """Add a layer; returns its name."""
        reads = list(reads)
        boxes = tuple(read.box for read in reads)
        if any(boxes):
            layer = replace(layer, slices=boxes)
        if self.n > 1:
            layer = layer.with_batch(self.n)
        sources = tuple(read.source for read in reads)
        self._positions[layer.name] = len(self.drafts)
        self.drafts.append(LayerDraft(layer, sources, weights, extra, folds))
        self.maps.result(layer.name, layer.map_shape)
        return layer.name

    def owe(self, view: View, tensor: Tensor) -> None:
        """Count learned values without a layer with what makes, or first reads, a feature map."""
        source = view.pieces[0].source
        if is_input(source):
            self.maps[source].learned |= tensor.learned
            return
        draft = self.drafts[self._positions[source]]
        draft.extra = (*draft.extra, tensor)

    def made(self, name: str, dims: Sequence[Dim]) -> View:
        """Return the view of a layer's result."""
        return View((Piece(name, (0,) * 4, tuple(dims), placed=True),))

    def map(self, name: str, images: Dim, rank: int) -> View:
        """Return the view of a layer's result as (batch, channels, rows, columns) or fewer."""
        shape = self.maps[name].shape
        assert shape is not None
        dims = tuple(run(count, axis) for axis, count in enumerate(shape, start=1))
        return self.made(name, (images, *dims)[:rank])

    def take(
        self,
        view: View,
        choice: Choice,
        roles: Sequence[int],
        parts_along: int | None = None,
    ) -> tuple[View, list[Read]]:
        """Return a view as a reader can take it, settled, and what it reads.

        Words that the reader cannot take from where they stand are copied before.

        Args:
            view: what is read.
            choice: what the reader takes for what.
            roles: axis of each dimension in a copy.
            parts_along: dimension along which there may be several pieces.
        """
        settled = self.maps.settle(view, choice)
        if len(view.pieces) == 1 or (view.axis == parts_along and alike(settled.pieces, view.axis)):
            try:
                return settled, self.maps.read(view, choice)
            except NotAView:
                pass
        moved = self.copied(view, roles)
        return moved, self.maps.read(moved, choice)

    def copied(self, view: View, roles: Sequence[int]) -> View:
        """Return the view of a copy whose dimensions lie along the given axes, later ones faster.

        Raises:
            CannotLower: images of a batch that are not all taken alike.
        """
        view = self.maps.settle(view, lambda piece: by_axis(piece, roles))
        factors = [factors_of(view, i, count) for i, count in enumerate(view.shape)]
        dims, shape = laid(factors, roles)
        return self.copied_to(view, shape, dims, roles)

    def copied_to(
        self, view: View, shape: Shape, dims: Sequence[Dim], roles: Sequence[int]
    ) -> View:
        """Return the view of a copy of ``shape``, in which dimensions lie as ``dims`` say.

        All who want the same copy share it.
        """
        view = self.maps.settle(view, lambda piece: by_axis(piece, roles))
        key = (view, shape, tuple(dims))
        if key not in self._copies:
            self._copies[key] = self._copy(view, shape, dims, roles)
        return self._copies[key]

    def _copy(self, view: View, shape: Shape, dims: Sequence[Dim], roles: Sequence[int]) -> View:
        reads = self.around(view, roles)
        layer = copy(self.name("copy"), shape, [read.words for read in reads])
        return self.made(self.emit(layer, reads), dims)

    def moved(self, view: View, shape: Sequence[int], roles: Sequence[int]) -> View:
        """Return the view of a copy in which words stand otherwise: of another shape, padded.

        Raises:
            BatchMismatch: images would no longer be the first dimension.
        """
        images: Dim = view.pieces[0].dims[0] if view.shape else ()
        if not images or any(atom.axis != BATCH for atom in images) or shape[0] != size(images):
            images = ()
        if not images and any(a.axis == BATCH for piece in view.pieces for a in piece.atoms):
            raise BatchMismatch(
                f"merges the batch with other dimensions: {view.shape} to {tuple(shape)}; "
                "the batch must stay a dimension of its own"
            )
        sizes = [run(count, REPEATED, 0) for count in shape]
        dims, lies = laid([images, *sizes[1:]] if images else sizes, roles)
        return self._copy(view, lies, dims, self.roles_of(view))

    def narrowed(self, view: View, axis: int, start: int, stop: int, step: int = 1) -> View:
        """Return some indices of one dimension, of a copy if they lie too scattered.

        Raises:
            BatchMismatch: they are some of the images.
        """
        images = any(a.axis == BATCH for piece in view.pieces for a in piece.dims[axis])
        if images and len(range(start, stop, step)) < view.shape[axis]:
            raise BatchMismatch(
                "selects some images of the batch; every layer must work on all of them"
            )
        try:
            return narrow(view, axis, start, stop, step)
        except NotAView:
            moved = self.copied(view, self.roles_of(view))
        return narrow(moved, axis, start, stop, step)

    def expanded(self, view: View, shape: Sequence[int]) -> View:
        """Return a view repeated to a shape; over the batch each image has values of its own.

        So have inputs that are not said to be the same for all images.
        """
        wide = expand(view, shape)
        pieces = [
            replace(p, dims=(run(self.n, BATCH), *p.dims[1:]))
            if p.dims and p.dims[0] == run(self.n, REPEATED, 0)
            else p
            for p in wide.pieces
        ]
        return replace(wide, pieces=tuple(pieces))

    def around(self, view: View, roles: Sequence[int] = ()) -> list[Read]:
        """Return for each feature map the smallest box around all that is read of it."""
        boxes: dict[str, Slice] = {}
        settled = self.maps.settle(view, lambda piece: by_axis(piece, roles))
        for piece in settled.pieces:
            self.maps.check_batch(piece)
            box = self.maps.box(piece, around=True)
            known = boxes.get(piece.source)
            boxes[piece.source] = around_both(known, box) if known else box
        return [
            Read(source, None if box.size == box.of else box, box.words)
            for source, box in boxes.items()
        ]

    def roles_of(self, view: View) -> tuple[int, ...]:
        """Return the axis along which each dimension lies, as far as one can say."""
        usual = usual_roles(len(view.shape))
        settled = self.maps.settle(view, lambda piece: by_axis(piece, usual))
        axes = [
            {atom.axis for piece in settled.pieces for atom in piece.dims[i]} - {REPEATED}
            for i in range(len(usual))
        ]
        known = [min(found - {BATCH}, default=None) for found in axes]
        if CHANNELS not in known:
            return usual
        if len(usual) != 4:
            known = [ROWS if axis == COLUMNS else axis for axis in known]
        return tuple(
            axis or (BATCH if BATCH in found or usual[i] == BATCH else ROWS)
            for i, (axis, found) in enumerate(zip(known, axes, strict=True))
        )
