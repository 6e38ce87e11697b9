"""Random designs, networks and plans for bounds: whatever the evaluator accepts, and its cost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from archloom.evaluators.bounds.compulsory import energy_bound_pj, latency_bound_cycles
from archloom.evaluators.bounds.layer import layer_bound
from archloom.evaluators.bounds.network.plans import any_plan_bound, layer_by_layer_bound
from archloom.evaluators.fusion import GroupCost, NetworkCost, group_cost, network_cost
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.folding import computations, fold
from archloom.space.fusion.plan import FusionGroup, FusionPlan, layer_by_layer, plan_violations
from archloom.space.fusion.residency import ALONE
from archloom.space.fusion.running_order import group_order
from archloom.space.fusion.sub_batches import divisors
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network as known_network
from archloom.space.workload.network import Network

from .bound_cases import random_hardware
from .designs import edge, eyeriss_like, several, tpu_like
from .drawn_networks import drawn_network
from .foldable import random_foldable
from .groups import random_group
from .mappers import BufferMapper
from .pinned_plans import random_plan
from .random_nests import masked_case, random_case
from .random_plans import RandomMapper

#: kinds of plans, in turns
KINDS: Final = ("layer by layer", "tiles", "pins", "nest", "sub-batches", "folded")
PRESETS: Final = ("eyeriss", "edgetpu", "shidiannao", "simba", "tpu_v3", "fast_small")
SPACES: Final = ("casco_edge", "fast", "serving")
CATALOGUE: Final = ("tiny_cnn", "tiny_mlp", "tiny_mobile")
#: searched mappings come near to bounds: evaluations of each
EVALUATIONS: Final = 300

Map = Callable[[MappingProblem], LayerCost | Infeasible]


@dataclass(frozen=True)
class Triple:
    """A plan of a network on a design, and what it costs.

    Attributes:
        kind: of the plan, one of :data:`KINDS`.
        hardware, network, plan: what runs on what, and how.
        cost: of it with some mappings.
    """

    kind: str
    hardware: Hardware
    network: Network
    plan: FusionPlan
    cost: NetworkCost


def drawn_triple(seed: int) -> Triple | None:
    """Return a random triple, its kind by turns; None if the evaluator refuses it."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    network, plan = _planned(rng, kind)
    hardware = drawn_design(rng)
    if plan is None or plan_violations(network, plan):
        return None
    mapper = _mapper(rng, seed)
    cost = network_cost(
        network,
        plan,
        hardware,
        lambda group, residents: group_cost(network, group, hardware, mapper, residents),
    )
    return None if isinstance(cost, Infeasible) else Triple(kind, hardware, network, plan, cost)


def features(triple: Triple) -> Iterator[str]:
    """Yield what a triple has that plans of its kind need not have."""
    groups, hardware = triple.plan.groups, triple.hardware
    alone = {group.layers[0] for group in groups if len(group.layers) == 1}
    for name, there in {
        "tiles": any(group.tile or group.faces for group in groups),
        "resident weights": any(group.resident for group in groups),
        "pinned maps": any(group.pins for group in groups),
        "steady weights": any(group.steady for group in groups),
        "weights that are loaded once": any(group.loaded_once for group in groups),
        "several cores": any(group.cores > 1 for group in triple.cost.groups),
        "layers by themselves": bool(alone),
        "zeros that are gated or skipped": _spares(hardware.effects),
        "packed weights": hardware.effects.weight_format != "dense",
        "a buffer that may be bypassed": hardware.levels[-2].optional,
        "a buffer without weights": "weights" not in hardware.levels[-2].keeps,
    }.items():
        if there:
            yield name


def held_against(cost: NetworkCost) -> Iterator[tuple[str, float, float]]:
    """Yield what is bounded, the bound and the cost, for each bound that claims to hold."""
    network, hardware = cost.network, cost.hardware
    steady = any(group.group.steady for group in cost.groups)
    yield "compulsory, energy_pj", energy_bound_pj(network, hardware, steady), cost.energy_pj
    cycles = latency_bound_cycles(network, hardware, steady)
    yield "compulsory, latency_cycles", cycles, cost.latency_cycles
    bounds = {"any plan": any_plan_bound(network, hardware, steady)}
    if all(map(_by_itself, cost.groups)):
        bounds["layer by layer"] = layer_by_layer_bound(network, hardware)
        yield from _layers(cost)
    for name, bound in bounds.items():
        for figure in ("energy_pj", "latency_cycles", "dram_bytes", "edp_js"):
            yield f"{name}, {figure}", getattr(bound, figure), getattr(cost, figure)


def _spares(effects: Effects) -> bool:
    return {effects.weight_zeros, effects.input_zeros} != {"computed"}


def _by_itself(group: GroupCost) -> bool:
    """Whether a layer runs by itself, all of its operands in DRAM."""
    plain = FusionGroup(group.group.layers, sub_batches=group.group.sub_batches)
    return len(group.group.layers) == 1 and group.group == plain and group.residents == ALONE


def _layers(cost: NetworkCost) -> Iterator[tuple[str, float, float]]:
    for group in cost.groups:
        ((times, found),) = group.layers[0].evaluations
        layer, hardware = cost.running.layers[group.group.layers[0]], cost.hardware
        bound, bits = layer_bound(layer, hardware), hardware.word_bits
        words = found.dram_reads + found.dram_writes
        assert times == cost.plan.sub_batches
        yield "layer, energy", bound.dynamic_pj, found.dynamic_pj
        yield "layer, latency", bound.latency_cycles, found.latency_cycles
        yield "layer, dram_bytes", bound.dram_bytes, words * bits / 8


def drawn_design(rng: np.random.Generator) -> Hardware:
    """Return a preset, a point of a built-in space, a small design or a random one.

    Buffers of half of them may be bypassed or not, at random; some gate or skip zeros, or pack
    weights; energies of some are so small that rounding takes a good part of them.
    """
    draw = float(rng.random())
    if draw < 0.15:
        hardware = preset(str(rng.choice(PRESETS)))
    elif draw < 0.4:
        hardware = _of_space(rng)
    elif draw < 0.7:
        hardware = _small(rng)
    else:
        hardware = random_hardware(rng)
    if rng.random() < 0.2:
        hardware = _scaled(hardware, float(10.0 ** rng.uniform(-4, 0)))
    if rng.random() < 0.5:
        hardware = _changed(hardware, rng)
    return hardware


def _of_space(rng: np.random.Generator) -> Hardware:
    space = _space(str(rng.choice(SPACES)))
    while True:
        found = space.build(space.sample(rng))
        if isinstance(found, Hardware):
            return found


@cache
def _space(name: str) -> HardwareSpace:
    return HardwareSpace.load(name)


def _small(rng: np.random.Generator) -> Hardware:
    draw = int(rng.integers(6))
    if draw == 0:
        return tpu_like()
    if draw == 1:
        return eyeriss_like()
    if draw == 2:
        mesh = (int(rng.integers(1, 3)) * 2, int(rng.integers(1, 3)) * 2)
        return several(mesh, 1 << int(rng.integers(10, 21)))
    channels = int(rng.choice([1, 16, 64]))
    return edge(1 << int(rng.integers(9, 21)), int(rng.choice([8, 16])), channels)


def _scaled(hardware: Hardware, factor: float) -> Hardware:
    """Give all levels and MACs energies of their own, ``factor`` of usual ones."""
    usual = [1.0, *(6.0 for _ in hardware.levels[2:]), 200.0]
    levels = tuple(
        replace(level, energy=AccessEnergy(pj * factor, 1.3 * pj * factor, 1.1 * pj * factor))
        for level, pj in zip(hardware.levels, usual, strict=True)
    )
    return replace(hardware, levels=levels, mac_pj=0.7 * factor)


def _changed(hardware: Hardware, rng: np.random.Generator) -> Hardware:
    levels = list(hardware.levels)
    if len(levels) > 1:
        optional = bool(rng.random() < 0.5)
        levels[-2] = replace(levels[-2], optional=optional)
    inside = [level for level in levels[:-2] if "weights" in level.keeps]
    if inside and isinstance(levels[-2].capacity_bytes, int) and rng.random() < 0.5:
        # layers wait for weights that the buffer cannot hold for them
        kept = tuple(t for t in levels[-2].keeps if t != "weights")
        levels[-2] = replace(levels[-2], keeps=kept or levels[-2].keeps)
    if rng.random() < 0.3:
        rate = float(rng.choice([0.03, 0.5, 3.0, 1e4]))
        levels[-1] = replace(levels[-1], bandwidth_words=rate)
    changed = replace(hardware, levels=tuple(levels))
    if rng.random() < 0.4:
        zeros = ("computed", "gated", "skipped")
        kinds = ("dense", "dense", "bitmask", "run_length", "csr")
        effects = Effects(
            weight_zeros=zeros[rng.integers(3)],
            input_zeros=zeros[rng.integers(3)],
            weight_format=kinds[rng.integers(5)],
        )
        try:
            changed = replace(changed, effects=effects)
        except ValueError:
            # not all levels can unpack weights
            changed = replace(changed, effects=replace(effects, weight_format="dense"))
    kept = [level for level in levels[:-1] if "outputs" in level.keeps]
    if kept and not kept[-1].optional and rng.random() < 0.3:
        changed = replace(changed, effects=replace(changed.effects, drain_reads="counted"))
    return changed


def _mapper(rng: np.random.Generator, seed: int) -> Map:
    """Return a mapper of random mappings, of runs from the buffer, or of searched ones."""
    search = Mapper(LocalMapping(), EVALUATIONS, seed=seed)
    weights = ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0))[int(rng.integers(3))]

    def searched(problem: MappingProblem) -> LayerCost | Infeasible:
        return search(replace(problem, weights=weights))

    draw = float(rng.random())
    if draw >= 0.5:
        return searched
    simple: Map = RandomMapper(seed) if draw < 0.3 else BufferMapper()

    def simply(problem: MappingProblem) -> LayerCost | Infeasible:
        try:
            return simple(problem)
        except ValueError:
            # its mapping does not fit
            return searched(problem)

    return simply


def _planned(rng: np.random.Generator, kind: str) -> tuple[Network, FusionPlan | None]:
    """Return a random network and a plan of a kind, or None if there is none."""
    if kind == "nest":
        return _nested(rng)
    if kind == "folded":
        network = fold(random_foldable(rng)).with_batch(int(rng.integers(1, 4)))
        groups = [found.layers for found in computations(network)]
        order = group_order(network, groups)
        if order is None or rng.random() < 0.3:
            return network, layer_by_layer(network)
        return network, FusionPlan(tuple(FusionGroup(groups[at]) for at in order))
    network = drawn_small_network(rng)
    if kind == "layer by layer":
        return network, layer_by_layer(network)
    plan = random_plan(network, rng)
    if kind == "tiles":
        groups = tuple(replace(group, pins=(), steady=()) for group in plan.groups)
        return network, FusionPlan(groups)
    if kind == "sub-batches":
        network = network.with_batch(int(rng.choice([2, 4, 6])))
        return network, _in_parts(network, plan, rng)
    return network, plan


def _in_parts(network: Network, plan: FusionPlan, rng: np.random.Generator) -> FusionPlan:
    """Return a plan in sub-batches, some of its weights loaded once."""
    parts = int(rng.choice(divisors(network.batch)[1:]))
    groups = []
    for group in plan.groups:
        streams = not (group.resident or group.tile or group.faces)
        once = tuple(
            i
            for i in group.layers
            if streams
            and network.layers[i].weight_words
            and i not in group.steady
            and rng.random() < 0.4
        )
        groups.append(replace(group, sub_batches=parts, loaded_once=once))
    return FusionPlan(tuple(groups))


def _nested(rng: np.random.Generator) -> tuple[Network, FusionPlan | None]:
    if rng.random() < 0.2:
        case = masked_case(rng)
    else:
        case = random_case(rng, dealt=bool(rng.random() < 0.3))
    rest = [(i,) for i in range(len(case.network.layers)) if i not in case.members]
    groups = [FusionGroup(case.members, nest=case.nest), *map(FusionGroup, rest)]
    order = group_order(case.network, [group.layers for group in groups])
    if order is None:
        return case.network, None
    return case.network, FusionPlan(tuple(groups[at] for at in order))


def drawn_small_network(rng: np.random.Generator) -> Network:
    """Return a random network or a small one of the catalogue, some with zeros, of some images."""
    draw = float(rng.random())
    if draw < 0.1:
        network = known_network(str(rng.choice(CATALOGUE)))
    elif draw < 0.4:
        network = drawn_network(rng, 6)
    else:
        kind = str(rng.choice(["any", "dense", "pointwise", "operators", "wild"]))
        network = random_group(rng, kind)[0]
    if rng.random() < 0.3:
        network = network.with_density(float(rng.uniform(0.1, 1)), float(rng.uniform(0.1, 1)))
    return network.with_batch(int(rng.integers(1, 4)))
