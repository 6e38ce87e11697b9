"""What softmaxes and norms in two passes over tiles could bring, for whole networks.

    python benchmarks/fusion/two_passes.py [--networks vit_b_16 ...] [--presets simba ...]
        [--plans 60] [--json NEW.json]

Archloom has no such passes (docs/explanation/two_passes.md). For each network and preset three
plans of the joint planner are compared: that of the network as it is, one in which softmaxes cost
no more than their second pass, value by value in any loops, and one in which norms do. To the
latter two the least that a first pass costs is added, as if its time overlapped with no transfers.
Columns are EDPs over that of today, with the second pass alone and with both.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

from archloom.evaluators.bounds import least_costs
from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.presets import preset
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.hardware.hardware import Hardware, pass_batch
from archloom.space.networks.registry import network
from archloom.space.workload.dims import INPUTS, OUTPUTS
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import elementwise
from archloom.space.workload.network import Network

NETWORKS: Final = ("vit_b_16", "bert_base", "whisper_base_encoder")
PRESETS: Final = ("eyeriss", "simba", "edgetpu", "fast_small")

#: whose least numbers of keys are printed: those with a buffer in which groups run
PRICED: Final = (*PRESETS, "shidiannao", "fast_large", "tpu_v3")

#: operators that cost no more than what two passes leave of each, value by value: of a softmax
#: maximum, subtraction, exponential and sum (11 operations, a word read and a word written), of a
#: norm scale and shift (2 operations)
SECOND: Final[dict[str, Any]] = {
    "softmax": "elu",
    "layer_norm": "scale_shift",
    "rms_norm": "scale_shift",
}

#: operations of a norm's first pass for each value, and those that a scale and shift lacks
STATISTICS: Final = {"layer_norm": 6 + 2, "rms_norm": 2}

Costs = tuple[float, float]
Row = dict[str, Any]


class Prices(NamedTuple):
    """Energies (pJ) of a word read from the shared buffer and written there as a partial sum, of a
    word read there as an input, of a vector operation, and of a multiply-accumulate."""

    read: float
    write: float
    read_input: float
    operation: float
    mac: float


def prices_of(hardware: Hardware) -> Prices:
    """Return prices of a hardware with a shared buffer, for accesses that are full."""
    costs, width = access_costs(hardware), hardware.levels[-2].width_words
    read, write = (float(of[-2, OUTPUTS]) / width for of in (costs.read_pj, costs.write_pj))
    of_input = float(costs.read_pj[-2, INPUTS]) / width
    return Prices(read, write, of_input, float(costs.vector_op_pj), float(costs.mac_pj))


def least_keys(prices: Prices, features: int, values: int) -> float:
    """Return the keys of a tile from which on two passes take more energy than a running softmax in
    the same nest; infinite where a score costs less than the words that its softmax spares.

    Args:
        prices: of the hardware.
        features: that a score is a product of.
        values: words of a row of the result.
    """
    # rescaling of a row: docs/explanation/loop_nests.md, "Softmax"
    moved = (values + 2) * (prices.read + prices.write)
    rescaled = moved + (values + 28) * prices.operation
    again = features * prices.mac - prices.read_input - prices.operation
    return rescaled / again if again > 0 else float("inf")


def by_value(net: Network, operators: tuple[str, ...]) -> Network:
    """Return a network whose softmaxes or norms are what their second pass leaves of them."""
    return replace(net, layers=tuple(_second(layer, operators) for layer in net.layers))


def _second(layer: Layer, operators: tuple[str, ...]) -> Layer:
    if layer.operator not in operators:
        return layer
    channels, size = layer.g * layer.k, (layer.p, layer.q)
    return replace(elementwise(SECOND[layer.operator], layer.name, channels, size), n=layer.n)


def scores_again(net: Network, hardware: Hardware) -> Costs:
    """Return energy (pJ, without leakage) and cycles that the scores of all softmaxes cost at least
    if they are made once more, with operands in the buffer, and read once more."""
    read_pj, energy_pj, cycles = prices_of(hardware).read_input, 0.0, 0.0
    cores = fusion_cores(hardware)
    assert isinstance(cores, Cores), "groups can be fused"
    held = ("weights" in hardware.levels[-2].keeps, True, True)
    for before, layer in zip(net.layers, net.layers[1:], strict=False):
        if layer.operator != "softmax":
            continue
        assert before.multiplies_maps, "a softmax of scores"
        bounds = (1, before.n * before.g, before.k, before.c, before.p, before.q, 1, 1)
        size = (before.p, before.q)
        where = (bounds, (1, 1), (1, 1), (0, 0), size, cores.one)
        least_pj, least_cycles = least_costs(MappingProblem(*where, staged=held))
        energy_pj += least_pj + before.output_words * read_pj
        # at best all cores work on them all the time
        cycles += least_cycles / cores.count
    return energy_pj, cycles


def statistics(net: Network, hardware: Hardware) -> Costs:
    """Return energy (pJ, without leakage) and cycles of the first pass of all norms at least."""
    prices, energy_pj, cycles = prices_of(hardware), 0.0, 0.0
    for layer in net.layers:
        operations = STATISTICS.get(layer.operator, 0)
        if operations:
            each_pj = prices.read_input + operations * prices.operation
            energy_pj += layer.output_words * each_pj
            cycles += layer.output_words * operations / hardware.vector_lanes
    return energy_pj, cycles


WAYS: Final[dict[str, tuple[tuple[str, ...], Callable[[Network, Hardware], Costs]]]] = {
    "softmax": (("softmax",), scores_again),
    "norms": (("layer_norm", "rms_norm"), statistics),
}


def planned(net: Network, hardware: Hardware, plans: int) -> Costs:
    """Return energy (pJ) and cycles of a pass of the joint planner's best plan."""
    task = SoftwareTask(hardware, (net,), SoftwareSettings(), 0)
    found = advance(task, None, plans).networks[net.name]
    return found.energy_pj, float(found.latency_cycles)


def compare(net: Network, hardware: Hardware, plans: int) -> Row:
    """Return what two passes cost at least, over what one costs."""
    whole = net.with_batch(pass_batch(net, hardware))
    energy_pj, cycles = planned(net, hardware, plans)
    row: Row = {"network": net.name, "preset": hardware.name, "edp_pj_cycles": energy_pj * cycles}
    leakage_pj = access_costs(hardware).leakage_pj_per_cycle
    for way, (operators, first) in WAYS.items():
        second_pj, second_cycles = planned(by_value(net, operators), hardware, plans)
        first_pj, first_cycles = first(whole, hardware)
        both = second_cycles + first_cycles
        both_pj = second_pj + first_pj + leakage_pj * first_cycles
        row[f"{way}_second"] = second_pj * second_cycles / (energy_pj * cycles)
        row[way] = both_pj * both / (energy_pj * cycles)
    return row


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table of networks, in Markdown, as rows come."""
    names = (
        "network",
        "preset",
        *(f"{way}, {part}" for way in WAYS for part in ("second", "both")),
    )
    yield "| " + " | ".join(names) + " |"
    yield "|---" * 6 + "|"
    for row in rows:
        figures = (row[f"{way}{part}"] for way in WAYS for part in ("_second", ""))
        yield (
            f"| {row['network']} | {row['preset']} | "
            + " | ".join(f"{x:.3f}" for x in figures)
            + " |"
        )


def main() -> None:
    """Measure, and print what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--presets", nargs="+", default=list(PRESETS))
    parser.add_argument("--plans", type=int, default=60)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    print("| preset | keys, 64 features | keys, 128 features |\n|---|---|---|")
    for design in PRICED:
        prices = prices_of(preset(design))
        keys = (least_keys(prices, size, size) for size in (64, 128))
        print(f"| {design} | " + " | ".join(f"{number:.1f}" for number in keys) + " |")
    cases = product(asked.networks, asked.presets)
    rows: list[Row] = []

    def measured() -> Iterator[Row]:
        for name, design in cases:
            rows.append(compare(network(name), preset(design), asked.plans))
            yield rows[-1]

    print()
    for line in table(measured()):
        print(line, flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
