import shutil

import pytest
import yaml

from archloom.evaluators.technology.node_scaling import area_factor, energy_factor, wire_factor
from archloom.evaluators.technology.reader import read_technology
from archloom.evaluators.technology.registry import technology, technology_names
from archloom.evaluators.technology.sram import load_sram_table

from ...source_tree import ROOT

FOLDER = ROOT / "evaluators" / "technology" / "tables"
TECH = technology("cacti_45nm")


def rewritten(tmp_path, change, name="cacti_45nm"):
    """Return a copy of a table with one change, beside the SRAM runs."""
    data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    change(data)
    shutil.copy(FOLDER / "sram_cacti7.csv", tmp_path)
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.mark.parametrize("name", technology_names())
def test_every_shipped_table_loads_and_names_a_source_for_each_entry(name):
    table = technology(name)
    assert table.name == name
    data = yaml.safe_load((FOLDER / "cacti_45nm.yaml").read_text())
    data |= yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    entries = {key for key, value in data.items() if isinstance(value, dict)}
    entries -= {"drams", "scaled_from"}
    optional = {
        key for key in table.sources if key.endswith(("access_pj_per_bit", "idle_mw_per_mm2"))
    }
    assert entries <= set(table.sources)
    assert set(table.sources) <= entries | optional | {f"drams.{dram}" for dram in table.drams}
    assert all(len(source) > 20 for source in table.sources.values())


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
        "test_factr: unknown entry; did you mean test_factor",
        "test_factor: missing",
        "drams.hbm2.source: missing",
        "drams.lpddr4.pj_per_byte: unknown key; did you mean pj_per_bit?",
        "add_pj.by_bits: must map at least two word widths",
        "register_pj_per_bit: must be a mapping with value, source, got 0.01",
        "sram.source: must name a source",
        "node_nm: must be a whole number from 1 to 1024, got True",
    ):
        assert fault in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- 1", "must be a mapping"),
        ("just text", "must be a mapping"),
        ("", "must be a mapping"),
        ("a: [", "while parsing a flow node"),
        ("? [1]\n: 2", "line 1: is not YAML: a key must be plain text"),
        ("name: a\nname: b", r"line 2: name: is already on line 1; give it once\n"),
        ("&a [*a]", r"line 1: is not YAML: \*a is inside &a, so it contains itself"),
        ("[" * 100_000, "is nested too deeply"),
        ("name: &a {b: *a}", r"\*a is inside &a, so it contains itself"),
        ("multiply_pj: &a {by_bits: *a, source: x}", r"\*a is inside &a, so it contains itself"),
        ("\0", "unacceptable character|control characters"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content, message):
    path = tmp_path / "table.yaml"
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"(?s)^table\.yaml: .*({message})"):
        read_technology(path)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "latin.yaml").write_bytes(b"name: \xff")
    for name, message in (("none", "No such file"), ("latin", "codec can't decode")):
        with pytest.raises(ValueError, match=rf"{name}\.yaml: .*{message}"):
            read_technology(tmp_path / f"{name}.yaml")


def test_drams_may_not_be_empty(tmp_path):
    with pytest.raises(ValueError, match="drams: must be a mapping with at least one"):
        read_technology(rewritten(tmp_path, lambda data: data.update(drams={})))


def test_high_performance_cells_leak_about_seventy_times_as_much(tmp_path):
    fast = read_technology(rewritten(tmp_path, lambda data: data["sram"].update(cell="itrs-hp")))
    for size in (512, 1 << 16, 1 << 24):
        ratio = fast.sram.cost(size, 16).leakage_mw / TECH.sram.cost(size, 16).leakage_mw
        assert 68 < ratio < 75


def test_cacti_is_not_interpolated_at_nodes_where_its_energies_fall():
    for node in (22, 65):
        with pytest.raises(ValueError, match=r"write_pj falls from .* bytes at width"):
            load_sram_table(FOLDER / "sram_cacti7.csv", node, "itrs-lop")


def scaled_table(**changes):
    """Return the smallest table at 16 nm that is scaled from cacti_45nm."""
    origin = {"table": "cacti_45nm", "from_volts": 0.9, "to_volts": 0.8, "source": "A paper."}
    return {"name": "x", "node_nm": 16, "scaled_from": origin} | changes


def written(folder, data, name="x"):
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_scaled_table_is_the_other_times_the_factors(tmp_path):
    table = read_technology(written(tmp_path, scaled_table()))
    nodes = (45, 0.9, 16, 0.8)
    energy, wire, area = energy_factor(*nodes), wire_factor(*nodes), area_factor(45, 16)
    for bits in (8, 16, 32):
        assert table.mac_pj(bits) == pytest.approx(energy * TECH.mac_pj(bits))
        assert table.mac_mm2(bits) == pytest.approx(area * TECH.mac_mm2(bits))
    assert table.register_pj_per_bit == pytest.approx(energy * TECH.register_pj_per_bit)
    assert table.register_um2_per_bit == pytest.approx(area * TECH.register_um2_per_bit)
    assert table.hop_pj_per_bit == pytest.approx(wire * TECH.hop_pj_per_bit)
    # the leakage of a circuit follows its energy
    assert table.logic_mw(area * 2.0) == pytest.approx(energy * TECH.logic_mw(2.0))
    for size, width in ((700, 4), (1 << 20, 64)):
        scaled, macro = table.sram.cost(size, width), TECH.sram.cost(size, width)
        assert scaled[:3] == pytest.approx([energy * value for value in macro[:3]])
        assert scaled.area_mm2 == pytest.approx(area * macro.area_mm2)
    for key in ("layout_factor", "control_factor", "test_factor", "accumulator_bits", "drams"):
        assert getattr(table, key) == getattr(TECH, key)
    assert table.sources["multiply_pj"] == (
        f"{TECH.sources['multiply_pj']} Scaled from cacti_45nm: energy x0.1721, A paper."
    )
    assert table.sources["sram"].endswith(
        "read x0.1721, write x0.1721, leakage x0.1721, area x0.19, A paper."
    )


def test_a_table_can_say_single_entries_itself(tmp_path):
    own = {
        "multiply_pj": {"by_bits": {8: 1.0, 16: 2.0, 32: 8.0}, "source": "Ours."},
        "sram": {"read_factor": 0.5, "source": "Also ours."},
        "drams": {
            "lpddr5": {
                "pj_per_bit": 4.0,
                "phy_mm2_per_gbytes_per_s": 0.1,
                "unit": "channel",
                "gbytes_per_s": 12.8,
                "source": "A standard.",
            }
        },
        "idle_mw_per_mm2": {"value": 3.0, "source": "Measured."},
    }
    table = read_technology(written(tmp_path, scaled_table(**own)))
    assert table.multiply_pj == ((8, 1.0), (16, 2.0), (32, 8.0))
    assert table.sources["multiply_pj"] == "Ours."
    energy = energy_factor(45, 0.9, 16, 0.8)
    scaled, macro = table.sram.cost(4096, 8), TECH.sram.cost(4096, 8)
    assert scaled.read_pj == pytest.approx(0.5 * macro.read_pj)
    assert scaled.write_pj == pytest.approx(energy * macro.write_pj)
    assert "Also ours. Scaled from cacti_45nm: write x0.1721" in table.sources["sram"]
    assert table.idle_mw_per_mm2 == 3.0
    assert set(table.drams) == {*TECH.drams, "lpddr5"}


def test_a_table_can_be_scaled_from_a_scaled_one(tmp_path):
    idle = {"idle_mw_per_mm2": {"value": 3.0, "source": "Measured."}}
    written(tmp_path, scaled_table(**idle), "middle")
    origin = {"table": "middle", "from_volts": 0.8, "to_volts": 0.7, "source": "B."}
    table = read_technology(written(tmp_path, scaled_table(node_nm=7, scaled_from=origin)))
    assert table.mac_pj(16) == pytest.approx(energy_factor(45, 0.9, 7, 0.7) * TECH.mac_pj(16))
    density = energy_factor(16, 0.8, 7, 0.7) / area_factor(16, 7)
    assert table.idle_mw_per_mm2 == pytest.approx(3.0 * density)
    read = energy_factor(45, 0.9, 7, 0.7) * TECH.sram.cost(4096, 8).read_pj
    assert table.sram.cost(4096, 8).read_pj == pytest.approx(read)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_nm": 28}, "scaled_from: no scaling factors for 28 nm; nodes are 130, 90"),
        ({"scaled_from": {"table": "cacti_45nm"}}, "scaled_from.from_volts: missing\n"),
        ({"scaled_from": "cacti_45nm"}, "scaled_from: must be a mapping with from_volts"),
        ({"scaled_from": None}, "scaled_from: must be a mapping with"),
        ({"sram": {"source": "S."}}, "sram: must have at least one of read_factor, write_factor"),
        ({"sram": {"file": "a.csv", "source": "S."}}, "sram.file: unknown key"),
        (
            {"add_pj": {"by_bits": {8: 0.1, 16: 0.2}, "source": "S."}},
            "accumulator_bits.value: 32 is not in add_pj, 8 to 16 bits",
        ),
    ],
)
def test_faults_of_a_scaled_table_are_told(tmp_path, changes, message):
    with pytest.raises(ValueError, match=r"x\.yaml: ") as caught:
        read_technology(written(tmp_path, scaled_table(**changes)))
    assert message in str(caught.value)


def test_origins_must_exist_and_may_not_go_in_circles(tmp_path):
    def origin(name):
        return {"table": name, "from_volts": 0.8, "to_volts": 0.8, "source": "S."}

    with pytest.raises(ValueError, match="'cacti_45' is not known; did you mean cacti_45nm"):
        read_technology(written(tmp_path, scaled_table(scaled_from=origin("cacti_45"))))
    a = written(tmp_path, scaled_table(scaled_from=origin("b")), "a")
    written(tmp_path, scaled_table(scaled_from=origin("a")), "b")
    with pytest.raises(ValueError, match=r"b\.yaml: scaled_from\.table: 'a' is scaled from this"):
        read_technology(a)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"file": "none.csv"}, "sram: none.csv: .*No such file"),
        ({"node_nm": 28}, "sram: .*no rows for 28 nm"),
        ({"cell": 5}, "sram.cell: must be text, got 5"),
    ],
)
def test_faults_of_the_sram_runs_name_the_table(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"table\.yaml: {message}"):
        read_technology(rewritten(tmp_path, lambda data: data["sram"].update(change)))
