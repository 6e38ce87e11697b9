from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archloom.evaluators.hardware_cost import (
    access_costs,
    area_mm2,
    edp_js,
    hardware_cost,
    tdp_w,
)
from archloom.evaluators.technology import technology
from archloom.space.dims import INPUTS, OUTPUTS, WEIGHTS
from archloom.space.hardware import Hardware, StorageLevel

from .designs import ALL, edge, eyeriss_like, tpu_like

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
        ({"technology": "cacti_54nm"}, "did you mean 'cacti_45nm'"),
        ({"dram": "hbm3"}, "did you mean 'hbm2'"),
        ({"word_bits": 4}, "words of 4 bits"),
    ],
)
def test_what_the_table_does_not_have_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        hardware_cost(replace(edge(), **change))


def test_a_level_may_not_take_the_name_of_another_part():
    with pytest.raises(ValueError, match=r"level 'macs' of edge.*names to avoid"):
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
    factors 0.66 and 0.81) 8.1 mm2 and 224 mW; docs/technology.md explains the difference."""
    cost = hardware_cost(eyeriss_like())
    core = cost.area_mm2 - cost.area_breakdown_mm2["dram phy"]
    chip = cost.tdp_w - cost.tdp_breakdown_w["dram"]
    assert 0.8 < core / 8.1 < 1.2
    assert 0.5 < chip / 0.224 < 1.0


def test_edp_is_energy_per_inference_times_latency_of_the_pass():
    hardware = edge()  # 400 MHz
    assert edp_js(2e9, 4e8, hardware, 1) == pytest.approx(2e-3 * 1.0)
    assert edp_js(2e9, 4e8, hardware, 4) == pytest.approx(2e-3 / 4)
    assert edp_js(2e9, 4e8, replace(hardware, frequency_mhz=800), 1) == pytest.approx(1e-3)
