"""A model as a network of Archloom, for accelerators: with the zeros of its pruned weights."""

from dataclasses import replace
from typing import TYPE_CHECKING

from archloom.space.importers.torch import network_of
from archloom.space.workload import Network

from .figures import weighted

if TYPE_CHECKING:
    from torch.fx import GraphModule


def to_network(model: "GraphModule", image: tuple[int, int, int], name: str) -> Network:
    """Return the network that a model computes, with the share of nonzero weights of each layer.

    A layer whose weights are all zero keeps one: shares of 0 have no meaning in a network.

    Raises:
        ValueError: a layer of the model that is none of the network.
    """
    import torch

    trained = model.training
    program = torch.export.export(model.eval(), (torch.zeros(1, *image),))
    model.train(trained)
    network = network_of(program, name)
    shares = {
        str(node.target): max(1, int(part.weight.count_nonzero())) / part.weight.numel()
        for node, part in weighted(model)
    }
    missing = shares.keys() - {layer.name for layer in network.layers}
    if missing:
        raise ValueError(f"{name}: {', '.join(sorted(missing))} must be layers of the network")
    layers = tuple(
        replace(layer, density=(shares[layer.name], 1.0)) if layer.name in shares else layer
        for layer in network.layers
    )
    return replace(network, layers=layers)
