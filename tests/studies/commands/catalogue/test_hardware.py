import io
import json
import re
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from archloom.evaluators.hardware import access_costs, hardware_cost
from archloom.evaluators.technology.registry import technology, technology_names
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS, TEMPLATES
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware
from archloom.studies.commands.catalogue.hardware import full_details, show_hardware
from archloom.studies.commands.cli import app
from archloom.studies.config.hardware_reference import ChosenHardware, find_hardware
from archloom.studies.errors import UserError

from ....cases.studies import archloom

POINT = {
    "pe_x": "16",
    "pe_y": "14",
    "weight_spad_bytes": "64",
    "input_spad_bytes": "32",
    "output_spad_bytes": "32",
    "l2_kib": "256",
    "dram_channels": "2",
    "clock_mhz": "400",
}
SETTINGS = [f"{name}={value}" for name, value in POINT.items()]


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def said(*arguments: str) -> str:
    """Return the message that a mistake gets."""
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, UserError), result.exception
    return str(result.exception)


def text_of(hardware: Hardware) -> str:
    output = io.StringIO()
    show_hardware(ChosenHardware(hardware, Path("x.yaml")), False, Console(file=output, width=160))
    return output.getvalue()


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("table", [None, *technology_names()])
def test_every_preset_can_be_shown_in_every_technology(name: str, table: str | None) -> None:
    option = [] if table is None else ["--technology", table]
    details = json.loads(shown("hardware", name, "--json", *option))
    chip = preset(name) if table is None else replace(preset(name), technology=table)
    cost, costs = hardware_cost(chip), access_costs(chip)
    assert details["technology"] == chip.technology
    assert details["area_total_mm2"] == pytest.approx(cost.area_mm2)
    assert details["tdp_total_w"] == pytest.approx(cost.tdp_w)
    assert sum(details["area_mm2"].values()) == pytest.approx(cost.area_mm2)
    assert details["mac_pj"] == costs.mac_pj
    for i, level in enumerate(details["levels"]):
        assert level["read_pj"].keys() == set(chip.levels[i].keeps)
        for tensor, pj in level["read_pj"].items():
            assert pj == costs.read_pj[i][("weights", "inputs", "outputs").index(tensor)] > 0
        assert level["instances"] == chip.levels[i].instances
    shares = sum(level["tdp_share"] for level in details["levels"])
    assert 0 < shares < 1


def test_figures_of_tpu_v3() -> None:
    """FAST: 123 TFLOPS, 137 FLOP for a byte, 900 GB/s; HBM2 has 256 GB/s in a stack."""
    details = full_details(find_hardware("tpu_v3", [], None, None))
    assert details["peak_tops"] == pytest.approx(123, rel=0.002)
    assert details["ridge_ops_per_byte"] == pytest.approx(137, abs=0.5)
    assert details["ridge_ops_per_byte"] == 2 * details["ridge_macs_per_byte"]
    assert details["dram_units"] * details["dram_unit_gbytes_per_s"] == pytest.approx(900)
    assert details["dram_unit"] == "stack"


def test_text_says_what_architects_ask_for() -> None:
    text = text_of(preset("eyeriss"))
    for words in (
        "14x12 scalar PEs (168 MACs of 16 bits), 200 MHz",
        "lpddr4 at 6.4 GB/s and 8 pJ/bit, technology table eyeriss_65nm",
        "Peak performance: 0.0672 TOPS",
        "5.25 MACs (10.5 operations) per byte of DRAM traffic",
        "DRAM: lpddr4, 1 channel of 6.4 GB/s",
        "2 pJ per MAC",
        "weights 448, inputs 24, outputs 48",
        "Sources of energy and area (eyeriss_65nm, 65 nm)",
        "nn_dataflow",
        "x.yaml",
    ):
        assert words in text
    rows = [line.split() for line in text.splitlines()]
    assert ["glb", "64", "bits", "60", "60", "2.863", "0.078", "10.8%"] in rows
    # the largest part has the longest bar
    bars = {row[0]: sum(map(len, re.findall("█+", " ".join(row)))) for row in rows if row}
    assert bars["spad"] >= bars["glb"] > bars["macs"]


def test_only_entries_that_price_the_design_are_sourced() -> None:
    plain = full_details(ChosenHardware(preset("shidiannao"), Path()))["sources"]
    assert [name for name in plain if name.startswith("drams.")] == ["drams.lpddr4"]
    assert "hop_pj_per_bit" not in plain
    mesh = replace(preset("shidiannao"), effects=Effects(network="mesh"))
    assert "hop_pj_per_bit" in full_details(ChosenHardware(mesh, Path()))["sources"]
    text = text_of(mesh)
    assert "; network mesh" in text
    assert "Properties of levels that differ from the defaults:\n" in text
    assert "neuron_buffers: network to its children: 3.98 pJ per word and hop" in text
    assert "Properties of levels that differ from the defaults" not in text_of(preset("shidiannao"))


def test_energies_of_the_design_and_missing_limits_are_shown() -> None:
    chip = preset("eyeriss")
    own = replace(chip.levels[1], energy=AccessEnergy(1.5, 2.5, 3.5), bandwidth_words=inf)
    hardware = replace(chip, levels=(chip.levels[0], own, chip.levels[2]))
    details = full_details(ChosenHardware(hardware, Path()))
    assert details["levels"][1]["energies_from"] == "the design"
    assert details["levels"][0]["energies_from"] == "eyeriss_65nm"
    assert details["levels"][1]["gbytes_per_s"] is None
    assert details["levels"][1]["update_pj"] == {"inputs": 3.5, "outputs": 3.5}
    assert json.loads(json.dumps(details, allow_nan=False)) is not None
    text = text_of(hardware)
    assert "fill 2.5; update 3.5" in text
    assert "unlimited" in text
    assert "  glb: access energies given by the design" in text


def test_switches_of_levels_are_shown() -> None:
    chip = preset("eyeriss")
    spad = replace(chip.levels[0], cluster_size=4, tensor_bits=(("outputs", 32),))
    glb = replace(
        chip.levels[1], read_bandwidth_words=8, multiple_buffering=2, multicast=("inputs",)
    )
    text = text_of(replace(chip, levels=(spad, glb, chip.levels[2])))
    assert (
        "spad: 4 instances share an access; word width in bits: weights 16, inputs 16, outputs 32"
        in text
    )
    assert (
        "glb: read bandwidth 8 words/cycle; multiple buffering: 2 copies of each tile; no" in text
    )


def test_the_fit_error_is_shown_where_sram_is_interpolated() -> None:
    chip = preset("shidiannao")
    fit = full_details(ChosenHardware(chip, Path()))["sram_fit_error"]
    assert fit["size"].keys() == {"read_pj", "write_pj", "leakage_mw", "area_mm2"}
    worst = technology("cacti_65nm").sram.fit_errors("width")["area_mm2"].worst
    assert fit["width"]["area_mm2"]["worst"] == worst
    assert "left-out CACTI runs" in text_of(chip)
    registers = [replace(level, storage="register") for level in chip.levels[:-1]]
    without = replace(chip, levels=(*registers, chip.levels[-1]))
    assert full_details(ChosenHardware(without, Path()))["sram_fit_error"] is None
    assert "left-out CACTI runs" not in text_of(without)


def test_a_template_is_shown_with_a_value_for_each_parameter() -> None:
    details = json.loads(
        shown("hardware", "casco_edge", "--json", *[f"--set={s}" for s in SETTINGS])
    )
    assert details["pe_mesh"] == [16, 14]
    assert details["frequency_mhz"] == 400
    assert details["levels"][1]["capacity_bytes"] == 256 * 1024
    assert details["name"].startswith("casco_edge(pe_x=16, pe_y=14")


def test_a_file_is_a_template_too(tmp_path: Path) -> None:
    preset_text = (Path(find_hardware("edgetpu", [], None, None).file)).read_text()
    own = tmp_path / "mine.yaml"
    own.write_text(preset_text.replace("clock_mhz: 1066", "clock_mhz: 500"))
    found = find_hardware(str(own), [], None, None)
    assert (found.hardware.name, found.hardware.frequency_mhz) == ("mine", 500)
    assert found.file == own


def test_words_of_another_width() -> None:
    details = json.loads(shown("hardware", "eyeriss", "--word-bits", "8", "--json"))
    assert details["word_bits"] == 8
    assert details["levels"][1]["line_bits"] == 64
    assert details["levels"][1]["word_bits"] == {"inputs": 8, "outputs": 8}


MISTAKES = [
    (["eyris"], "eyris: no such preset, template or file; did you mean eyeriss"),
    (["zzz"], "known: edgetpu, eyeriss, eyeriss_v2, fast_large, fast_small, shidiannao, simba, "),
    (["/"], "no such preset, template or file"),
    (["eyeriss", "--set", "a=1"], "preset eyeriss has no parameters"),
    (["eyeriss", "--technology", "n16nm"], "--technology: 'n16nm' is not known; did you mean"),
    (["eyeriss", "--word-bits", "12"], "--word-bits: level glb: 12-bit words do not fill"),
    (["eyeriss", "--word-bits", "-8"], "--word-bits: word_bits must be at least 1, got -8"),
    (["eyeriss", "--word-bits", "4"], "eyeriss: multiply_pj: words of 4 bits are outside"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_told(arguments: list[str], message: str) -> None:
    assert message in said("hardware", *arguments)


def test_all_mistakes_in_parameters_are_told_at_once() -> None:
    wrong = ["pe_x=5", "pe_z=3", "pe_y", "=4", "l2_kib=nan", "clock_mhz=400", "clock_mhz=200"]
    message = said("hardware", "casco_edge", *[f"--set={s}" for s in wrong])
    for fault in (
        "--set pe_x: parameter pe_x: 5 is not one of its values; the nearest is 4",
        "--set pe_z=3: 'pe_z' is no parameter; did you mean",
        "--set pe_y: must be name=value",
        "--set =4: must be name=value",
        "--set l2_kib: parameter l2_kib: nan is not one of its values",
        "--set clock_mhz=200: clock_mhz is set twice",
    ):
        assert fault in message
    with pytest.raises(UserError) as caught:
        find_hardware("casco_edge", wrong, None, None)
    assert "--set dram_channels=... is missing; allowed values: 1, 2, 4" in str(caught.value)


def test_a_rule_that_is_broken_is_told() -> None:
    settings = [f"--set={s}" for s in SETTINGS if not s.startswith("pe_")]
    message = said("hardware", "casco_edge", "--set", "pe_x=32", "--set", "pe_y=32", *settings)
    assert (
        "casco_edge: max_pes at pe_x = 32, pe_y = 32: needs 1,024 PEs, 384 PEs available" in message
    )


def test_faults_of_a_file_are_told(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text("technology: n7\nlevels: 3\n")
    message = said("hardware", str(own))
    assert f"{own}: line 2: levels: must be a list" in message
    assert "dram: is missing" in message
    text = find_hardware("edgetpu", [], None, None).file.read_text()
    own.write_text(text.replace("technology: n16", "technology: n17"))
    message = said("hardware", str(own))
    assert f"{own}: technology 'n17' is not known; did you mean" in message
    own.write_text(text.replace("dram: lpddr4", "dram: lpddr9"))
    assert "technology n16 has no DRAM 'lpddr9'; did you mean lpddr4" in said("hardware", str(own))


def test_the_help_has_examples_and_a_mistake_ends_with_2(tmp_path: Path) -> None:
    assert "archloom hardware eyeriss" in " ".join(shown("hardware", "--help").split())
    done = archloom("hardware", "eyris", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: eyris: no such preset")
    assert "Traceback" not in done.stderr


def test_every_template_says_what_is_missing() -> None:
    for name in TEMPLATES:
        with pytest.raises(UserError, match=f"{name}: --set"):
            find_hardware(name, [], None, None)


def test_parameters_that_nobody_sets_have_their_first_values() -> None:
    details = json.loads(shown("hardware", "casco_edge", "--set", "pe_x=8", "--json"))
    space = HardwareSpace.load("casco_edge")
    assert details["parameters"] == {
        p.name: {
            "value": 8 if p.name == "pe_x" else p.values[0],
            "values": list(p.values),
            "given": p.name == "pe_x",
        }
        for p in space.parameters
    }
    assert details["pe_mesh"] == [8, 4]
    table = shown("hardware", "casco_edge", "--set", "pe_x=8")
    assert "(in brackets: first value, change it with --set)" in table
    rows = [line.split() for line in table.splitlines()]
    assert ["pe_x", "8", "4", "7", "8", "12", "14", "16", "24", "28", "32"] in rows
    assert ["clock_mhz", "(200)", "200", "400", "800"] in rows


def test_parameters_without_effect_are_not_shown() -> None:
    """fast has its buffers by tensor unless its first level is shared."""
    found = json.loads(shown("hardware", "fast", "--json"))["parameters"]
    assert "l1_input_kib" in found
    assert "l1_total_kib" not in found


# archloom technology


def test_all_tables_are_listed() -> None:
    listed = json.loads(shown("technology", "--json"))
    assert [table["name"] for table in listed] == technology_names()
    assert all(table["mac_16_pj"] > table["mac_8_pj"] > 0 for table in listed)
    text = shown("technology")
    assert all(name in text for name in technology_names())


@pytest.mark.parametrize("name", technology_names())
def test_a_table_is_shown_with_every_source(name: str) -> None:
    table = technology(name)
    details = json.loads(shown("technology", name, "--json"))
    sources = {key: entry["source"] for key, entry in details["entries"].items()}
    sources |= {f"drams.{key}": dram["source"] for key, dram in details["drams"].items()}
    assert sources | {"sram": details["sram"]["source"]} == table.sources
    assert details["node_nm"] == table.node_nm
    assert details["drams"]["hbm3"]["gbytes_per_s"] == 819.2
    for axis, errors in details["sram"]["fit_error"].items():
        expected = table.sram.fit_errors(axis)
        assert errors == {key: error._asdict() for key, error in expected.items()}
    text = " ".join(shown("technology", name).split())
    assert f"{name}: {table.node_nm} nm" in text
    assert "left-out CACTI runs" in text
    assert "LPDDR4-3200" in text


def test_a_table_that_is_not_there_is_told() -> None:
    assert "technology 'n71' is not known; did you mean n7" in said("technology", "n71")
