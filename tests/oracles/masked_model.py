"""A model whose readers see zeros where channels are masked.

Independent of: how channels are numbered, coupled and removed; masks flow through the graph as it
runs, and two that meet in a sum must be equal.
"""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.fx import GraphModule, Interpreter, Node

Mask = NDArray[np.bool_]


class MaskedModel(Interpreter):
    """Runs a model with zeros for all filters that are masked.

    Args:
        model: in evaluation mode.
        masks: for names of convolutions and linear layers, which outputs are there; others have
            all, but depthwise ones have those that they read.
    """

    def __init__(self, model: GraphModule, masks: Mapping[str, Mask]) -> None:
        super().__init__(model)
        self._given = masks
        self._alive: dict[Node, Mask] = {}

    def run_node(self, n: Node) -> Any:
        """Run one node; what it reads is zero where it is masked, if it mixes channels."""
        if n.op == "placeholder":
            result = super().run_node(n)
            self._alive[n] = np.ones(result.shape[1], np.bool_)
            return result
        sources = n.all_input_nodes
        part = self.module.get_submodule(str(n.target)) if n.op == "call_module" else None
        if isinstance(part, nn.Linear | nn.Conv2d):
            return self._mixed(n, part, self._alive[sources[0]])
        result = super().run_node(n)
        if n.op == "output":
            assert self._alive[sources[0]].all()
        elif n.target is torch.cat:
            self._alive[n] = np.concatenate([self._alive[source] for source in sources])
        elif n.target in (operator.add, operator.mul):
            assert (self._alive[sources[0]] == self._alive[sources[1]]).all()
            self._alive[n] = self._alive[sources[0]]
        else:
            self._alive[n] = self._alive[sources[0]]
        return result

    def _mixed(self, n: Node, part: Any, reads: Mask) -> Any:
        (x,), _ = self.fetch_args_kwargs_from_env(n)
        shape = (1, -1) + (1,) * (x.dim() - 2)
        result = part(x * torch.from_numpy(reads).view(shape))
        depthwise = isinstance(part, nn.Conv2d) and part.groups > 1
        everything = reads if depthwise else np.ones(result.shape[1], np.bool_)
        self._alive[n] = self._given.get(str(n.target), everything)
        return result
