"""Coupling of channels: which filters make a channel that can only be removed as a whole.

A traced model is walked once. Each channel of each map has a number; a convolution over all
channels makes new ones, a depthwise one, a norm, an activation or a pool keeps them, a
concatenation lays them side by side, and a sum makes two of them one. So a residual stage, however
many blocks it has, has as many coupled channels as its maps have channels.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Bools, Ints
from ..figures import Shapes, map_shapes

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node


@dataclass(frozen=True)
class Parameters:
    """One module with parameters, and the coupled channels that it reads and makes.

    Attributes:
        name: of the module.
        reads, makes: int64, a coupled channel for each input, and for each output.
        filters: whether its outputs are filters that make them, alone or with others.
        mixes: whether each output reads all inputs.
    """

    name: str
    reads: Ints
    makes: Ints
    filters: bool
    mixes: bool


@dataclass(frozen=True)
class Coupling:
    """Channels of a model.

    Attributes:
        modules: those with parameters, in the order of the graph.
        removable: the numbers of coupled channels that may be removed, ascending; those of the
            image and of the result may not.
        count: numbers are below it.
    """

    modules: tuple[Parameters, ...]
    removable: Ints
    count: int

    def alive(self, removed: Ints) -> Bools:
        """Return for each number whether it is still there without ``removed``."""
        alive = np.ones(self.count, np.bool_)
        alive[removed] = False
        return alive


def coupling_of(model: "GraphModule", image: tuple[int, int, int]) -> Coupling:
    """Return how the channels of a model hang together.

    Args:
        model: of convolutions, linear layers, batch norms, activations, pools, sums, products with
            a factor for each channel, concatenations of channels, and flattening.
        image: channels, rows and columns.

    Raises:
        ValueError: there is no rule for one of its operators; names it.
    """
    walk = _Walk(model, map_shapes(model, image))
    for node in model.graph.nodes:
        walk.visit(node)
    root = walk.roots()
    modules = tuple(
        Parameters(m.name, root[m.reads], root[m.makes], m.filters, m.mixes) for m in walk.modules
    )
    made = {int(i) for m in modules if m.filters for i in m.makes}
    fixed = {int(root[i]) for i in walk.fixed}
    return Coupling(modules, np.array(sorted(made - fixed), np.int64), len(root))


class _Walk:
    def __init__(self, model: "GraphModule", shapes: Shapes) -> None:
        self._parts = dict(model.named_modules())
        self._shapes = shapes
        self._parent: list[int] = []
        self._channels: dict[Any, Ints] = {}
        self.modules: list[Parameters] = []
        self.fixed: list[int] = []

    def visit(self, node: "Node") -> None:
        """Number the channels of a node's result."""
        if node.op == "placeholder":
            self._channels[node] = self._new(self._shapes[node][1])
            self.fixed += self._channels[node].tolist()
        elif node.op == "output":
            self.fixed += self._channels[node.args[0]].tolist()
        elif node.op == "call_module":
            self._channels[node] = self._module(node, self._parts[str(node.target)])
        else:
            self._channels[node] = self._function(node)

    def roots(self) -> Ints:
        """Return the number that each one has become."""
        return np.array([self._find(i) for i in range(len(self._parent))], np.int64)

    def _module(self, node: "Node", part: Any) -> Ints:
        from torch import nn

        reads, name = self._channels[node.args[0]], str(node.target)
        if any(known.name == name for known in self.modules):
            raise ValueError(f"{name} is used twice; channels of shared weights cannot be removed")
        if isinstance(part, nn.BatchNorm2d):
            self.modules.append(Parameters(name, reads, reads, filters=False, mixes=False))
            return reads
        if isinstance(part, nn.Linear):
            makes, mixes = self._new(part.out_features), True
        elif isinstance(part, nn.Conv2d):
            makes, mixes = self._convolution(part, reads)
        else:
            raise ValueError(f"{name}: no rule for channels of {type(part).__name__}")
        self.modules.append(Parameters(name, reads, makes, filters=True, mixes=mixes))
        return makes

    def _convolution(self, part: Any, reads: Ints) -> tuple[Ints, bool]:
        if part.groups == 1:
            return self._new(part.out_channels), True
        if part.groups == part.in_channels == part.out_channels:
            return reads, False
        # groups must stay of one size, so none of their channels is removed
        makes = self._new(part.out_channels)
        self.fixed += [*reads.tolist(), *makes.tolist()]
        return makes, False

    def _function(self, node: "Node") -> Ints:
        import torch

        functional = torch.nn.functional
        maps = list(self._maps(node))
        if node.target is torch.cat and node.args[1] == 1:
            return np.concatenate(maps)
        if node.target is torch.flatten and node.args[1] == 1:
            (source,) = node.all_input_nodes
            return np.repeat(maps[0], int(np.prod(self._shapes[source][2:])))
        if node.target in (operator.add, operator.mul, torch.add, torch.mul):
            for first, second in zip(maps[0], maps[-1], strict=True):
                self._join(int(first), int(second))
            return maps[0]
        channelwise = (
            torch.relu, torch.sigmoid, torch.tanh, functional.relu, functional.relu6,
            functional.silu, functional.max_pool2d, functional.avg_pool2d,
            functional.adaptive_avg_pool2d,
        )  # fmt: skip
        # pools of older versions of torch are wrapped in functions of the same name
        names = {getattr(function, "__name__", "") for function in channelwise}
        if getattr(node.target, "__name__", "") in names:
            return maps[0]
        raise ValueError(f"{node.name}: no rule for channels of {node.target}")

    def _maps(self, node: "Node") -> Iterator[Ints]:
        for argument in node.args:
            for source in argument if isinstance(argument, list | tuple) else (argument,):
                if source in self._channels:
                    yield self._channels[source]

    def _new(self, count: int) -> Ints:
        first = len(self._parent)
        self._parent += range(first, first + count)
        return np.arange(first, first + count)

    def _find(self, i: int) -> int:
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i

    def _join(self, first: int, second: int) -> None:
        a, b = self._find(first), self._find(second)
        self._parent[max(a, b)] = min(a, b)
