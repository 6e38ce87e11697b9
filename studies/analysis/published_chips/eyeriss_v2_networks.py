"""Eyeriss v2 on sparse and dense networks: zeros skipped, and what their places cost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Final

from archloom.evaluators import access_costs
from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost, padded_bounds
from archloom.search import derived_seed
from archloom.search.mapping.simd import LocalMapping
from archloom.space.design_space import preset
from archloom.space.hardware import Hardware
from archloom.space.networks import network
from archloom.space.workload import INPUT, Builder, C, G, K, Layer, Network, R, S

from .chip_files import own_chips, read_chip
from .figures import Chapter, Figure
from .random_zeros import counted, in_vectors, mean, mean_of_largest, mixed, summed

JETCAS: Final = "Chen et al., JETCAS 9(2), 2019"
TABLE: Final = f"{JETCAS}, table VI, quoted from memory; agrees with a ratio in the text"
REMEMBERED: Final = f"{JETCAS}, table VI, quoted from memory"
ARTEFACT: Final = "Sparseloop (Wu et al., MICRO 2022), artefact, figure 12"
EVALUATIONS: Final = 32_000

#: cycles until a PE's first product comes out after it has waited: seven stages (JETCAS 2019,
#: section IV, quoted from memory)
REFILL: Final = 6

Density = tuple[float, float]

#: products without a zero in each layer of the pruned MobileNet, which are the cycles that one PE
#: with one MAC needs (artefact of Sparseloop: fig12_eyerissv2_pe_setup, ground_truth_cycles.yaml)
PRODUCTS: Final = (
    *(1769472, 544768, 461302, 278528, 873643, 513024, 1702140, 145920, 1499682, 270848),
    *(2491491, 73728, 1144158, 147456, 2238663, 147456, 2173758, 124096, 1457458, 147456),
    *(1677684, 147456, 1821557, 36864, 948572, 73728, 775316, 95443),
)

#: shares of weights and of inputs that are not zero, by layer (ibid., workload/uniform)
DENSITY: Final[dict[int, Density]] = {
    7: (0.52, 0.73),
    9: (0.82, 0.86),
    13: (0.64, 0.83),
    19: (0.55, 0.61),
    21: (0.60, 0.64),
    23: (0.70, 0.61),
    25: (0.65, 0.68),
    27: (0.30, 0.58),
}

#: weights that are left in AlexNet, and values that are not zero at the inputs of its last three
#: layers (Han et al., NeurIPS 2015, table 4)
ALEXNET_WEIGHTS: Final = (0.84, 0.38, 0.35, 0.37, 0.37, 0.09, 0.09, 0.25)
ALEXNET_LAST_INPUTS: Final = (0.34, 0.36, 0.40)


def half_mobilenet() -> Network:
    """MobileNetV1 half as wide, for 128x128 images: 49.2 M products (JETCAS 2019, table VI)."""
    net = Builder((3, 128, 128))
    x = net.conv("L01", INPUT, 16, kernel=3, stride=2, activation="relu")
    channels = (32, 64, 64, 128, 128, *(256,) * 6, 512, 512)
    strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
    for block, (wide, stride) in enumerate(zip(channels, strides, strict=True), start=1):
        x = net.depthwise(f"L{2 * block:02}", x, stride=stride, activation="relu")
        x = net.conv(f"L{2 * block + 1:02}", x, wide, activation="relu")
    net.gemm("L28", net.global_avgpool("pool", x), 1000)
    return net.network("mobilenetv1_half_128")


def mobilenet_layers(dense: bool) -> list[Layer]:
    """Return its layers with the shares of what is not zero.

    Of the layers whose two shares are not recorded the product is; it is shared out evenly. The
    chip finds no zeros to skip in depthwise layers (JETCAS 2019, section V-A), so they have none.
    """
    layers = [layer for layer in half_mobilenet().layers if layer.uses_macs]
    if dense:
        return layers
    found = []
    for number, (layer, products) in enumerate(zip(layers, PRODUCTS, strict=True), start=1):
        even = sqrt(products / layer.macs)
        density = (1.0, 1.0) if layer.depthwise else DENSITY.get(number, (even, even))
        found.append(replace(layer, density=density))
    return found


def alexnet_layers(pruned: bool) -> list[Layer]:
    """Return the layers of AlexNet with the shares of what is not zero."""
    layers = [layer for layer in network("alexnet_original").layers if layer.uses_macs]
    first = read_chip(own_chips()["eyeriss_alexnet"]).layers
    inputs = (*(row.density[1] for row in first if not row.explains), *ALEXNET_LAST_INPUTS)
    weights = ALEXNET_WEIGHTS if pruned else (1.0,) * len(layers)
    return [
        replace(layer, density=(w, i)) for layer, w, i in zip(layers, weights, inputs, strict=True)
    ]


@dataclass(frozen=True)
class Inference:
    """An inference layer by layer, and how long PEs wait where zeros are at random places.

    Energy is that of the chip, without DRAM: with wires of the array that are free, and with those
    of a mesh. All times but two are with a DRAM that never makes the chip wait; the second of them
    has transfers before or after products, never beside them.
    """

    joules: float
    joules_on_a_mesh: float
    seconds_with_dram: float
    seconds_in_turn: float
    seconds: float
    seconds_in_pairs: float
    seconds_per_weights: float
    seconds_per_window: float
    seconds_refilled: float


def inference(layers: list[Layer], hardware: Hardware) -> Inference:
    """Map every layer and add up."""
    cycles, pj = [0.0] * 7, [0.0, 0.0]
    mesh = replace(hardware, effects=replace(hardware.effects, network="mesh"))
    for layer in layers:
        problem, cost = best_cost(layer, hardware)
        assert cost.mapping is not None
        wired = mapped_cost(replace(problem, hardware=mesh), cost.mapping)
        for i, found in enumerate((cost, wired)):
            pj[i] += float(found.energy_pj[:-1].sum()) + found.compute_pj
        in_turn = cost.chip_cycles + cost.dram_cycles
        least = (cost.latency_cycles, in_turn, *(cost.chip_cycles,) * 5)
        waits = (0.0, 0.0, 0.0, *waiting_cycles(layer, cost))
        cycles = [c + max(a, b) for c, a, b in zip(cycles, least, waits, strict=True)]
    idle_pj = access_costs(hardware).leakage_pj_per_cycle * cycles[2]
    seconds = (c / (hardware.frequency_mhz * 1e6) for c in cycles)
    return Inference(*((e + idle_pj) * 1e-12 for e in pj), *seconds)


def best_cost(layer: Layer, hardware: Hardware) -> tuple[MappingProblem, LayerCost]:
    """Return the fastest mapping that annealing finds, with exact and with padded bounds."""
    exact = replace(MappingProblem.of_layer(layer, hardware), weights=(0.2, 1.0))
    found = []
    for bounds in {exact.bounds: 0, padded_bounds(exact): 1}:
        problem = replace(exact, loop_bounds=None if bounds == exact.bounds else bounds)
        search = LocalMapping()
        state = search.start(problem, derived_seed(0, 0, problem.key))
        mapping = search.best(problem, search.advance(problem, state, EVALUATIONS)).mapping
        assert mapping is not None
        found.append((problem, mapped_cost(problem, mapping)))
    return min(found, key=lambda run: run[1].latency_cycles)


def waiting_cycles(layer: Layer, cost: LayerCost) -> tuple[float, float, float, float]:
    """Cycles with pairs of weights that are not always full, and with PEs that wait.

    Zeros are independent. PEs wait for the last one never; when their weights change; for each
    window of inputs; and for each window with pipelines that fill anew. PEs that share weights or
    inputs are taken as independent too, which makes them wait too long.
    """
    assert cost.mapping is not None
    spad, glb = cost.mapping.levels[0], cost.mapping.levels[1]
    weights, inputs = layer.density
    pair, children = spad.spatial_x[K], prod(glb.spatial_x) * prod(glb.spatial_y)
    column = in_vectors(counted(spad.temporal[K] * pair, weights), pair)
    of_input = mixed(inputs, column)
    window = prod(spad.temporal) // spad.temporal[K]
    again = 1
    for d in glb.order:
        if d in (G, K, C, R, S) and glb.temporal[d] > 1:
            break
        again *= glb.temporal[d]
    steps = prod(prod(level.temporal) for level in cost.mapping.levels[1:])
    alone = mean(of_input) * window * steps
    held = mean_of_largest(summed(of_input, window * again), children) * steps / again
    each = mean_of_largest(summed(of_input, window), children) * steps
    return alone, held, each, each + REFILL * steps


def eyeriss_v2() -> Chapter:
    """Return cycles of a PE, throughput and efficiency beside the chip's."""
    chip = preset("eyeriss_v2")
    return Chapter("Eyeriss v2 on MobileNet and AlexNet", TEXT, (*_of_one_pe(), *_networks(chip)))


def _of_one_pe() -> Iterator[Figure]:
    layers = mobilenet_layers(dense=False)
    for number, (weights, inputs) in DENSITY.items():
        layer = layers[number - 1]
        yield Figure(
            f"{layer.name}, cycles of one PE",
            pe_cycles(layer),
            PRODUCTS[number - 1],
            ARTEFACT,
            (0.9, 1.1),
            f"zeros spread evenly: {weights:g} of the weights and {inputs:g} of the inputs are left"
            + ("; with their true places Sparseloop's model has 1,702,141" if number == 7 else ""),
        )


def pe_cycles(layer: Layer) -> float:
    """Cycles of a layer on one PE with one MAC, which is where the recorded cycles are from."""
    chip = preset("eyeriss_v2")
    levels = tuple(replace(level, mesh=(1, 1)) for level in chip.levels)
    one = replace(chip, pe_mesh=(1, 1), array=(1, 1), levels=levels)
    return best_cost(layer, one)[1].latency_cycles


def _networks(chip: Hardware) -> Iterator[Figure]:
    computed = replace(
        chip, effects=replace(chip.effects, weight_zeros="computed", input_zeros="computed")
    )
    sparse = inference(mobilenet_layers(dense=False), chip)
    yield from _throughputs("sparse MobileNet", sparse, 1470.6, f"{JETCAS}, abstract")
    yield from _efficiencies("sparse MobileNet", sparse, 2560.3, f"{JETCAS}, abstract")
    yield Figure(
        "sparse MobileNet, time at 25.6 GB/s over that with a DRAM without limit",
        sparse.seconds_with_dram / sparse.seconds,
        1 / 0.76,
        f"{JETCAS}, section V-B: 24% less throughput",
        None,
        "transfers overlap with compute in the model; on the chip they come in bursts",
        {"transfers in turn": sparse.seconds_in_turn / sparse.seconds},
    )
    dense = inference(mobilenet_layers(dense=True), computed)
    yield Figure(
        "MobileNet, inferences/s, zeros computed",
        1 / dense.seconds,
        1282.1,
        TABLE,
        None,
        "the chip skips zeros of inputs; the paper does not give their number",
    )
    plain = inference(alexnet_layers(pruned=False), chip)
    yield from _throughputs("AlexNet", plain, 102.1, TABLE)
    yield from _efficiencies("AlexNet", plain, 174.8, REMEMBERED)
    pruned = inference(alexnet_layers(pruned=True), chip)
    yield from _throughputs("sparse AlexNet", pruned, 278.7, TABLE)
    yield from _efficiencies("sparse AlexNet", pruned, 664.6, TABLE)


def _throughputs(name: str, ours: Inference, theirs: float, source: str) -> Iterator[Figure]:
    rows: tuple[tuple[str, Callable[[Inference], float], str], ...] = (
        ("", lambda i: i.seconds, "the model spreads zeros evenly, and no PE waits for another"),
        (
            ", pairs in part",
            lambda i: i.seconds_in_pairs,
            "additionally, odd numbers of weights leave a MAC idle",
        ),
        (
            ", PEs wait for weights",
            lambda i: i.seconds_per_weights,
            "additionally, all PEs wait for the slowest one when weights change",
        ),
        (
            ", PEs wait for windows",
            lambda i: i.seconds_per_window,
            "PEs wait for the slowest one for each window of inputs: more than the chip waits",
        ),
        (
            ", pipelines refilled",
            lambda i: i.seconds_refilled,
            "additionally, the pipelines of the PEs fill anew for each window: an upper bound",
        ),
    )
    # the first row with each assumption of the others
    switched = {what.removeprefix(", "): 1 / seconds(ours) for what, seconds, _ in rows[1:]}
    for what, seconds, reason in rows:
        rate, others = 1 / seconds(ours), {} if what else switched
        of, effect = f"{name}, inferences/s", f"{name}, inferences/s" if what else ""
        yield Figure(f"{of}{what}", rate, theirs, source, None, reason, others, effect)


def _efficiencies(name: str, ours: Inference, theirs: float, source: str) -> Iterator[Figure]:
    missing = "clock tree, control of the PEs and decoding of zeros are not modelled"
    mesh = ours.joules_on_a_mesh
    wires = "inputs and sums cross the mesh uncompressed in the model, compressed on the chip"
    for what, joules, reason in (
        ("", ours.joules, f"{missing}, and wires cost no energy"),
        (", on a mesh", ours.joules_on_a_mesh, f"{missing}; {wires}"),
    ):
        of, others = f"{name}, inferences/J without DRAM", {} if what else {"on a mesh": 1 / mesh}
        effect = of if what else ""
        yield Figure(f"{of}{what}", 1 / joules, theirs, source, None, reason, others, effect)


TEXT: Final = f"""
The preset `eyeriss_v2` runs one image of MobileNet (half as wide, 128x128) and of AlexNet. Weights
and inputs that are zero are `skipped`, and weights are compressed (`run_length`). The mapping of
each layer is the best of 2 x {EVALUATIONS:,} that the annealing search evaluates, because the paper
does not give the chip's mappings. Energies are those of the first Eyeriss (`eyeriss_65nm`), which
were not fitted to this chip.

Sparseloop's artefact records the cycles of one PE and the fractions of nonzero values for eight
layers, and the number of products without a zero operand for all 28. If only that number is known,
the zeros are assumed to be divided evenly between weights and inputs. AlexNet's zeros are from
table V of the first Eyeriss; for the inputs of the last three layers and for the remaining weights
they are from Han et al. (NeurIPS 2015, table 4). The chip ran another pruned AlexNet (Yang et al.,
CVPR 2017), whose fractions were not found. Of the figures of table VI, only the two that are also
in the abstract were checked against the paper. The others are quoted from memory: 278.7 and 664.6
agree with their ratios to those two in the text (5.3 and 3.9), 1282.1 and 102.1 agree with their
ratio to each other (12.6), and 174.8 is not confirmed by any ratio.

The cycles of one PE follow from the fractions, and are 1 to 7% low, because zeros cluster. For the
whole chip the model is 1.1 to 2 times too fast. The rows of a network after its first one remove
one assumption after the other, with independent random zeros:

- *pairs in part*: pairs of weights are not always full.
- *PEs wait for weights*: additionally, all PEs wait for the slowest one when weights change.
- *PEs wait for windows*: PEs wait for the slowest one for each window of inputs, which is more than
  the chip waits.
- *pipelines refilled*: additionally, the {REFILL + 1} stages of a PE's pipeline fill anew for each
  window. The number of stages is quoted from memory; one more or less changes these ratios by 2 to
  4%.

So evenly spread zeros and balanced PEs explain at most two thirds of the difference for MobileNet
and AlexNet, and all of it for sparse AlexNet. With pipelines that fill anew MobileNet and AlexNet
are within 7%; sparse AlexNet is then too slow, for in reality not all PEs wait for each window. The
paper names further causes: depthwise layers on which the chip is slower than its dense counterpart,
and, in AlexNet, classifiers whose weights reach the PEs too slowly. With a DRAM of 25.6 GB/s the
chip loses more than the model, whose transfers overlap with compute; if they never overlap, the
ratio is 0.99. Whether wires cost energy changes the energy by a factor of three or more.
"""
