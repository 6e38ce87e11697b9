"""Hardware of the API: the figures of ``archloom hardware``."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.studies.commands.cli import app

CASCO = {
    "pe_x": 16, "pe_y": 8, "weight_spad_bytes": 64, "input_spad_bytes": 16, "output_spad_bytes": 16,
    "l2_kib": 32, "dram_channels": 1, "clock_mhz": 200,
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("eyeriss", {}, []),
        ("tpu_v3", {"technology": "n7"}, ["--technology", "n7"]),
        ("simba", {"word_bits": 16}, ["--word-bits", "16"]),
        ("casco_edge", CASCO, [w for k, v in CASCO.items() for w in ("--set", f"{k}={v}")]),
    ],
)
def test_hardware_is_what_the_command_prints(
    source: str, options: dict[str, Any], words: list[str]
) -> None:
    found = al.load_hardware(source, **options)
    done = CliRunner().invoke(app, ["hardware", source, *words, "--json"], catch_exceptions=False)
    record = json.loads(done.stdout)
    assert (found.name, found.technology, found.macs) == (
        record["name"], record["technology"], record["macs"],
    )  # fmt: skip
    assert (found.area_mm2, found.tdp_w) == (record["area_total_mm2"], record["tdp_total_w"])
    assert (found.word_bits, list(found.pe_mesh)) == (record["word_bits"], record["pe_mesh"])
    assert (found.dram, found.dram_gbytes_per_s) == (record["dram"], record["dram_gbytes_per_s"])
    assert (found.frequency_mhz, found.on_chip_bytes) == (
        record["frequency_mhz"], record["on_chip_bytes"],
    )  # fmt: skip
    assert found.to_dict()["area_mm2"] == record["area_mm2"]
    for level, theirs in zip(found.levels, record["levels"], strict=True):
        assert (level.name, level.storage) == (theirs["name"], theirs["storage"])
        assert level.instances == theirs["instances"]
        assert list(level.keeps) == theirs["keeps"]
        each = theirs["capacity_bytes"]
        whole = sum(each.values()) if isinstance(each, dict) else each
        assert level.capacity_bytes == whole
        assert level.bandwidth_words_per_cycle == (theirs["bandwidth_words"] or float("inf"))


def test_hardware_is_taken_as_it_is(tmp_path: Path) -> None:
    found = al.load_hardware("eyeriss")
    assert al.load_hardware(found) is found
    with pytest.raises(al.ArchloomError, match="technology: eyeriss is loaded already"):
        al.load_hardware(found, technology="n7")
    with pytest.raises(al.ArchloomError, match="no such preset, template or file"):
        al.load_hardware(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("eyerss", {}, "did you mean eyeriss"),
        ("eyeriss", {"pe_x": 3}, "preset eyeriss has no parameters; leave out pe_x=3"),
        ("eyeriss", {"technology": "n8"}, "technology: 'n8' is not known"),
        ("eyeriss", {"word_bits": 24}, "word_bits: level glb: 24-bit words do not fill"),
        ("fast_small", {"word_bits": 64}, "words of 64 bits are outside the table"),
        ("casco_edge", CASCO | {"pe_x": 3}, "casco_edge: pe_x: "),
        ("casco_edge", CASCO | {"pe_z": 3}, "casco_edge: pe_z=3: 'pe_z' is no parameter"),
        ("casco_edge", {}, "casco_edge: pe_x=... is missing; allowed values: "),
    ],
)
def test_mistakes_name_the_argument(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(al.ArchloomError, match=re.escape(message)) as error:
        al.load_hardware(source, **options)
    assert "--" not in str(error.value)


def test_what_notebooks_show() -> None:
    found = al.load_hardware("eyeriss")
    assert repr(found).startswith("<archloom.Hardware eyeriss: 168 MACs at 200 MHz, ")
    assert "13.66 mm²" in found._repr_html_()
    odd = al.Hardware(replace(found._chip, name="<u>odd</u>"))
    assert "<u>odd" not in odd._repr_html_()
