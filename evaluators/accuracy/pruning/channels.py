"""Channel pruning: filters with the smallest weights are taken out of the model.

What is left is a smaller model of the same graph; nothing is masked. Filters are compared over the
whole model (as in DLAS: Gibson et al., ACM TACO 2024, section 4.2) by their L1 norms (Li et al.,
ICLR 2017, section 3.1), each relative to its layer: the batch norm after a layer makes its scale
meaningless, and without that whole layers go first, which no fine-tuning mends.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Bools, Floats, Ints
from .coupling import Coupling

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import GraphModule


def channel_scores(model: "GraphModule", coupling: Coupling) -> Floats:
    """Return how strong the filters are that make each removable channel; 1 is the average.

    That is the L1 norm of a filter over the mean norm of its layer, and the mean of that over all
    filters that are coupled.
    """
    total, count = np.zeros(coupling.count), np.zeros(coupling.count)
    for module in coupling.modules:
        if module.filters:
            part: Any = model.get_submodule(module.name)
            norms = part.weight.detach().abs().double().flatten(1).sum(1).numpy()
            np.add.at(total, module.makes, norms / max(norms.mean(), np.finfo(np.float64).tiny))
            np.add.at(count, module.makes, 1)
    return (total / np.maximum(count, 1))[coupling.removable]


def weakest_channels(model: "GraphModule", coupling: Coupling, count: int) -> Ints:
    """Return the ``count`` coupled channels with the smallest scores; every layer keeps one.

    Raises:
        ValueError: so many cannot go.
    """
    order = coupling.removable[np.argsort(channel_scores(model, coupling), kind="stable")]
    left = [len(module.makes) for module in coupling.modules]
    makers: dict[int, list[tuple[int, int]]] = {}
    for position, module in enumerate(coupling.modules):
        for channel, times in zip(*np.unique(module.makes, return_counts=True), strict=True):
            makers.setdefault(int(channel), []).append((position, int(times)))
    chosen: list[int] = []
    for channel in order.tolist():
        if len(chosen) == count:
            break
        if all(left[position] > times for position, times in makers[channel]):
            chosen.append(channel)
            for position, times in makers[channel]:
                left[position] -= times
    if len(chosen) < count:
        raise ValueError(
            f"{count} of {len(order)} channels cannot be removed; {len(chosen)} can, because a "
            "layer then has one left"
        )
    return np.array(sorted(chosen), np.int64)


def without_channels(model: "GraphModule", coupling: Coupling, removed: Ints) -> "GraphModule":
    """Return a copy of a model without these coupled channels.

    Its results are those of the model if all readers saw zeros in their place.
    """
    smaller, alive = deepcopy(model), coupling.alive(removed)
    for module in coupling.modules:
        part = smaller.get_submodule(module.name)
        _shrink(part, alive[module.reads], alive[module.makes], module.mixes)
    return smaller


def _shrink(part: Any, reads: Bools, makes: Bools, mixes: bool) -> None:
    """Keep the inputs and outputs of one module for which the flags are set."""
    import torch

    kept = torch.from_numpy(makes)
    for name in ("weight", "bias", "running_mean", "running_var"):
        values = getattr(part, name, None)
        if values is None:
            continue
        values = values.detach()[kept]
        if mixes and name == "weight":
            values = values[:, torch.from_numpy(reads)]
        _put(part, name, values.clone())
    _count(part)


def _put(part: Any, name: str, values: "Tensor") -> None:
    import torch

    learned = isinstance(getattr(part, name), torch.nn.Parameter)
    setattr(part, name, torch.nn.Parameter(values) if learned else values)


def _count(part: Any) -> None:
    """Let a module say of itself what the shape of its weights is."""
    from torch import nn

    if isinstance(part, nn.Linear):
        part.out_features, part.in_features = part.weight.shape
    elif isinstance(part, nn.Conv2d):
        depthwise = part.groups > 1 and part.weight.shape[1] == 1
        part.out_channels = part.weight.shape[0]
        part.groups = part.out_channels if depthwise else part.groups
        part.in_channels = part.weight.shape[1] * part.groups
    else:
        part.num_features = len(part.weight)


def load_pruned(model: "GraphModule", state: "Mapping[str, Tensor]") -> "GraphModule":
    """Return a copy of a model with the weights, and the channels, of one that was pruned from it.

    Args:
        model: as it was before any channel was removed.
        state: ``state_dict`` of the pruned one.

    Raises:
        RuntimeError: it was pruned from another.
    """
    smaller = deepcopy(model)
    for name, part in smaller.named_modules():
        if hasattr(part, "weight"):
            for kind in ("weight", "bias", "running_mean", "running_var"):
                values = state.get(f"{name}.{kind}")
                if values is not None and getattr(part, kind, None) is not None:
                    _put(part, kind, values.clone())
            _count(part)
    smaller.load_state_dict(dict(state))
    return smaller
