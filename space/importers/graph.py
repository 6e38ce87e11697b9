"""Computation graph as every front end delivers it: operators on tensors of known shape.

Front ends (ONNX, torch.export) say what is computed;
:mod:`archloom.space.importers.lowering.lower_graph` decides which layers that is. Constants are
folded before: what only depends on them is a constant, and no operator makes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

#: Kinds of operators: inputs; attributes. Tensors have the batch first, then channels, then
#: positions, as in ONNX and PyTorch; axes and permutations count all dimensions from 0. Inputs in
#: brackets may be missing (an empty name).
KINDS: Final[Mapping[str, str]] = {
    "conv": "x, weight (K, C / groups, *kernel), [bias]; stride, start, end, dilation: tuples by "
    "axis (one or two); groups",
    "conv_transpose": "x, weight (C, K / groups, *kernel), [bias]; as conv, and output_padding; "
    "start and end are cut off",
    "linear": "x (..., in), weight (out, in), [bias]",
    "matmul": "x, y: numpy's matmul; one of them may be a learned constant; causal: a Causal, if "
    "there is a mask",
    "attention": "query (..., H, S, d), key (..., G, T, d), value (..., G, T, e), [mask]; "
    "G divides H; causal: keys that a query sees of the last ones up to its own, 0 for all",
    "batch_norm": "x, [scale], [shift]: over axis 1",
    "layer_norm": "x, [scale], [shift]; dimensions: how many of the last ones",
    "rms_norm": "x, [scale]; dimensions",
    "group_norm": "x, [scale], [shift]; groups (instance norm: as many as channels)",
    "pool": "x; mode: max or avg; kernel, stride, start, dilation; how many positions there are "
    "follows from the shape of the result",
    "mean": "x; axes: of which the mean is taken (a global average pool: all positions), or the "
    "sum, which is a constant factor away",
    "max": "x; axes",
    "activation": "x, [slope]; function: one of vector_operators.ACTIVATIONS",
    "unary": "x; function: erf, exp, log, sqrt, rsqrt, reciprocal, neg, abs, pow, ...; only "
    "patterns of them that make a known operator can be lowered; exponent: of a pow",
    "rotary": "x; position embedding by turning",
    "add": "x, y: broadcast as numpy does",
    "sub": "x, y",
    "mul": "x, y",
    "div": "x, y",
    "softmax": "x; axis; causal: as matmul",
    "mask": "scores (..., queries, keys) of which a constant causal mask drops some; window: keys "
    "that a query sees at the most, 0 for all before it",
    "concat": "x, y, ...; axis",
    "slice": "x; axis, start, stop, step",
    "reshape": "x",
    "transpose": "x; order: permutation",
    "expand": "x: broadcast to the shape of the result",
    "resize": "x; mode: nearest or linear",
    "depth_to_space": "x; block; order: CRD (torch) or DCR",
    "pad": "x; start, end: of zeros, by dimension; below 0 they cut off",
    "copy": "x: words moved in a way that is none of the above (flip, roll, tile, gather)",
    "embedding": "table (rows, features), indices",
    "lstm": "x (T, B, in) or (B, T, in); for each direction: weight (4 H, in), recurrent (4 H, P), "
    "[biases of both], [projection (P, H)]; hidden (H), projected (P, or 0 for none), directions, "
    "backward (the only direction), batch_first; results: y, last h, last c",
    "gru": "as lstm, with weights of reset, update and candidate: (3 H, in), (3 H, H); "
    "reset_after: the reset gate scales a product of the last output, not the output; results: y, "
    "last h",
    "rnn": "as gru, with weights (H, in), (H, H); function: one of vector_operators.ACTIVATIONS",
    "identity": "x",
}


class Causal(NamedTuple):
    """Causal mask of an operator.

    Attributes:
        dimension: of its first input along which its queries lie.
        queries: how many there are.
        inside: places along that dimension inside of each query.
        keys: loop along which its keys lie, as of :class:`archloom.space.workload.Mask`.
        window: keys that a query sees at the most; 0 for all before it.
        sure: whether the mask must be used; else all pairs count where rows do not lie as it needs.
    """

    dimension: int
    queries: int
    inside: int
    keys: Literal["k", "c"]
    window: int
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Tensor:
    """One value of a graph.

    Attributes:
        name: unique in its graph.
        shape: all dimensions are known.
        constant: known before the network runs (and so made by no operator).
        learned: names of the learned tensors that it is made of, or part of; empty for what is
            computed, for constants of the graph (masks, scales) and for running statistics.
        value: of a constant of one value (a scale, an epsilon); None for others.
    """

    name: str
    shape: tuple[int, ...]
    constant: bool = False
    learned: frozenset[str] = frozenset()
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """One operator.

    Attributes:
        name: of the node, as the user knows it.
        kind: one of :data:`KINDS`.
        inputs: names of tensors; ``""`` where an optional one is missing.
        outputs: names of tensors.
        attributes: as :data:`KINDS` says.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"operator {self.name}: kind {self.kind!r} is not known")


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators in topological order.

    Attributes:
        name: of the network.
        tensors: by name.
        ops: each reads graph inputs, constants and what earlier ones make.
        inputs, outputs: names of tensors.
        learned: values of each learned tensor (how many), by name.
    """

    name: str
    tensors: Mapping[str, Tensor]
    ops: tuple[Op, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    learned: Mapping[str, int]
