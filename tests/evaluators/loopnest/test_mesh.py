"""Network, addresses and leakage of levels: counted by hand, and as Timeloop recorded them."""

from dataclasses import replace

import pytest

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.importers.cases.reader import read_cases
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.layer_builders import conv2d, linear

from ...oracles.compared import closed
from ...oracles.walked_cost import hops
from ...oracles.walked_nest import INPUTS, OUTPUTS, WEIGHTS
from ...source_tree import ROOT
from .test_optional_effects import FREE, buffer, chip, evaluated, result

FILE = ROOT / "tests" / "data" / "timeloop_cases.jsonl"


def spread(width, height, layer, text, hop_pj=1.0, router_pj=0.0, **fields):
    """Energy of each tensor between a buffer and the registers of its children."""
    rf = buffer("rf", mesh=(width, height))
    wide = buffer("wide", energy=replace(FREE, hop_pj=hop_pj, router_pj=router_pj), **fields)
    hardware = chip(rf, wide, pe_mesh=(width, height))
    mesh = replace(hardware, effects=replace(hardware.effects, network="mesh"))
    assert not evaluated(hardware, layer, text).by_level.any()
    return evaluated(mesh, layer, text).by_level[1].tolist()


def test_words_run_along_the_row_to_the_children_that_need_them():
    # 4 children in a row: each takes weights of its own, all of them one input
    fc = linear("fc", 1, 4)
    weights, inputs, outputs = spread(4, 1, fc, "WIO:// WIO:/K4/ WIO://")
    assert (weights, inputs, outputs) == (0 + 1 + 2 + 3, 3, 0 + 1 + 2 + 3)
    # sums of all four become one on the way
    fc = linear("fc", 4, 1)
    assert spread(4, 1, fc, "WIO:// WIO:/C4/ WIO://") == [6, 6, 3]


def test_words_enter_at_the_middle_row():
    fc = linear("fc", 1, 6)
    # 2 columns of 3 rows: 1, 0, 1 links up or down, and one along to the second column
    assert spread(2, 3, fc, "WIO:// WIO:/K2/K3 WIO://")[WEIGHTS] == 2 * (1 + 0 + 1) + 3
    # a broadcast runs through both columns, up and down in each
    assert spread(2, 3, fc, "WIO:// WIO:/K2/K3 WIO://")[INPUTS] == 1 + 2 * 2
    # the middle of four rows lies between two of them
    fc = linear("fc", 1, 4)
    assert spread(1, 4, fc, "WIO:// WIO://K4 WIO://")[WEIGHTS] == 1.5 + 0.5 + 0.5 + 1.5
    assert spread(1, 4, fc, "WIO:// WIO://K4 WIO://")[INPUTS] == 1.5 + 1.5


def test_links_of_a_group_are_counted_once():
    assert hops([0], 4, 1) == 0
    assert hops([3], 4, 1) == 3
    assert hops([1, 3], 4, 1) == 3
    assert hops([0, 2, 4], 2, 3) == 2
    assert hops([4], 2, 3) == 1
    assert hops([1, 5], 2, 3) == 1 + 2


def test_children_fill_the_rows_of_the_mesh_in_order():
    # 2 x 2 children in use on a mesh of 4 x 2: they all lie in the first row
    fc = linear("fc", 2, 2)
    found = spread(4, 2, fc, "WIO:// WIO:/K2/C2 WIO://")
    assert found[WEIGHTS] == (0 + 1 + 2 + 3) + 4 * 0.5
    # one input goes to children 0 and 1, the other to 2 and 3
    assert found[INPUTS] == (1 + 2 * 0.5) + (3 + 2 * 0.5)


def test_the_order_of_unrolled_loops_decides_who_is_next_to_whom():
    fc = linear("fc", 2, 2)
    # along one row: results that differ in K alone are neighbours, or two apart
    near = spread(4, 1, fc, "WIO:// WIO:/K2.C2/ WIO://")
    far = spread(4, 1, fc, "WIO:// WIO:/C2.K2/ WIO://")
    assert near[INPUTS] == 1 + 3
    assert far[INPUTS] == 2 + 3
    assert (near[OUTPUTS], far[OUTPUTS]) == (2 + 3, 1 + 3)


def test_each_word_pays_for_the_routers_that_it_passes():
    # hops 0 to 3, 1.5 on average: two routers a word
    fc = linear("fc", 1, 4)
    found = spread(4, 1, fc, "WIO:// WIO:/K4/ WIO://", hop_pj=0.0, router_pj=1.0)
    assert found == [4 * 2, 1 * 4, 4 * 2]


def test_without_multicast_each_child_has_its_own_words():
    fc = linear("fc", 1, 4)
    found = spread(4, 1, fc, "WIO:// WIO:/K4/ WIO://", multicast=("weights", "outputs"))
    assert found[INPUTS] == 0 + 1 + 2 + 3


def test_groups_of_windows_are_averaged_by_their_size():
    # 3 rows of results by 2 of windows: rows 0 and 3 of the map go to one child, 1 and 2 to two
    conv = conv2d("c", 1, 1, (4, 1), (2, 1))
    hop = spread(6, 1, conv, "WIO:// WIO:/P3.R2/ WIO://")
    # children by (p, r): p + 3 r; row p + r
    assert hop[INPUTS] == (0 + 5) + (3 + 4)
    router = spread(6, 1, conv, "WIO:// WIO:/P3.R2/ WIO://", hop_pj=0.0, router_pj=1.0)
    assert router[INPUTS] == 2 * (1 + 2) + 2 * (1 + 3)


def test_a_single_child_has_no_network():
    assert spread(1, 1, linear("fc", 3, 4), "WIO:// WIO:K4.C3// WIO://", 1.0, 1.0) == [0, 0, 0]


def test_a_network_never_gives_energy_back(cases):
    for case in cases:
        free, mesh = (result(case, network=kind) for kind in ("free", "mesh"))
        assert (free.by_level <= mesh.by_level).all()
        assert (free.chip, free.dram) == (mesh.chip, mesh.dram)


def test_addresses_are_made_for_words_not_for_lines():
    energy = AccessEnergy(0, 0, 0, address_pj=1.0)
    rf = buffer("rf", width_words=4, energy=energy)
    layer = linear("fc", 2, 5, 2)
    # 20 weights read, 10 fetched; 20 inputs and 4; 20 sums written, none fetched
    found = evaluated(chip(rf), layer, "WIO:C2.K5.P2// WIO://")
    assert found.by_level[0].tolist() == [30, 24, 20]
    # sums that come back are fetched: 2 x 5 of them, for the second half of the channels
    found = evaluated(chip(rf), layer, "WIO:P2// WIO:K5.C2//")
    assert found.by_level[0].tolist() == [20 + 10, 20 + 4, 20 + 10]


def test_dram_makes_no_addresses_for_padding():
    dram = buffer("dram", energy=AccessEnergy(0, 0, 0, address_pj=1.0))
    dram = replace(dram, storage="dram", capacity_bytes=None, optional=False)
    conv = conv2d("c", 1, 1, (4, 4), 3, 1, 1)
    found = evaluated(chip(buffer(), dram), conv, "WIO:R3.S3.P4.Q4// WIO://")
    assert found.counts[1].tolist() == [[9, 0, 0], [16, 0, 0], [0, 0, 16]]
    assert found.by_level[1].tolist() == [9, 16, 16]


def test_instances_in_use_leak_in_every_cycle():
    rf = buffer("rf", mesh=(4, 1), energy=AccessEnergy(0, 0, 0, leakage_pj=1.5))
    found = evaluated(
        chip(rf, buffer(), pe_mesh=(4, 1)), linear("fc", 7, 3), "WIO:C7// WIO:/K3/ WIO://"
    )
    assert found.by_level.sum() == 7 * 3 * 1.5
    # and longer where the run is longer
    slow = replace(rf, bandwidth_words=0.25)
    found = evaluated(
        chip(slow, buffer(), pe_mesh=(4, 1)), linear("fc", 7, 3), "WIO:C7// WIO:/K3/ WIO://"
    )
    assert found.by_level.sum() == pytest.approx(found.chip * 3 * 1.5, rel=1e-15)
    assert found.chip == 4 * (7 + 7 + 6 + 7 + 7 + 7)


#: recorded Timeloop output of an architecture with 12 PEs in a row: energy of the network from
#: the buffer to the PEs, of addresses at the buffer (weights, inputs, outputs; pJ), and leakage
#: of all three levels
RECORDED = {
    "ref-0562": ((5708021.76, 3305594.88, 1268449.28), (0, 0, 0), 24200085.504),
    "ref-0565": ((132956.16, 3275489.28, 297041.92), (0, 0, 0), 4026925.056),
    "ref-0570": ((10916290.56, 19251025.92, 2613166.08), (0, 4536161.28, 0), 24704253.952),
    "ref-0589": ((9253.44, 291271.68, 157489.92), (0, 35562.24, 16934.4), 212696.064),
    "ref-0611": (
        (50319.36, 1174118.4, 559964.16),
        (29030.4, 76124.16, 36126.72),
        756252.672,
    ),
    "ref-0627": ((12960.0, 25920.0, 9280.0), (0, 0, 0), 120432.0),
    "ref-0631": ((91.8, 181.2, 81.0), (10.8, 21.6, 5.4), 150.72),
    "ref-0635": ((440.64, 1365.12, 274.56), (51.84, 218.88, 43.2), 723.456),
}
CASES = {case.name: case for case in read_cases(FILE)}


def priced(case, **kept):
    """Evaluate a case with the energies of its levels that are named, and none else."""
    levels = []
    for level in case.hardware.levels:
        own = {name: getattr(level.energy, name) for name in kept}
        levels.append(replace(level, energy=replace(FREE, **own)))
    hardware = replace(case.hardware, levels=tuple(levels), mac_pj=0.0)
    mapping: Mapping = case.mapping
    return closed(MappingProblem.of_layer(case.layer, hardware), mapping)


@pytest.mark.parametrize("name", RECORDED)
def test_network_addresses_and_leakage_are_timeloops(name):
    network, addresses, leakage = RECORDED[name]
    case = CASES[name]
    found = priced(case, hop_pj=True, router_pj=True)
    assert found.by_level[1].tolist() == pytest.approx(network, rel=1e-12)
    assert not found.by_level[[0, 2]].any()
    found = priced(case, address_pj=True)
    assert found.by_level[1].tolist() == pytest.approx(addresses, rel=1e-12)
    assert found.energy == pytest.approx(sum(addresses), rel=1e-12)
    assert priced(case, leakage_pj=True).energy == pytest.approx(leakage, rel=1e-12)
