"""Stream beside the model: fused chains of convolutions on a core that comes with it."""

from collections.abc import Iterator, Mapping as Table
from functools import cache
from math import inf
from typing import Any, Final

from archloom.evaluators.fusion import NetworkCost
from archloom.search import MAPPING_SEARCHES
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.search.mapping import Mapper
from archloom.space.fusion import FusionGroup, FusionPlan
from archloom.space.hardware import Hardware, StorageLevel
from archloom.space.workload import INPUT, TENSORS, Builder, Network

from ..figures import Chapter, Figure
from .recorded_rows import recorded

#: MACs along filters and along channels, and KiB of the memories for weights and for maps
#: (stream/inputs/testing/hardware/cores/testing_core1.py)
SIDE: Final = 16
WEIGHTS_KIB: Final = 128
MAPS_KIB: Final = 128

#: words a cycle between them and the array, and from and to the memory off the chip (ibid., and
#: stream/inputs/examples/hardware/cores/offchip_dual_port.py: 512, 256 and 16 bits)
WEIGHT_WORDS: Final = 64
MAP_WORDS: Final = 32
OFF_CHIP_WORDS: Final = 2

EVALUATIONS: Final = 3000

EDGES: Final = "first and last"
PARTS: Final = "its parts too"
SWITCHES: Final = (EDGES, PARTS)


@cache
def core() -> Hardware:
    """Return the core: a weight in each cell, sums of each column, and a memory."""
    cells = StorageLevel("cells", "register", ("weights",), (SIDE, SIDE), 1.0, 2.0)
    # channels lie along the rows, so a column adds up
    sums = StorageLevel(
        *("sums", "register", ("outputs",), (SIDE, 1), 1.0, 4.0),
        spatial_x=(),
        spatial_y=("C",),
    )
    # weights of a fused group stay where its maps are, so one memory stands for both
    buffer = StorageLevel(
        *("buffer", "sram", TENSORS, (1, 1), (WEIGHTS_KIB + MAPS_KIB) * 1024, inf),
        read_bandwidth_words=WEIGHT_WORDS + MAP_WORDS,
        write_bandwidth_words=MAP_WORDS,
        spatial_x=("K",),
        spatial_y=(),
    )
    dram = StorageLevel("dram", "dram", TENSORS, (1, 1), None, OFF_CHIP_WORDS)
    return Hardware(
        name="testing_core1",
        technology="n16",
        frequency_mhz=1000.0,
        word_bits=8,
        pe_mesh=(1, 1),
        array=(SIDE, SIDE),
        levels=(cells, sums, buffer, dram),
        dram="lpddr4",
        vector_lanes=1,
    )


def chain(row: Table[str, Any]) -> Network:
    """Return the convolutions of a row, each reading the one before."""
    net = Builder((row["layers"][0][0], row["size"], row["size"]))
    last = INPUT
    for i, (_, filters, kernel) in enumerate(row["layers"]):
        pad = (kernel - 1) // 2
        last = net.conv(f"conv{i}", last, filters, kernel=kernel, padding=pad)
    return net.network("chain")


def fused(row: Table[str, Any]) -> NetworkCost:
    """Return the cost of the chain as one group, in as many strips as Stream has parts."""
    network = chain(row)
    mapper = Mapper(MAPPING_SEARCHES["auto"](), EVALUATIONS, seed=0)
    everything = tuple(range(len(network.layers)))
    rows = row["size"] // row["parts"]
    tile: tuple[int, int] | None = None if row["parts"] == 1 else (rows, row["size"])
    group = (
        FusionGroup(everything, resident=everything)
        if tile is None
        else FusionGroup(everything, tile, "keep_all", everything)
    )
    cost = MemoizedPlanEvaluator(network, core(), mapper).plan(FusionPlan((group,)))
    assert isinstance(cost, NetworkCost), cost
    return cost


def at_edges(row: Table[str, Any], cost: NetworkCost, parts: bool = False) -> float:
    """Return the cycles if the first part waits for its words, and the last for its results.

    Args:
        row: request and answer.
        cost: of the chain.
        parts: whether what lies between takes the cycles of Stream's parts, not those of the MACs.
    """
    rows = row["size"] // row["parts"]
    channels, filters, kernel = row["layers"][0]
    reach = min(row["size"], rows + (kernel - 1) // 2)
    first = channels * (filters * kernel**2 + reach * row["size"])
    last = row["layers"][-1][1] * rows * row["size"]
    # filters and channels are multiples of the array's side
    steps = sum(row["found"]["layer_cycles"]) if parts else cost.network.macs / SIDE**2
    return float(max(cost.latency_cycles, steps + (first + last) / OFF_CHIP_WORDS))


def stream() -> Chapter:
    """Return the cycles of each chain, and what parts save of them."""
    found = recorded("stream", "Stream", "stream-dse")
    costs = [fused(row) for row in found.rows]
    figures = list[Figure]()
    whole = (found.rows[0], costs[0])
    for row, cost in zip(found.rows, costs, strict=True):
        whole = (row, cost) if row["parts"] == 1 else whole
        figures += _figures((row, cost), whole, found.source)
    return Chapter("Stream", TEXT, tuple(figures), switches=SWITCHES)


def _figures(
    one: tuple[Table[str, Any], NetworkCost],
    whole: tuple[Table[str, Any], NetworkCost],
    source: str,
) -> Iterator[Figure]:
    """Yield the cycles of a chain, and their ratio to those of whole layers."""
    (row, cost), found = one, one[0]["found"]
    edges, steps = at_edges(row, cost), sum(found["layer_cycles"])
    whole_parts = at_edges(row, cost, parts=True)
    parts = "whole layers" if row["parts"] == 1 else f"{row['parts']} parts"
    yield Figure(
        f"{row['name']}, {parts}, cycles",
        cost.latency_cycles,
        found["latency_cycles"],
        source,
        (0.5, 1.05),
        f"{steps:,} of Stream's cycles are those of its parts, each with the transfers of its "
        f"operands between memories; in the model these overlap with compute",
        {EDGES: edges, PARTS: whole_parts},
    )
    if row["parts"] > 1:
        ours, theirs = whole[1].latency_cycles, whole[0]["found"]["latency_cycles"]
        yield Figure(
            f"{row['name']}, {parts} over whole layers, cycles",
            cost.latency_cycles / ours,
            found["latency_cycles"] / theirs,
            source,
            (0.8, 1.25),
            "what finer parts save of the first load and the last store, and take elsewhere",
            {
                EDGES: edges / at_edges(*whole),
                PARTS: whole_parts / at_edges(*whole, parts=True),
            },
        )


TEXT: Final = f"""
Stream (Symons et al., arXiv:2212.10612) schedules parts of layers on cores. It ran three chains of
convolutions on the single core that comes with it for tests, whose maps and weights fit on chip: as
whole layers, and in 7 and 14 strips of rows, which it interleaves. The model has the same array of
{SIDE} x {SIDE} MACs, ports and off-chip link of {OFF_CHIP_WORDS} words a cycle, and runs the chain
as one fused group, whole or with as many tiles. Assumption: one buffer of {WEIGHTS_KIB + MAPS_KIB}
KiB stands for the core's memories. Mappings are the best of {EVALUATIONS:,} that the search
evaluates; ZigZag finds Stream's. Nothing was fitted. Energy is not compared, because it depends on
each tool's mappings.

Columns are ratios. *{EDGES}*: the ratio if the first part waits for its inputs and weights, and the
end for the last part's results, as in Stream. *{PARTS}*: with the cycles of Stream's parts between,
which have transfers from memory to memory; what is left are waits between parts.

Not compared are the chips in Stream's paper (DepFiN, a 4 x 4 array of analog cores, DIANA): release
0.0.8 has no files for them, and their measured figures were not at hand. Allocation to several
cores is a genetic search there, and was left out.
"""
