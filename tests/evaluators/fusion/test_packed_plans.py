"""Packed weights in fused groups: words over DRAM and in the buffer, beside the tensors."""

from dataclasses import replace

from archloom.evaluators.fusion import NetworkCost
from archloom.space.fusion import FusionGroup, FusionPlan
from archloom.space.hardware import Effects, Hardware
from archloom.space.networks import network
from archloom.space.workload import Network

from ...cases.designs import edge
from ...cases.random_plans import priced

NET = network("tiny_cnn").with_density(0.25, 1.0)


def packing(kind: str, hardware: Hardware | None = None) -> Hardware:
    return replace(hardware or edge(1 << 20), effects=Effects(weight_format=kind))  # type: ignore[arg-type]


def fused(net: Network) -> FusionPlan:
    layers = tuple(range(len(net.layers)))
    weighted = tuple(i for i in layers if net.layers[i].uses_macs)
    return FusionPlan((FusionGroup(layers, (4, 4), "recompute", weighted),))


def cost_of(net: Network, plan: FusionPlan, hardware: Hardware) -> NetworkCost:
    cost = priced(net, plan, hardware, 1)
    assert isinstance(cost, NetworkCost), cost
    return cost


def test_resident_weights_come_once_as_they_are_packed():
    dense, packed = (cost_of(NET, fused(NET), packing(kind)) for kind in ("dense", "bitmask"))
    # 0.25 x 8 + 1 of 8 bits for each
    words = [layer.weights for layer in NET.layers if layer.uses_macs]
    saved = sum(words) - sum(-(-3 * w // 8) for w in words)
    assert saved > 0
    assert dense.dram_reads - packed.dram_reads == saved
    assert dense.dram_writes == packed.dram_writes
    assert dense.groups[0].peak_words - packed.groups[0].peak_words == saved
