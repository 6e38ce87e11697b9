"""Nests around groups with windows (depthwise convolutions, pools): iterations and costs against
the simulators and accounts that other nests are held against."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.nest import NestWalk, depths, group_ranks, nest_faults, nest_group
from archloom.space.fusion import STREAMED, LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup
from archloom.space.workload import Layer
from archloom.space.workload.layer_builders import conv2d
from archloom.space.workload.network_builder import Builder

from ....cases.mappers import BufferMapper
from ....cases.random_nests import random_loops
from ....cases.random_windows import windowed_case, windowed_network
from ....cases.small_designs import three_levels
from ....cases.sweeps import sweep
from ....oracles.nest_simulator import simulate
from .test_cores import MESHES, compare as compare_on_cores
from .test_cost import DRAWN, compare as compare_costs
from .test_walk import compare as compare_walks


# results of some are a single word
@pytest.mark.parametrize("seed", sweep([410, 688, *range(3000)], sample=40))
def test_what_runs_and_moves_is_what_a_simulator_finds(seed: int) -> None:
    compare_walks(seed, windowed_case(np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", sweep(range(700), sample=20))
def test_a_nest_costs_what_its_iterations_cost_one_by_one(seed: int) -> None:
    compare_costs(seed, cases=windowed_case)


@pytest.mark.parametrize("seed", sweep(range(600), sample=12))
def test_tiles_that_add_to_sums_cost_what_a_walk_of_their_mappings_does(seed: int) -> None:
    compare_costs(seed, 6, windowed_case, DRAWN)


@pytest.mark.parametrize("seed", sweep(range(300), sample=12))
def test_a_nest_costs_what_its_cores_do_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    compare_on_cores(windowed_case(rng, dealt=True), rng, MESHES[seed % len(MESHES)])


@pytest.mark.parametrize("seed", sweep(range(1000), sample=20))
def test_rules_refuse_what_the_simulator_refuses_and_nothing_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group, loops = None, ()
    while group is None or not loops:
        network = windowed_network(rng)
        members = tuple(range(len(network.layers)))
        ranks = group_ranks(network, members)
        loops = () if ranks is None else random_loops(rng, ranks)
        group = nest_group(network, members, frozenset(loop.rank for loop in loops))
    looped = tuple(loop.rank for loop in loops)
    chosen = (int(rng.choice(depths(group, looped, t))) for t in range(len(group.operands)))
    nest = LoopNest(loops, tuple(chosen))
    if not list(nest_faults(group, nest)):
        simulate(group, nest)
        return
    with pytest.raises(AssertionError):
        simulate(group, nest)


def reached(layer: Layer) -> int:
    """Return words of a map of one channel down to the last row and column that a window of a layer
    covers, between its taps too (a tile is a box)."""
    words = 1
    for axis, (made, taps) in enumerate(((layer.p, layer.r), (layer.q, layer.s))):
        stride, pad, dilation = layer.stride[axis], layer.padding[axis], layer.dilation[axis]
        covered = {
            i * stride - pad + at for i in range(made) for at in range((taps - 1) * dilation + 1)
        }
        words *= max(at for at in covered if at < layer.input_size[axis]) + 1
    return words


@pytest.mark.parametrize("seed", sweep(range(600), sample=30))
def test_padding_and_rows_behind_the_last_window_are_not_fetched(seed: int) -> None:
    case = windowed_case(np.random.default_rng(seed))
    run, walk = simulate(case.group, case.nest), NestWalk(case.group, case.nest)
    for t, operand in enumerate(case.group.operands):
        if operand.kind != "read" or case.nest.depth[t] == STREAMED:
            continue
        layer = case.group.layers[operand.readers[0]]
        channels = layer.g * (layer.c if layer.uses_macs else 1)
        words = layer.n * channels * reached(layer)
        came = int((walk.tile_words(t) * walk.times * walk.comes(t)).sum())
        assert run.fetched[t] - run.refetched[t] == words
        assert came == words + run.refetched[t]


#: kernel, stride, padding, dilation of a depthwise layer on a map of 5 x 5
WINDOWS = [(3, 1, 1, 1), (3, 2, 1, 1), (5, 1, 2, 1), (3, 1, 0, 1), (3, 1, 2, 2), (5, 2, 1, 1)]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("optional", [False, True])
def test_a_map_that_streams_to_windows_comes_without_padding(
    window: tuple[int, int, int, int], optional: bool
) -> None:
    """Its words are those of a map that lies in the buffer."""
    builder = Builder((4, 5, 5))
    kernel, stride, padding, dilation = window
    layer = conv2d("window", 4, 4, 5, kernel, stride, padding, dilation, 4)
    builder.conv("project", builder.append(layer, "input"), 6)
    network, chip = builder.network("two"), three_levels(1000, (32, 32, 32), optional)
    ranks = group_ranks(network, (0, 1))
    assert ranks is not None
    (loop,) = ranks.dims[1][2]
    group = nest_group(network, (0, 1), frozenset({loop}))
    assert group is not None
    stays = LoopNest(
        (NestLoop(loop, 3),),
        tuple(depths(group, (loop,), t)[-1] for t in range(len(group.operands))),
    )
    (read,) = (t for t, operand in enumerate(group.operands) if operand.kind == "read")
    depth = (*stays.depth[:read], STREAMED, *stays.depth[read + 1 :])
    learned = sum(x.weight_words for x in network.layers)
    for nest in (stays, replace(stays, depth=depth)):
        # DRAM sends each word once
        cost = group_cost(network, FusionGroup((0, 1), nest=nest), chip, BufferMapper())
        assert isinstance(cost, GroupCost)
        assert cost.dram_reads == learned + 4 * reached(layer)
