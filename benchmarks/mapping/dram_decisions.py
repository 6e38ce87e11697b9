"""What rows and banks of DRAM change about the best mapping of a layer.

    python benchmarks/mapping/dram_decisions.py [--evaluations 4000]

For each layer the best mapping is searched twice, with DRAM at full bandwidth and one energy per
bit, and with ``timing``. Both are then priced with ``timing``: the EDP of the first over that of
the second is what it costs not to know. Chips and layers are none that anything was fitted to.
"""

import argparse
from dataclasses import replace

from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import AutoMapping
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.presets import preset
from archloom.space.hardware.dram import DramTiming
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

#: device, channels about as fast as the preset's DRAM, and layers of two networks
CHIPS = {
    "simba": ("ddr4_3200_x8", "hbm2_2000", "gddr6_8gbps_x16"),
    "eyeriss": ("lpddr4_2400_x16", "hbm2_2000"),
}
NETWORK, LAYERS = "mobilenetv2", 3


def timed(plain: Hardware, device: str, layout: str) -> Hardware:
    """Return a chip with as many channels as come nearest to the bandwidth that it has."""
    from archloom.evaluators.technology.dram.device import dram_channel

    peak = dram_channel(device).peak_gbytes_per_s
    channels = max(1, round(plain.dram_gbytes_per_s / peak))
    timing = DramTiming(device, channels, 1, layout)  # type: ignore[arg-type]
    dram = replace(plain.levels[-1], energy=None, timing=timing)
    return replace(plain, levels=(*plain.levels[:-1], dram))


def best(problem: MappingProblem, evaluations: int) -> LayerCost:
    """Return the best mapping, priced for its own problem."""
    search = AutoMapping(LocalMapping())
    found = search.best(problem, search.advance(problem, search.start(problem, 0), evaluations))
    assert found.mapping is not None
    return mapped_cost(problem, found.mapping)


def edp(problem: MappingProblem, cost: LayerCost) -> float:
    """Return energy times latency, standby and leakage included."""
    cycles = cost.latency_cycles
    return (cost.dynamic_pj + problem.setup.leakage_pj * cycles) * cycles


def main() -> None:
    """Print a line for each chip, device and layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=4000)
    evaluations = parser.parse_args().evaluations
    # the layers with the most words of weights and maps for each MAC
    macs = [layer for layer in network(NETWORK).layers if layer.uses_macs]
    macs.sort(key=lambda v: -(v.weights + v.input_words + v.output_words) / v.macs)
    layers = [macs[0], macs[len(macs) // 3], macs[-1]][:LAYERS]
    print(f"{'chip, device, layout, layer':66}{'told':>9}{'really':>9}{'searched':>9}{'EDP':>7}")
    for name, devices in CHIPS.items():
        plain = preset(name)
        plain = replace(plain, levels=(*plain.levels[:-1], replace(plain.levels[-1], energy=None)))
        for layer in layers:
            first = best(MappingProblem.of_layer(layer, plain), evaluations)
            for device in devices:
                for layout in ("channels_first", "channels_last"):
                    problem = MappingProblem.of_layer(layer, timed(plain, device, layout))
                    blind = mapped_cost(problem, first.mapping) if first.mapping else None
                    assert blind is not None
                    aware = best(problem, evaluations)
                    times = edp(problem, blind) / edp(problem, aware)
                    what = f"{name}, {device}, {layout}, {layer.name}"
                    cycles = [c.latency_cycles / 1e3 for c in (first, blind, aware)]
                    print(f"{what:66}" + "".join(f"{k:8.0f}k" for k in cycles) + f"{times:7.2f}")


if __name__ == "__main__":
    main()
