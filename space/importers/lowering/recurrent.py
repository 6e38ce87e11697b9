"""Lowering of embedding lookups and of recurrent layers."""

from dataclasses import replace
from itertools import chain
from typing import Final

from archloom.space.workload import copy, lstm_cell

from ..graph import Op
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


class _Direction:
    """One way through a sequence: a cell for each step, its weights the first one's."""

    def __init__(self, ctx: Lowering, op: Op, way: int) -> None:
        each = (len(op.inputs) - 1) // op.attributes["directions"]
        own = [ctx.tensor(name) for name in op.inputs[1 + way * each : 1 + (way + 1) * each]]
        ctx.learned(*own)
        self.weights = (own[0], own[1])
        self.biases = tuple(tensor for tensor in own[2:] if tensor.learned)
        self.name = ("forward", "backward")[way]
        self.hidden = op.attributes["hidden"]
        self.results: list[Read] = []
        self.state = Read("", None, self.hidden)

    def run(self, ctx: Lowering, frames: list[tuple[int, View]]) -> None:
        """Add the cells of all frames, which have numbers, in their order."""
        state, output = (self._initial(ctx, what) for what in ("state", "output"))
        for step, frame in frames:
            _, reads, inputs, count = read_vectors(ctx, frame, [2], parts=True)
            if count > 1:
                raise BatchMismatch(f"works on {count} sequences, which are not the batch")
            gates, new_state, new_output = lstm_cell(
                ctx.name(f"{self.name}.{step}"), inputs, self.hidden, biases=0
            )
            parts = (*(read.words for read in reads), self.hidden)
            gates = replace(gates, parts=parts, operands=len(parts))
            four = ctx.emit(gates, [*reads, output], weights=self.weights, extra=self.biases)
            read = Read(four, None, 4 * self.hidden)
            state = Read(ctx.emit(new_state, [read, state]), None, self.hidden)
            output = Read(ctx.emit(new_output, [read, state]), None, self.hidden)
            self.results.append(output)
        self.state = state

    def _initial(self, ctx: Lowering, what: str) -> Read:
        view = ctx.input(ctx.name(f"{self.name}.{what}"), (self.hidden,))
        return ctx.maps.read(view, None)[0]


def _lower_lstm(ctx: Lowering, op: Op) -> tuple[View, View, View]:
    """Lower an LSTM, unrolled; states before the first step are inputs.

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
    ways = [_Direction(ctx, op, way) for way in range(named["directions"])]
    for way, order in zip(ways, (frames, frames[::-1]), strict=False):
        way.run(ctx, order)
    last_h, last_c = (
        _last(ctx, images, reads)
        for reads in ([way.results[-1] for way in ways], [way.state for way in ways])
    )
    return _all_steps(ctx, images, ways, time), last_h, last_c


def _all_steps(ctx: Lowering, images: Dim, ways: list[_Direction], time: int) -> View:
    hidden, steps = ways[0].hidden, len(ways[0].results)
    if len(ways) == 1:
        each = [_step(ctx, images, read, time) for read in ways[0].results]
        return views.concat(each, time)
    both = zip(ways[0].results, reversed(ways[1].results), strict=True)
    reads = list(chain(*both))
    width = hidden * len(ways)
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


HANDLERS: Final[dict[str, Handler]] = {"embedding": _lower_embedding, "lstm": _lower_lstm}
