"""Work of the array and of the pins: chains of found plans take no less, worse chips no less."""

import numpy as np
import pytest

from archloom.evaluators.bounds.network.two_engines import engine_demand, tight_engine_demand
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.weaving.from_plan import plan_chain
from archloom.search.software.planners import plans_of
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    advance,
    recorded_evaluator,
)
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionPlan
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ...cases.sweeps import sweep

NETWORKS = (network("tiny_cnn"), network("tiny_mobile").with_batch(2), network("tiny_mlp"))


def drawn(space: HardwareSpace, rng: np.random.Generator) -> Hardware:
    while True:
        found = space.build(space.sample(rng))
        if isinstance(found, Hardware):
            return found


@pytest.mark.parametrize(
    ("template", "fusion", "seed"),
    sweep(
        [
            (template, fusion, seed)
            for seed in range(20)
            for template in ("casco_edge", "fast", "serving")
            for fusion in ("joint", "none", "casco")
        ],
        18,
    ),
)
def test_no_chain_takes_less_of_an_engine(template: str, fusion: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hardware = drawn(HardwareSpace.load(template), rng)
    settings = SoftwareSettings(fusion, 2, "random", 30)
    found = advance(SoftwareTask(hardware, NETWORKS, settings, seed), None, 4)
    per_cycle = hardware.levels[-1].bandwidth_words * hardware.word_bits / 8
    for net in NETWORKS if found.infeasible is None else ():
        best = found.networks[net.name]
        evaluator = recorded_evaluator(hardware, net, best.mappings)
        cost = evaluator.plan(FusionPlan.from_list(best.plan))
        assert isinstance(cost, NetworkCost)
        chain = plan_chain(cost)
        loose = engine_demand(net, hardware)
        tight = tight_engine_demand(net, hardware, plans_of(fusion))
        moved = float(chain.weight_bytes.sum() + chain.map_bytes.sum()) / per_cycle
        assert 0 < loose.compute_cycles <= tight.compute_cycles
        assert 0 < loose.pin_cycles <= tight.pin_cycles
        assert tight.compute_cycles <= chain.cycles.sum()
        assert tight.pin_cycles <= moved


#: parameters of CASCO's edge space: more of them never makes a chip slower
BETTER = ("pe_x", "pe_y", "l2_kib", "dram_channels", "weight_spad_bytes", "clock_mhz")


@pytest.mark.parametrize("plans", ["any", "layer_by_layer"])
@pytest.mark.parametrize("name", BETTER)
def test_no_demand_falls_when_a_chip_gets_worse(name: str, plans) -> None:
    space, rng = HardwareSpace.load("casco_edge"), np.random.default_rng(1)
    values = next(p.values for p in space.parameters if p.name == name)
    seen = 0
    while seen < 4:
        point = space.sample(rng)
        chips = [space.build(point | {name: value}) for value in values]
        if any(isinstance(chip, Infeasible) for chip in chips):
            continue
        for bound in (engine_demand, lambda n, h: tight_engine_demand(n, h, plans)):
            seconds = [
                [cycles / chip.frequency_mhz for cycles in bound(NETWORKS[0], chip)]
                for chip in chips
                if isinstance(chip, Hardware)
            ]
            worse, better = np.array(seconds[:-1]), np.array(seconds[1:])
            assert (worse >= better * (1 - 1e-9)).all()
        seen += 1


def test_weights_that_stay_for_ever_are_refused() -> None:
    hardware = drawn(HardwareSpace.load("casco_edge"), np.random.default_rng(0))
    with pytest.raises(ValueError, match="no steady weights"):
        tight_engine_demand(NETWORKS[0], hardware, "steady")
