"""Lowering of embedding lookups and of recurrent layers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from archloom.space.workload import Layer, copy, gru_cell, lstm_cell, rnn_cell

from ..graph import Op, Tensor
from . import tensor_view as views
from .context import Handler, Lowering
from .feature_map import CHANNELS, ROWS, BatchMismatch, CannotLower, Read
from .linear_and_norm import read_vectors
from .tensor_view import Dim, View, run


def _lower_embedding(ctx: Lowering, op: Op) -> View:
    """Lower a lookup: the rows that are chosen are an input; the table counts with its reader."""
    table = ctx.tensor(op.inputs[0])
    if not table.constant:
        raise CannotLower(
            "looks up rows of a computed feature map; only constant tables can be lowered"
        )
    return ctx.lookup(op.name, ctx.shape(op), table.learned)


class _Way(ABC):
    """One way through a sequence: a cell for each step, its weights the first one's.

    Attributes:
        results: what each step hands on, in the order of time.
        output: what the last step that runs hands on.
    """

    def __init__(self, ctx: Lowering, op: Op, way: int) -> None:
        named = op.attributes
        each = (len(op.inputs) - 1) // named["directions"]
        own = [ctx.tensor(name) for name in op.inputs[1 + way * each : 1 + (way + 1) * each]]
        ctx.learned(*own)
        self.tensors = own
        self.hidden: int = named["hidden"]
        self.backward = way == 1 or named.get("backward", False)
        self.name = "backward" if self.backward else "forward"
        self.attributes = named
        self.results: list[Read] = []
        self.output = Read("", None, named.get("projected") or self.hidden)

    def run(self, ctx: Lowering, frames: list[tuple[int, View]]) -> None:
        """Add the cells of all frames, which have numbers, one after another."""
        self.output = self.initial(ctx, "output", self.output.words)
        for step, frame in reversed(frames) if self.backward else frames:
            _, reads, inputs, count = read_vectors(ctx, frame, [2], parts=True)
            if count > 1:
                raise BatchMismatch(f"works on {count} sequences, which are not the batch")
            self.output = self.step(ctx, ctx.name(f"{self.name}.{step}"), reads, inputs)
            self.results.append(self.output)
        if self.backward:
            self.results.reverse()

    @abstractmethod
    def step(self, ctx: Lowering, name: str, reads: list[Read], inputs: int) -> Read:
        """Add one cell, which reads ``inputs`` words; return what it hands on."""

    def initial(self, ctx: Lowering, what: str, words: int) -> Read:
        """Return a state before the first step, which is an input."""
        view = ctx.input(ctx.name(f"{self.name}.{what}"), (words,))
        return ctx.maps.read(view, None)[0]

    def product(
        self, ctx: Lowering, layer: Layer, reads: list[Read], rows: tuple[int, int] | None = None
    ) -> Read:
        """Add a product over the input and the last output, with some rows of all weights."""
        tensors = self.tensors if rows is None else [_rows(t, *rows) for t in self.tensors]
        return _product(ctx, layer, reads, tensors[:2], tensors[2:])


def _rows(tensor: Tensor, start: int, stop: int) -> Tensor:
    """Return some rows of a learned matrix, or some words of a bias."""
    name = f"{tensor.name}[{start}:{stop}]"
    return replace(tensor, name=name, shape=(stop - start, *tensor.shape[1:]))


def _product(
    ctx: Lowering,
    layer: Layer,
    reads: list[Read],
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
) -> Read:
    parts = tuple(read.words for read in reads) if len(reads) > 1 else ()
    layer = replace(layer, parts=parts, operands=len(reads), extra_params=0)
    learned = tuple(tensor for tensor in biases if tensor.learned)
    return Read(ctx.emit(layer, reads, weights=tuple(weights), extra=learned), None, layer.k)


def _vector(ctx: Lowering, layer: Layer, reads: list[Read]) -> Read:
    return Read(ctx.emit(layer, reads), None, layer.g)


class _RnnWay(_Way):
    """A plain recurrent layer."""

    def step(self, ctx: Lowering, name: str, reads: list[Read], inputs: int) -> Read:
        """Add one product."""
        layer = rnn_cell(name, inputs, self.hidden, self.attributes["function"])
        return self.product(ctx, layer, [*reads, self.output])


class _LstmWay(_Way):
    """An LSTM, whose outputs may be projected."""

    def run(self, ctx: Lowering, frames: list[tuple[int, View]]) -> None:
        """Add the cells; the weights of a projection stand behind the others."""
        self.state = self.initial(ctx, "state", self.hidden)
        self.projected: int = self.attributes.get("projected", 0)
        self.projection = [self.tensors.pop()] if self.projected else []
        super().run(ctx, frames)

    def step(self, ctx: Lowering, name: str, reads: list[Read], inputs: int) -> Read:
        """Add gates, state, output and, if there is one, the projection."""
        cell = lstm_cell(name, inputs, self.hidden, projected=self.projected)
        gates = self.product(ctx, cell[0], [*reads, self.output])
        self.state = _vector(ctx, cell[1], [gates, self.state])
        output = _vector(ctx, cell[2], [gates, self.state])
        if not self.projected:
            return output
        return _product(ctx, cell[3], [output], self.projection, [])


class _GruWay(_Way):
    """A GRU, whose reset gate scales the last output or a product of it."""

    def step(self, ctx: Lowering, name: str, reads: list[Read], inputs: int) -> Read:
        """Add gates, the candidate's products, and the output."""
        old, after = self.output, self.attributes["reset_after"]
        cell = gru_cell(name, inputs, self.hidden, reset_after=after)
        of_gates, of_fresh = (0, 2 * self.hidden), (2 * self.hidden, 3 * self.hidden)
        gates = self.product(ctx, cell[0], [*reads, old], of_gates)
        if not after:
            reset = _vector(ctx, cell[1], [gates, old])
            fresh = self.product(ctx, cell[2], [*reads, reset], of_fresh)
            return _vector(ctx, cell[3], [gates, fresh, old])
        own = [_rows(tensor, *of_fresh) for tensor in self.tensors]
        fresh = _product(ctx, cell[1], reads, own[:1], own[2:3])
        kept = _product(ctx, cell[2], [old], own[1:2], own[3:4])
        return _vector(ctx, cell[3], [gates, fresh, kept, old])


_CELLS: Final[dict[str, type[_Way]]] = {"rnn": _RnnWay, "lstm": _LstmWay, "gru": _GruWay}


def _lower_recurrent(ctx: Lowering, op: Op) -> tuple[View, ...]:
    """Lower a recurrent layer, unrolled; states before the first step are inputs.

    Results of one direction are its steps side by side along rows; of two a copy puts both of
    each step together.
    """
    named = op.attributes
    view = ctx.view(op.inputs[0])
    if len(view.shape) != 3:
        raise CannotLower(f"reads {len(view.shape)} dimensions; must have time, batch and features")
    time = 1 if named["batch_first"] else 0
    images = view.pieces[0].dims[1 - time]
    frames = [(t, ctx.narrowed(view, time, t, t + 1)) for t in range(view.shape[time])]
    ways = [_CELLS[op.kind](ctx, op, way) for way in range(named["directions"])]
    for way in ways:
        way.run(ctx, frames)
    ends = [[way.output for way in ways]]
    if op.kind == "lstm":
        ends.append([way.state for way in ways if isinstance(way, _LstmWay)])
    return _all_steps(ctx, images, ways, time), *(_last(ctx, images, reads) for reads in ends)


def _all_steps(ctx: Lowering, images: Dim, ways: list[_Way], time: int) -> View:
    if len(ways) == 1:
        each = [_step(ctx, images, read, time) for read in ways[0].results]
        return views.concat(each, time)
    steps = len(ways[0].results)
    reads = list(chain(*zip(*(way.results for way in ways), strict=True)))
    width = sum(way.output.words for way in ways)
    layer = copy(ctx.name("frames"), (width, steps, 1), [read.words for read in reads])
    dims = [images, images, run(width, CHANNELS)]
    dims[time] = run(steps, ROWS)
    return ctx.made(ctx.emit(layer, reads), dims)


def _step(ctx: Lowering, images: Dim, read: Read, time: int) -> View:
    dims: list[Dim] = [images, images, run(read.words, CHANNELS)]
    dims[time] = ()
    return ctx.made(read.source, dims)


def _last(ctx: Lowering, images: Dim, reads: list[Read]) -> View:
    """Return the last states of all directions, (directions, batch, features)."""
    return views.concat([_step(ctx, images, read, 0) for read in reads], 0)


HANDLERS: Final[dict[str, Handler]] = {
    "embedding": _lower_embedding,
    **dict.fromkeys(_CELLS, _lower_recurrent),
}
