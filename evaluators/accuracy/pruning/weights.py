"""Weight pruning: the smallest weights of all convolutions, or of some, become zero.

Magnitudes are compared over the whole model (global L1 pruning, as in DLAS: Gibson et al., ACM TACO
2024, section 4.2; Han et al., NeurIPS 2015), or over a group of its layers. The classifying layer
and batch norms keep theirs.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_WEIGHT: Final = ".weight"


def convolution_weights(model: "Module") -> "dict[str, Tensor]":
    """Return the weights of all convolutions by the names of the parameters."""
    from torch.nn import Conv2d

    return {
        f"{name}{_WEIGHT}": part.weight.detach()
        for name, part in model.named_modules()
        if isinstance(part, Conv2d)
    }


def prunable_layers(model: "Module") -> tuple[str, ...]:
    """Return the names of the layers whose weights can be pruned, in their order."""
    return tuple(name.removesuffix(_WEIGHT) for name in convolution_weights(model))


def prune_weights(
    model: "Module", share: float, layers: Collection[str] | None = None
) -> "dict[str, Tensor]":
    """Set the smallest weights of all convolutions to zero, in place; return which may live.

    Exactly ``round(share * weights)`` of them are zero then; of equal ones the first go first.

    Args:
        model: what is pruned; what was zero before stays zero.
        share: of the weights of all convolutions, from 0 and below 1.
        layers: names of those that are pruned, as if there were no others; None for all.

    Returns:
        For names of parameters booleans of the same shape, for
        :class:`~archloom.evaluators.accuracy.training.Trainer`.

    Raises:
        ValueError: another share.
    """
    import torch

    if not 0.0 <= share < 1.0:
        raise ValueError(
            f"the share of pruned weights must be at least 0 and below 1, got {share:g}"
        )
    every = convolution_weights(model)
    weights = {
        name: weight
        for name, weight in every.items()
        if layers is None or name.removesuffix(_WEIGHT) in layers
    }
    magnitudes = torch.cat([weight.abs().flatten() for weight in weights.values()])
    alive = torch.ones(len(magnitudes), dtype=torch.bool)
    count = round(share * len(magnitudes))
    alive[torch.sort(magnitudes, stable=True).indices[:count]] = False
    masks, first = {}, 0
    for name, weight in weights.items():
        masks[name] = alive[first : first + weight.numel()].view_as(weight)
        weight.mul_(masks[name])
        first += weight.numel()
    return masks
