import shutil
from dataclasses import FrozenInstanceError

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from archloom.evaluators.technology import by_bits, read_technology, technology, technology_names

from ..source_tree import ROOT

FOLDER = ROOT / "evaluators" / "technologies"
TECH = technology("cacti_45nm")


def rewritten(tmp_path, change):
    """Return a copy of the table with one change, beside its SRAM runs."""
    data = yaml.safe_load((FOLDER / "cacti_45nm.yaml").read_text())
    change(data)
    shutil.copy(FOLDER / "sram_cacti7.csv", tmp_path)
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.mark.parametrize("name", technology_names())
def test_every_shipped_table_loads_and_names_a_source_for_each_entry(name):
    table = technology(name)
    assert table.name == name
    data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    entries = {key for key, value in data.items() if isinstance(value, dict)} - {"drams"}
    assert set(table.sources) == entries | {f"drams.{dram}" for dram in table.drams}
    assert all(len(source) > 20 for source in table.sources.values())


def test_a_mac_is_a_multiply_and_an_add_into_32_bits():
    assert TECH.mac_pj(8) == pytest.approx(0.2 + 0.1)
    assert TECH.mac_pj(32) == pytest.approx(3.1 + 0.1)
    # between 8 and 32 bits the power law through both: 0.2 * 15.5 ** 0.5
    assert TECH.mac_pj(16) == pytest.approx(0.2 * 15.5**0.5 + 0.1)
    assert TECH.mac_mm2(8) == pytest.approx((282 + 137) * 1e-6)


@given(st.integers(8, 31))
def test_wider_words_cost_more(bits):
    assert TECH.mac_pj(bits + 1) > TECH.mac_pj(bits)
    assert TECH.mac_mm2(bits + 1) > TECH.mac_mm2(bits)


@pytest.mark.parametrize("bits", [4, 64])
def test_words_outside_the_table_are_refused_not_extrapolated(bits):
    with pytest.raises(ValueError, match=rf"words of {bits} bits.*8 to 32 bits"):
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
    """The break-even that docs/technology.md states."""
    macro = TECH.buffer("sram", 512, 2).area_mm2
    assert TECH.buffer("register", 94, 2).area_mm2 < macro < TECH.buffer("register", 95, 2).area_mm2


def test_the_layout_factor_is_in_the_area_of_sram():
    assert TECH.buffer("sram", 4096, 8).area_mm2 == pytest.approx(
        2.2 * TECH.sram.cost(4096, 8).area_mm2
    )


def test_unknown_names_get_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'cacti_45nm'"):
        technology("cacti_45")
    with pytest.raises(ValueError, match="no DRAM 'lpddr5'; did you mean 'lpddr4'"):
        TECH.dram("lpddr5")
    with pytest.raises(ValueError, match="DRAM is not a buffer"):
        TECH.buffer("dram", 512, 4)


def test_all_faults_of_a_table_are_reported_at_once(tmp_path):
    def spoil(data):
        data["multiply_pj"]["by_bits"][8] = -0.2
        data["layout_factor"]["value"] = "2.2x"
        data["test_factr"] = data.pop("test_factor")
        data["drams"]["hbm2"].pop("source")
        data["drams"]["lpddr4"]["pj_per_byte"] = 64
        data["add_pj"]["by_bits"] = {8: 0.03}
        data["register_pj_per_bit"] = 0.01
        data["sram"]["source"] = " "
        data["node_nm"] = True

    with pytest.raises(ValueError, match=r"table\.yaml") as caught:
        read_technology(rewritten(tmp_path, spoil))
    message = str(caught.value)
    for fault in (
        "multiply_pj.by_bits.8: must be a positive number, got -0.2",
        "layout_factor.value: must be a positive number, got '2.2x'",
        "test_factr: unknown entry; did you mean 'test_factor'?",
        "test_factor: missing",
        "drams.hbm2.source: missing",
        "drams.lpddr4.pj_per_byte: unknown key; did you mean 'pj_per_bit'?",
        "add_pj.by_bits: must map at least two word widths",
        "register_pj_per_bit: must be a mapping with value, source",
        "sram.source: must name a source",
        "node_nm: must be a positive number, got True",
    ):
        assert fault in message


@pytest.mark.parametrize("content", ["- 1", "just text", ""])
def test_a_file_that_is_no_table_is_refused(tmp_path, content):
    path = tmp_path / "table.yaml"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"table\.yaml: must be a mapping"):
        read_technology(path)


def test_drams_may_not_be_empty(tmp_path):
    with pytest.raises(ValueError, match="drams: must be a mapping with at least one"):
        read_technology(rewritten(tmp_path, lambda data: data.update(drams={})))


def test_high_performance_cells_leak_about_seventy_times_as_much(tmp_path):
    fast = read_technology(rewritten(tmp_path, lambda data: data["sram"].update(cell="itrs-hp")))
    for size in (512, 1 << 16, 1 << 24):
        ratio = fast.sram.cost(size, 16).leakage_mw / TECH.sram.cost(size, 16).leakage_mw
        assert 68 < ratio < 75


def test_a_table_does_not_change():
    with pytest.raises(FrozenInstanceError):
        TECH.layout_factor = 1.0
