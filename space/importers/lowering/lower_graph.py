"""Lowering of the graph of a front end to a network.

Every tensor is a view of feature maps, so that an operator that moves no word is no layer; each
of the others makes layers, which then take up biases, batch norms and activations. Learned values
count once: weights with the layer that has them first (others name it), tables and learned feature
maps with their first reader. Learned tensors that no layer uses do not count; weights of
convolutions and matrix products that are constants and not learned do, as a layer has no other
kind.

Constants that are not learned are free if they are scalars, one value a channel or masks of
scores; others (tables of positions) are inputs without parameters.

The batch is the first dimension of the network's first input if every layer can work on so many
images; else the second one of three (time first), or else everything is one image.
"""

from typing import Final

from archloom.space.importers.patterns import live
from archloom.space.workload import Network

from ..errors import ImportProblem
from ..graph import Graph, Op
from . import (
    attention as lower_attention,
    conv_and_pool as lower_windows,
    data_movement as lower_movement,
    elementwise as lower_elementwise,
    linear_and_norm as lower_vectors,
    recurrent as lower_sequences,
    volumes as lower_volumes,
)
from .context import Handler, Lowering
from .draft_layer import finish
from .feature_map import BatchMismatch, CannotLower
from .tensor_view import NotAView, View

_HANDLERS: Final[dict[str, Handler]] = {
    **lower_attention.HANDLERS,
    **lower_elementwise.HANDLERS,
    **lower_movement.HANDLERS,
    **lower_sequences.HANDLERS,
    **lower_vectors.HANDLERS,
    **lower_volumes.HANDLERS,
    **lower_windows.HANDLERS,
}


def lower(graph: Graph) -> Network:
    """Return the network that a graph is.

    Raises:
        ImportProblem: it has no layers, or operators that no layers are known for; names them
            all.
    """
    ops = live(graph).ops
    _refuse_nothing(graph, ops)
    first = _first_shape(graph)
    problems: list[str] = []
    for batch in _batch_dimensions(first):
        ctx = _context(graph, first, batch)
        found, other = _lowered(ctx, ops)
        if not found:
            return _finished(ctx)
        problems = problems or found
        if not other:
            break
    raise ImportProblem(graph.name, problems)


def _refuse_nothing(graph: Graph, ops: tuple[Op, ...]) -> None:
    """Refuse tensors without values."""
    problems = [
        f"{op.name} ({op.kind}): {name} has the shape {graph.tensors[name].shape}, so it "
        "has no values"
        for op in ops
        for name in (*op.inputs, *op.outputs)
        if name in graph.tensors and 0 in graph.tensors[name].shape
    ]
    if problems:
        raise ImportProblem(graph.name, problems)


def _first_shape(graph: Graph) -> tuple[int, ...]:
    return graph.tensors[graph.inputs[0]].shape if graph.inputs else ()


def _batch_dimensions(first: tuple[int, ...]) -> tuple[int | None, ...]:
    """Return dimensions of the first input that may count images, the likeliest first."""
    if not first or first[0] == 1:
        return (None,)
    return (0, 1, None) if len(first) == 3 else (0, None)


def _context(graph: Graph, first: tuple[int, ...], batch: int | None) -> Lowering:
    n = 1 if batch is None else first[batch]
    return Lowering(graph, n, batch)


def _lowered(ctx: Lowering, ops: tuple[Op, ...]) -> tuple[list[str], bool]:
    """Lower all operators; return what is wrong, and whether another batch could help."""
    problems = []
    other = False
    for op in ops:
        ctx.begin(op)
        try:
            made = _HANDLERS[op.kind](ctx, op)
        except (CannotLower, NotAView, ValueError) as error:
            problems.append(f"{op.name} ({op.kind}): {str(error) or 'reads scattered words'}")
            other = other or isinstance(error, BatchMismatch)
            made = tuple(ctx.unknown(name) for name in op.outputs)
        results = (made,) if isinstance(made, View) else made
        ctx.views.update(zip(op.outputs, results, strict=False))
    return problems, other


def _finished(ctx: Lowering) -> Network:
    graph = ctx.graph
    outputs = [
        piece.source
        for name in graph.outputs
        if name in ctx.views
        for piece in ctx.views[name].pieces
    ]
    try:
        network = finish(graph, ctx.maps, ctx.drafts, outputs)
    except ValueError as error:
        raise ImportProblem(graph.name, [str(error)]) from error
    if not network.layers:
        raise ImportProblem(graph.name, ["has no operator that becomes a layer"])
    return network
