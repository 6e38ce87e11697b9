from dataclasses import FrozenInstanceError
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.technology.registry import technology, technology_names
from archloom.evaluators.technology.table import by_bits

TECH = technology("cacti_45nm")
ALL = [technology(name) for name in technology_names()]


def test_a_mac_is_a_multiply_and_an_add_into_32_bits():
    assert TECH.mac_pj(8) == pytest.approx(0.2 + 0.1)
    assert TECH.mac_pj(32) == pytest.approx(3.1 + 0.1)
    # between 8 and 32 bits the power law through both: 0.2 * 15.5 ** 0.5
    assert TECH.mac_pj(16) == pytest.approx(0.2 * 15.5**0.5 + 0.1)
    assert TECH.mac_mm2(8) == pytest.approx((282 + 137) * 1e-6)


@given(st.integers(4, 31))
def test_wider_words_cost_more(bits):
    assert TECH.mac_pj(bits + 1) > TECH.mac_pj(bits)
    assert TECH.mac_mm2(bits + 1) > TECH.mac_mm2(bits)


@pytest.mark.parametrize("bits", [3, 64])
def test_words_outside_the_table_are_refused_not_extrapolated(bits):
    with pytest.raises(ValueError, match=rf"words of {bits} bits.*4 to 32 bits"):
        TECH.mac_pj(bits)


def test_a_curve_passes_through_its_points():
    points = ((8, 0.03), (16, 0.05), (32, 0.1))
    assert [by_bits(points, bits, "add") for bits, _ in points] == pytest.approx([0.03, 0.05, 0.1])


def test_logic_leaks_like_the_smallest_sram_macro():
    """The derivation that the table states."""
    macro = TECH.sram.cost(512, 4)
    assert pytest.approx(macro.leakage_mw / macro.area_mm2, rel=1e-3) == (
        TECH.logic_leakage_mw_per_mm2
    )


def test_registers_are_scaled_from_40_nm_as_stated():
    assert TECH.register_pj_per_bit == pytest.approx(8.999495e-3 * 45 / 40, rel=1e-3)
    assert TECH.register_um2_per_bit == pytest.approx(5.981433 * (45 / 40) ** 2, rel=1e-3)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_register_file_meets_the_register_and_the_sram_macro(width):
    one, full = TECH.buffer("register", width, width), TECH.buffer("register", 512, width)
    macro = TECH.sram.cost(512, width)
    assert one.read_pj == pytest.approx(8 * width * TECH.register_pj_per_bit)
    assert one.write_pj == pytest.approx(one.read_pj)
    assert full.read_pj == pytest.approx(macro.read_pj)
    assert full.write_pj == pytest.approx(macro.write_pj)


@given(
    st.floats(min_value=1, max_value=4096),
    st.floats(min_value=1, max_value=8),
    st.floats(min_value=0.5, max_value=1024),
)
def test_a_larger_register_file_is_never_cheaper(size, growth, width):
    small = TECH.buffer("register", size, width)
    large = TECH.buffer("register", size * growth, width)
    assert all(b >= a * (1 - 1e-9) for a, b in zip(small, large, strict=True))


def test_registers_are_larger_than_sram_from_about_a_hundred_bytes():
    """The break-even that docs/explanation/technology.md states."""
    macro = TECH.buffer("sram", 512, 2).area_mm2
    assert TECH.buffer("register", 94, 2).area_mm2 < macro < TECH.buffer("register", 95, 2).area_mm2


def test_the_layout_factor_is_in_the_area_of_sram():
    assert TECH.buffer("sram", 4096, 8).area_mm2 == pytest.approx(
        2.2 * TECH.sram.cost(4096, 8).area_mm2
    )


def test_unknown_names_get_the_nearest():
    with pytest.raises(ValueError, match=r"'cacti_54nm' is not known; did you mean .*cacti_45nm"):
        technology("cacti_54nm")
    with pytest.raises(ValueError, match=r"'zz' is not known; known: accelergy_45nm.*, n7"):
        technology("zz")
    with pytest.raises(ValueError, match="no DRAM 'lpddr5'; did you mean lpddr4"):
        TECH.dram("lpddr5")
    with pytest.raises(ValueError, match="DRAM is not an on-chip buffer"):
        TECH.buffer("dram", 512, 4)


def test_a_table_does_not_change():
    with pytest.raises(FrozenInstanceError):
        TECH.layout_factor = 1.0


@pytest.mark.parametrize("tech", ALL, ids=technology_names())
@given(
    size=st.floats(min_value=1, max_value=2.0**26),
    width=st.floats(min_value=0.5, max_value=256),
    storage=st.sampled_from(["register", "sram"]),
)
def test_every_table_prices_every_buffer(tech, size, width, storage):
    assert all(0 < value < 1e9 for value in tech.buffer(storage, size, width))


def test_energies_that_a_source_gives_by_bit_follow_the_width_alone():
    eyeriss, plain = technology("eyeriss_65nm"), technology("cacti_65nm")
    for size in (24, 48, 448):
        word, line = (eyeriss.buffer("register", size, width) for width in (2, 8))
        assert word.read_pj == word.write_pj == pytest.approx(1.0)
        assert line.read_pj == pytest.approx(4.0)
        # area and leakage stay those of cells
        assert line[2:] == plain.buffer("register", size, 8)[2:]


def test_the_energies_of_eyeriss_are_those_of_its_set():
    """MAC, RF, array, buffer, DRAM: 2, 1, 4, 15, 460 pJ for 16 bits."""
    eyeriss = technology("eyeriss_65nm")
    assert eyeriss.mac_pj(16) == pytest.approx(2, rel=1e-3)
    buffer = eyeriss.buffer("sram", 108 << 10, 8)
    assert (buffer.read_pj / 4, buffer.write_pj / 4) == pytest.approx((15, 15), rel=1e-3)
    assert eyeriss.buffer("register", 448, 2).read_pj == 1
    assert 16 * eyeriss.hop_pj_per_bit == 4
    assert 16 * eyeriss.dram("ddr3").pj_per_bit == 460
    assert eyeriss.idle_mw_per_mm2 * 12.25 == pytest.approx(30, rel=1e-3)


def test_a_smaller_node_is_smaller_and_takes_less():
    tables = [technology(name) for name in ("cacti_65nm", "cacti_45nm", "n16", "n7")]
    for large, small in pairwise(tables):
        for bits in (8, 16, 24, 32):
            assert small.mac_pj(bits) < large.mac_pj(bits)
            assert small.mac_mm2(bits) < large.mac_mm2(bits)
        assert small.vector_op_pj < large.vector_op_pj
        assert small.hop_pj_per_bit < large.hop_pj_per_bit
        for storage, size, width in (("register", 64, 2), ("sram", 8192, 8), ("sram", 1 << 24, 64)):
            pairs = zip(
                small.buffer(storage, size, width), large.buffer(storage, size, width), strict=True
            )
            assert all(a < b for a, b in pairs)


@pytest.mark.parametrize("tech", ALL, ids=technology_names())
def test_dram_is_the_same_at_every_node(tech):
    assert tech.drams == TECH.drams
    assert {"ddr3", "ddr4", "lpddr4", "gddr6", "hbm2", "hbm3"} == set(tech.drams)


@pytest.mark.parametrize(
    ("name", "bits", "gbits_per_pin"),
    # JESD79-3, JESD79-4, JESD209-4, JESD250, JESD235, JESD238
    [
        ("ddr3", 64, 1.6),
        ("ddr4", 64, 3.2),
        ("lpddr4", 16, 3.2),
        ("gddr6", 32, 16),
        ("hbm2", 1024, 2),
        ("hbm3", 1024, 6.4),
    ],
)
def test_bandwidths_are_those_of_the_standards(name, bits, gbits_per_pin):
    assert TECH.dram(name).gbytes_per_s == pytest.approx(bits * gbits_per_pin / 8)
