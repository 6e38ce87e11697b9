"""Pairs of networks of the Layerweaver paper on its two NPUs."""

from dataclasses import replace
from functools import cache

from archloom.evaluators.weaving import NPUS, Chain, Ticks, ticked, weight_stationary_chain
from archloom.space.networks import network, options

COMPUTE = ("inception_v3", "mobilenetv2", "resnet50", "resnext50")
MEMORY = ("bert_base", "bert_large", "ncf", "xlnet_large")

#: the batch that the paper measures each NPU with
BATCH = {"memory_centric": 1, "compute_centric": 16}


@cache
def pair_chain(name: str, npu: str, sequence_length: int) -> Chain:
    """Return the chain of a network on an NPU."""
    chosen = {"sequence_length": sequence_length} if "sequence_length" in options(name) else {}
    return weight_stationary_chain(network(name, **chosen), NPUS[npu][1], BATCH[npu])


def pair(
    names: tuple[str, ...], npu: str, sequence_length: int = 16, buffer_mib: int = 48
) -> Ticks:
    """Return networks in ticks of an NPU with another weight buffer."""
    chains = [pair_chain(name, npu, sequence_length) for name in names]
    return ticked(chains, replace(NPUS[npu][0], weight_buffer_bytes=buffer_mib * 2**20))
