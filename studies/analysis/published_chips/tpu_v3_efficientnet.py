"""TPU-v3 on EfficientNet-B7: peak, ridge point, utilisation and the share of depthwise layers."""

from collections import Counter
from typing import Final

from archloom.evaluators.loopnest import MappingProblem, vector_cost
from archloom.search import derived_seed
from archloom.search.mapping.simd import LocalMapping
from archloom.space.design_space import preset
from archloom.space.hardware import Hardware
from archloom.space.networks import network
from archloom.space.workload import Layer, Network

from .figures import Chapter, Figure

FAST: Final = "Zhang et al., ASPLOS 2022"
EVALUATIONS: Final = 64_000


def cycles_by_kind(net: Network, hardware: Hardware) -> Counter[str]:
    """Cycles of one pass, layer by layer: of depthwise, other and vector layers."""
    seen: dict[str, float] = {}
    total: Counter[str] = Counter()
    for layer in net.layers:
        if layer.uses_macs:
            total[_kind(layer)] += round(_cycles(layer, hardware, seen))
        else:
            cost = vector_cost(layer, hardware, layer.p, layer.q, staged=False)
            total["vector"] += cost.latency_cycles
    return total


def _kind(layer: Layer) -> str:
    return "depthwise" if layer.depthwise else "other"


def _cycles(layer: Layer, hardware: Hardware, seen: dict[str, float]) -> float:
    problem = MappingProblem.of_layer(layer, hardware)
    if problem.key not in seen:
        search = LocalMapping()
        state = search.start(problem, derived_seed(0, 0, problem.key))
        state = search.advance(problem, state, EVALUATIONS)
        seen[problem.key] = search.best(problem, state).latency_cycles
    return seen[problem.key]


def tpu_v3() -> Chapter:
    """Return the figures of TPU-v3."""
    hardware = preset("tpu_v3")
    net = network("efficientnet_b7").with_batch(hardware.native_batch)
    cycles = cycles_by_kind(net, hardware)
    macs = Counter[str]()
    for layer in net.layers:
        macs[_kind(layer)] += layer.macs
    figures = (*_limits(hardware), *_shares(cycles, macs), *_utilisation(cycles, macs, hardware))
    return Chapter("TPU-v3 on EfficientNet-B7", TEXT, figures)


def _limits(hardware: Hardware) -> tuple[Figure, ...]:
    peak = 2e-6 * hardware.macs * hardware.frequency_mhz
    ridge = peak * 1e3 / hardware.dram_gbytes_per_s
    close, rounded = (0.99, 1.01), "the paper rounds this figure"
    return (
        Figure("peak, TFLOP/s", peak, 123, f"{FAST}, table 4", close, rounded),
        Figure("ridge, FLOP/byte", ridge, 137, f"{FAST}, section 3.3.1", close, rounded),
    )


def _shares(cycles: Counter[str], macs: Counter[str]) -> tuple[Figure, ...]:
    return (
        Figure(
            "depthwise share of FLOPs, %",
            100 * macs["depthwise"] / macs.total(),
            5.0,
            f"{FAST}, table 2",
            (0.95, 1.05),
            "the paper counts other operations too",
        ),
        Figure(
            "depthwise share of time, %",
            100 * cycles["depthwise"] / (cycles["depthwise"] + cycles["other"]),
            65.3,
            f"{FAST}, table 2",
            None,
            "follows from the two utilisations below",
        ),
    )


def _utilisation(
    cycles: Counter[str], macs: Counter[str], hardware: Hardware
) -> tuple[Figure, ...]:
    def percent(*kinds: str) -> float:
        return 100 * sum(macs[k] for k in kinds) / (sum(cycles[k] for k in kinds) * hardware.macs)

    return (
        Figure(
            "utilisation, %",
            percent("depthwise", "other"),
            14.8,
            f"{FAST}, section 3.3.2",
            None,
            "mostly due to depthwise layers; layers of the vector unit are left out, because the "
            "paper's compiler fuses them into others (0.5% of its time)",
        ),
        Figure(
            "utilisation of depthwise layers, %",
            percent("depthwise"),
            14.8 * 5.0 / 65.3,
            "from the figures above",
            None,
            "one row of the array for each channel gives 1/128 = 0.78% at best; how the paper's "
            "compiler reaches more is not published",
        ),
        Figure(
            "utilisation of other convolutions, %",
            percent("other"),
            14.8 * 94.67 / 34.2,
            f"from the figures above and {FAST}, table 2",
            None,
            "in the model all transfers overlap with compute; fill and drain of the array are off",
        ),
    )


TEXT: Final = f"""
The preset `tpu_v3` runs EfficientNet-B7 with 128 images in a pass (FAST, table 4: 2 x 64), layer by
layer. The mapping of each distinct layer is the best of {EVALUATIONS:,} that the annealing search
evaluates. Utilisation is the number of MACs divided by cycles times the number of MAC units of the
chip.
"""
