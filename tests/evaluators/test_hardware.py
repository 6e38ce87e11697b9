from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.hardware import access_costs, area_mm2, edp_js, hardware_cost, tdp_w
from archloom.evaluators.technology.registry import technology, technology_names
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import INPUTS, OUTPUTS, WEIGHTS

from ..cases.designs import ALL, edge, eyeriss_like, tpu_like

DESIGNS = [eyeriss_like(), eyeriss_like("sram"), tpu_like(), edge()]
IDS = ["eyeriss", "eyeriss-sram", "tpu", "edge"]
TECH = technology("cacti_45nm")


def with_level(hardware: Hardware, i: int, **changes) -> Hardware:
    levels = list(hardware.levels)
    levels[i] = replace(levels[i], **changes)
    return replace(hardware, levels=tuple(levels))


@pytest.mark.parametrize("hardware", DESIGNS, ids=IDS)
def test_totals_are_the_sums_of_their_parts(hardware):
    cost = hardware_cost(hardware)
    assert cost.area_mm2 == sum(cost.area_breakdown_mm2.values())
    assert cost.tdp_w == sum(cost.tdp_breakdown_w.values())
    assert cost.area_breakdown_mm2 == area_mm2(hardware)
    assert cost.tdp_breakdown_w == tdp_w(hardware)
    assert min(*cost.area_breakdown_mm2.values(), *cost.tdp_breakdown_w.values()) > 0


@pytest.mark.parametrize("hardware", DESIGNS, ids=IDS)
def test_an_access_costs_something_exactly_where_a_tensor_is_kept(hardware):
    costs = access_costs(hardware)
    kept = np.array([[t in level.keeps for t in ALL] for level in hardware.levels])
    assert costs.read_pj.shape == costs.write_pj.shape == (len(hardware.levels), 3)
    assert ((costs.read_pj > 0) == kept).all()
    assert ((costs.write_pj > 0) == kept).all()


@pytest.mark.parametrize("hardware", DESIGNS, ids=IDS)
def test_a_word_costs_more_the_further_out_it_lies(hardware):
    costs = access_costs(hardware)
    width = np.array([level.width_words for level in hardware.levels])[:, None]
    for pj in (costs.read_pj, costs.write_pj):
        per_word = pj / width
        for t in range(3):
            kept = per_word[:, t][per_word[:, t] > 0]
            assert (np.diff(kept) > 0).all()


def test_private_buffers_have_prices_of_their_own():
    costs = access_costs(eyeriss_like())
    for tensor, size in ((WEIGHTS, 448), (INPUTS, 24), (OUTPUTS, 48)):
        spad = TECH.buffer("register", size, 2)
        assert (costs.read_pj[0, tensor], costs.write_pj[0, tensor]) == spad[:2]


def test_the_width_of_an_access_sets_its_price():
    costs = access_costs(edge())
    assert costs.read_pj[1, 0] == TECH.sram.cost(64 << 10, 8).read_pj
    # LPDDR4: 8 pJ for each of the 8 bits of a word
    assert costs.read_pj[2, 0] == costs.write_pj[2, 0] == 64.0


def test_arrays_that_are_shared_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        access_costs(edge()).read_pj[0, 0] = 1.0


def test_leakage_per_cycle_is_leakage_power_over_the_clock():
    hardware = edge()
    watts = hardware_cost(hardware).tdp_breakdown_w["leakage"]
    seconds = 1 / (hardware.frequency_mhz * 1e6)
    assert access_costs(hardware).leakage_pj_per_cycle == pytest.approx(watts * seconds * 1e12)


def test_area_by_hand():
    """16 MACs of 8 bits, 16 x 256 bytes of registers, 64 KiB, 4 lanes, 3.2 GB/s."""
    parts = hardware_cost(edge()).area_breakdown_mm2
    assert parts["macs"] == pytest.approx(16 * (282 + 137) * 1e-6 * 2.2)
    assert parts["rf"] == pytest.approx(16 * 256 * 8 * 7.57e-6)
    assert parts["glb"] == pytest.approx(0.328113 * 2.2)
    assert parts["vector unit"] == pytest.approx(4 * 137e-6 * 2.2)
    assert parts["dram phy"] == pytest.approx(3.2 * 0.1495)
    rest = sum(area for name, area in parts.items() if name != "control")
    assert parts["control"] == pytest.approx(rest * (1.05 * 1.05 - 1))


def test_tdp_by_hand():
    """Every register file moves 4 words a cycle, the buffer 16, DRAM 8, at 400 MHz."""
    parts = hardware_cost(edge()).tdp_breakdown_w
    spad = TECH.buffer("register", 256, 1)
    assert parts["macs"] == pytest.approx(16 * 0.3e-12 * 400e6)
    assert parts["rf"] == pytest.approx(16 * 4 * spad.write_pj * 1e-12 * 400e6)
    assert parts["glb"] == pytest.approx(16 / 8 * 17.7393e-12 * 400e6)
    assert parts["vector unit"] == pytest.approx(4 * 0.1e-12 * 400e6)
    # 3.2 GB/s at 8 pJ a bit
    assert parts["dram"] == pytest.approx(3.2e9 * 8 * 8e-12)


def test_a_level_cannot_move_more_than_the_units_below_take():
    wide = with_level(edge(), 0, bandwidth_words=1000)
    assert tdp_w(wide)["rf"] == pytest.approx(tdp_w(edge())["rf"])
    # the buffer feeds 16 register files of 4 words a cycle: 64 words
    full, beyond = (with_level(edge(), 1, bandwidth_words=words) for words in (64, 1000))
    assert tdp_w(beyond)["glb"] == pytest.approx(tdp_w(full)["glb"])
    slow = with_level(edge(), 0, bandwidth_words=0.5)
    assert tdp_w(with_level(slow, 1, bandwidth_words=1000))["glb"] == pytest.approx(
        tdp_w(with_level(slow, 1, bandwidth_words=8))["glb"]
    )


def test_tensors_that_pass_by_a_level_are_asked_of_the_next():
    """The latches of a systolic array keep weights; the buffer serves the rest too."""
    hardware = with_level(tpu_like(), 1, bandwidth_words=1e9)
    macs = hardware.macs
    # a latch moves one weight a cycle, the buffer may be asked for it, an input and 2 outputs
    buffer = access_costs(hardware).write_pj[1, 0]
    assert tdp_w(hardware)["buffer"] == pytest.approx(4 * macs / 256 * buffer * 700e-6)
    latch = access_costs(hardware).write_pj[0, WEIGHTS]
    assert tdp_w(hardware)["latch"] == pytest.approx(macs * latch * 700e-6)


@given(
    st.integers(1, 8),
    st.integers(1, 16).map(lambda i: i << 15),
    st.sampled_from([8, 16, 24, 32]),
)
def test_more_of_anything_never_costs_less(scale, glb_bytes, word_bits):
    base = edge()
    grown = edge(glb_bytes + (32 << 10), max(word_bits, 8), scale)
    smaller = edge(glb_bytes, word_bits, scale)
    assert hardware_cost(grown).area_mm2 >= hardware_cost(smaller).area_mm2
    assert hardware_cost(grown).tdp_w >= hardware_cost(smaller).tdp_w
    many = replace(
        base,
        pe_mesh=(4 * scale, 4),
        levels=(replace(base.levels[0], mesh=(4 * scale, 4)), *base.levels[1:]),
    )
    assert hardware_cost(many).area_mm2 >= hardware_cost(base).area_mm2
    assert hardware_cost(many).tdp_w >= hardware_cost(base).tdp_w


def test_leakage_does_not_follow_the_clock_and_the_rest_does():
    slow, fast = edge(), replace(edge(), frequency_mhz=800)
    for name, watts in tdp_w(slow).items():
        assert tdp_w(fast)[name] == pytest.approx(watts if name == "leakage" else 2 * watts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"technology": "cacti_54nm"}, "did you mean .*cacti_45nm"),
        ({"dram": "hbm4"}, "did you mean hbm"),
        ({"word_bits": 3}, "words of 3 bits"),
    ],
)
def test_what_the_table_does_not_have_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        hardware_cost(replace(edge(), **change))


def test_a_level_may_not_take_the_name_of_another_part():
    with pytest.raises(ValueError, match=r"level 'macs' of edge.*reserved names"):
        hardware_cost(with_level(edge(), 1, name="macs"))
    # DRAM itself is commonly called so
    assert "dram" in hardware_cost(edge()).tdp_breakdown_w


def test_an_sram_level_without_children_in_between_works():
    hardware = Hardware(
        "two levels",
        "cacti_45nm",
        100,
        8,
        (2, 1),
        (1, 1),
        (
            StorageLevel("glb", "sram", ALL, (1, 1), 4096, 8),
            StorageLevel("dram", "dram", ALL, (1, 1), None, 8),
        ),
        "hbm2",
        1,
    )
    # two MACs take 8 words; each access of one byte pays for four
    glb = TECH.sram.cost(4096, 4)
    assert tdp_w(hardware)["glb"] == pytest.approx(8 * glb.write_pj * 100e-6)


def test_eyeriss_comes_near_its_published_area_and_power():
    """JSSC 2017: 12.25 mm2 of core and 278 mW at 65 nm. At 45 nm (Stillmaker and Baas 2017,
    factors 0.66 and 0.81) 8.1 mm2 and 224 mW; docs/explanation/technology.md explains the
    difference."""
    cost = hardware_cost(eyeriss_like())
    core = cost.area_mm2 - cost.area_breakdown_mm2["dram phy"]
    chip = cost.tdp_w - cost.tdp_breakdown_w["dram"]
    assert 0.8 < core / 8.1 < 1.2
    assert 0.5 < chip / 0.224 < 1.0


OWN = AccessEnergy(2.0, 3.0, 5.0, leakage_pj=0.25, hop_pj=0.5, router_pj=0.125, address_pj=0.0625)


def test_energies_of_the_design_replace_those_of_the_technology():
    plain, own = edge(), with_level(edge(), 1, energy=OWN)
    costs, before = access_costs(own), access_costs(plain)
    assert (costs.read_pj[1] == 2).all()
    assert (costs.fill_pj[1] == 3).all()
    assert (costs.update_pj[1] == 5).all()
    assert (costs.address_pj[1], costs.used_leakage_pj[1]) == (0.0625, 0.25)
    for name in ("read_pj", "fill_pj", "update_pj", "address_pj", "used_leakage_pj"):
        for level in (0, 2):
            assert (getattr(costs, name)[level] == getattr(before, name)[level]).all()
    # its buffer no longer leaks, so the rest of the chip does without it
    glb = TECH.buffer("sram", 64 << 10, 8).leakage_mw * 1.05 * 1.05
    assert costs.leakage_pj_per_cycle == pytest.approx(
        before.leakage_pj_per_cycle - glb / plain.frequency_mhz * 1e3
    )
    power = tdp_w(own)
    # 16 words of 8 in an access, of which the dearest is an update
    assert power["glb"] == pytest.approx(16 / 8 * 5e-12 * 400e6)
    assert power["leakage"] == pytest.approx(
        (costs.leakage_pj_per_cycle + costs.used_leakage_pj[1]) * 400e6 * 1e-12
    )
    assert area_mm2(own) == area_mm2(plain)


def test_a_design_may_give_the_energy_of_its_mac_and_dram():
    own = with_level(replace(edge(), mac_pj=7.0), 2, energy=AccessEnergy(1.0, 2.0, 3.0))
    assert access_costs(own).mac_pj == 7
    assert tdp_w(own)["macs"] == pytest.approx(16 * 7e-12 * 400e6)
    assert (access_costs(own).update_pj[2] == 3).all()
    # 8 bytes a cycle, one in an access
    assert tdp_w(own)["dram"] == pytest.approx(8 * 3e-12 * 400e6)


def test_only_a_mesh_pays_for_hops():
    free = with_level(edge(), 1, energy=OWN)
    mesh = replace(free, effects=Effects(network="mesh"))
    assert not access_costs(free).hop_pj.any()
    assert not access_costs(free).router_pj.any()
    costs = access_costs(mesh)
    # the buffer says itself; registers and DRAM move words of 8 bits as the technology says
    assert costs.hop_pj == pytest.approx([8 * TECH.hop_pj_per_bit, 0.5, 8 * TECH.hop_pj_per_bit])
    assert costs.router_pj == pytest.approx([0, 0.125, 0])


def test_what_leaves_for_dram_is_read_once_more_if_drains_are_counted():
    free = with_level(edge(), 1, energy=OWN, optional=False)
    counted = replace(free, effects=Effects(drain_reads="counted"))
    costs, before = access_costs(counted), access_costs(free)
    # a line of DRAM holds as many words as several of the buffer
    lines = free.levels[2].width_words / free.levels[1].width_words
    more = costs.update_pj[2] - before.update_pj[2]
    assert more == pytest.approx([0, 0, lines * OWN.read_pj])
    assert (costs.write_pj[2] == [*before.write_pj[2, :OUTPUTS], costs.update_pj[2, OUTPUTS]]).all()
    assert (costs.read_pj == before.read_pj).all()
    assert (costs.update_pj[:2] == before.update_pj[:2]).all()
    assert tdp_w(counted) == tdp_w(free)


def test_words_of_their_own_width_cost_their_own_energy():
    wide = with_level(
        with_level(edge(), 1, tensor_bits=(("outputs", 32),)), 2, tensor_bits=(("inputs", 4),)
    )
    costs, before = access_costs(wide), access_costs(edge())
    assert (costs.read_pj[1, [WEIGHTS, INPUTS]] == before.read_pj[1, [WEIGHTS, INPUTS]]).all()
    # a line of 64 bits holds two words of 32, and is read as before
    assert (costs.read_pj[1] == before.read_pj[1]).all()
    # a word of 128 bits needs a wider one; the buffer is built for its widest access
    wider = with_level(edge(), 1, tensor_bits=(("outputs", 128),))
    assert access_costs(wider).read_pj[1, OUTPUTS] == TECH.buffer("sram", 64 << 10, 16).read_pj
    assert access_costs(wider).read_pj[1, INPUTS] == before.read_pj[1, INPUTS]
    assert area_mm2(wider)["glb"] == TECH.buffer("sram", 64 << 10, 16).area_mm2
    # DRAM: 8 pJ a bit, of a word of 8 bits or of one that is wider
    assert costs.read_pj[2, INPUTS] == costs.read_pj[2, WEIGHTS] == 8 * 8
    wider = with_level(edge(), 2, tensor_bits=(("inputs", 16),))
    assert access_costs(wider).read_pj[2, INPUTS] == 8 * 16


def test_a_cluster_is_one_memory_as_wide_as_its_instances():
    plain, four = edge(), with_level(edge(), 0, cluster_size=4)
    one, cluster = TECH.buffer("register", 256, 1), TECH.buffer("register", 1024, 4)
    assert access_costs(plain).read_pj[0, WEIGHTS] == one.read_pj
    assert access_costs(four).read_pj[0, WEIGHTS] == cluster.read_pj
    assert area_mm2(four)["rf"] == pytest.approx(4 * cluster.area_mm2)
    assert area_mm2(four)["rf"] == pytest.approx(area_mm2(plain)["rf"])
    assert tdp_w(four)["rf"] == pytest.approx(16 * cluster.write_pj * 400e6 * 1e-12)


def test_idle_power_takes_the_place_of_leakage():
    """Eyeriss: 30 mW over 12.25 mm2, here over what the model makes of the chip's core."""
    hardware = replace(eyeriss_like(), technology="eyeriss_65nm")
    area = area_mm2(hardware)
    core = sum(mm2 for part, mm2 in area.items() if part not in ("dram phy", "control"))
    assert tdp_w(hardware)["leakage"] == pytest.approx(2.449e-3 * core * 1.05 * 1.05)
    assert access_costs(hardware).leakage_pj_per_cycle == pytest.approx(
        tdp_w(hardware)["leakage"] / 200e6 * 1e12
    )


def test_unlimited_dram_has_no_price():
    endless = with_level(edge(), 2, bandwidth_words=inf)
    with pytest.raises(ValueError, match="DRAM of edge has unlimited bandwidth, so its area"):
        hardware_cost(endless)
    assert access_costs(endless).leakage_pj_per_cycle > 0


def test_designs_beyond_all_numbers_are_refused():
    with pytest.raises(ValueError, match=r"mac_pj must be a number from 0 up to 1e\+12"):
        replace(edge(), mac_pj=1e308)


@pytest.mark.parametrize("name", technology_names())
@pytest.mark.parametrize("dram", ["ddr3", "ddr4", "lpddr4", "gddr6", "hbm2", "hbm3"])
def test_every_technology_prices_every_part(name, dram):
    cost = hardware_cost(replace(edge(), technology=name, dram=dram))
    parts = [*cost.area_breakdown_mm2.values(), *cost.tdp_breakdown_w.values()]
    assert all(0 < part < 1e6 for part in parts)


def test_eyeriss_in_its_own_technology_is_as_large_as_the_chip():
    """JSSC 2017: 12.25 mm2 of core; docs/explanation/technology.md says where the model differs."""
    chip = preset("eyeriss")
    area = area_mm2(chip)
    core = sum(mm2 for part, mm2 in area.items() if part not in ("dram phy", "control"))
    assert core * 1.05 * 1.05 == pytest.approx(12.25, rel=0.1)
    # at its peak it takes about what the chip takes on its busiest layer, 332 mW
    power = tdp_w(chip)
    assert 0.278 < sum(power.values()) - power["dram"] < 0.332


def test_edp_is_energy_per_inference_times_latency_of_the_pass():
    hardware = edge()  # 400 MHz
    assert edp_js(2e9, 4e8, hardware, 1) == pytest.approx(2e-3 * 1.0)
    assert edp_js(2e9, 4e8, hardware, 4) == pytest.approx(2e-3 / 4)
    assert edp_js(2e9, 4e8, replace(hardware, frequency_mhz=800), 1) == pytest.approx(1e-3)
