"""``archloom hardware --sensitivity``."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.solve.sensitivity import pooled_mappings

from ...solve.sensitivity.test_sensitivity import SLOW_DRAM

QUICK = ("--network", "tiny_mlp", "--mapping-evaluations", "200")


@pytest.fixture
def chip(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(SLOW_DRAM)
    return str(path)


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["hardware", *arguments], catch_exceptions=False)


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["hardware", *arguments])
    assert isinstance(result.exception, UserError), result.exception
    return str(result.exception)


def test_the_table_has_values_reasons_changes_and_what_decides(chip: str) -> None:
    done = ran(chip, "--sensitivity", *QUICK)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"mine: 5 values that no source gives (marked in {chip})"
    values = {line.split()[0]: line.split(maxsplit=4) for line in lines if "to be seen" in line}
    assert values["levels.dram.bandwidth_words"][1:4] == ["0.015625", "0.0078125", "0.03125"]
    assert values["dram"][1:3] == ["lpddr4", "to"]
    (dram,) = [line.split() for line in lines if line.startswith(" levels.dram.b") and "%" in line]
    assert dram[1:3] == ["+100.0%", "-50.0%"]
    assert "of tiny_mlp" not in done.stdout
    (sentence,) = [line for line in lines if line.startswith("  levels.dram.bandwidth_words: ")]
    assert re.match(r"  \S+ at 0\.0078125 latency \+100\.0%, energy .*; at 0\.03125 ", sentence)
    assert "Not varied, since they are no numbers: dram." in lines
    assert "search auto, up to 200 mappings of each layer, seed 0" in " ".join(done.stdout.split())


def test_where_nothing_decides_the_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"{SLOW_DRAM.partition('assumptions')[0]}assumptions: {{vector_lanes: guess}}\n"
    )
    output = ran(str(path), "--sensitivity", *QUICK).stdout
    assert "mine: 1 value that no source gives" in output
    told = (
        "No assumption changes a figure of tiny_mlp by more than 10%; the largest change is EDP "
        "+0.7% with vector_lanes at 32."
    )
    assert told in " ".join(output.split())
    assert "Not varied" not in output


def test_what_cannot_be_is_told_below_the_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = SLOW_DRAM.replace("rows: 4", "rows: 3").replace("inputs: 8", "inputs: 2")
    text = text.replace("word_bits: 8", "word_bits: 16")
    path.write_text(text + "  levels.spad.capacity_bytes.inputs: to be seen\n")
    output = ran(str(path), "--sensitivity", *QUICK).stdout
    assert "define.columns cannot be doubled: no other whole numbers have the product 12." in output
    assert re.search(r"spad\.capacity_bytes\.inputs: at 1 it cannot run: ", output)
    assert re.search(r"spad\.capacity_bytes\.inputs +cannot run ", output)
    assert re.search(r"define\.columns +\S+ +- ", output)


def test_json_has_all_figures_and_is_the_same_each_time(chip: str) -> None:
    asked = (chip, "--sensitivity", *QUICK, "--factor", "4", "--seed", "3", "--json")
    first, again = (ran(*asked).stdout for _ in range(2))
    assert first == again
    data = json.loads(first)
    assert (data["hardware"], data["file"], data["factor"]) == ("mine", chip, 4)
    assert data["mapping"] == {"search": "auto", "evaluations": 200, "seed": 3}
    (net,) = data["networks"]
    assert net["network"] == "tiny_mlp"
    assert net["deciding"][0] == "levels.dram.bandwidth_words"
    found = {one["key"]: one for one in data["assumptions"]}
    assert list(found) == [
        "dram",
        "levels.dram.bandwidth_words",
        "levels.glb.bandwidth_words",
        "levels.spad.capacity_bytes.weights",
        "define.columns",
    ]
    assert found["dram"]["value"] == "lpddr4"
    assert found["dram"]["more"] == {"values": {}, "refused": "it is not a number"}
    more = found["levels.dram.bandwidth_words"]["more"]
    assert more["values"] == {"levels.dram.bandwidth_words": 0.0625}
    (run,) = more["networks"]
    assert run["latency_change"] == -0.75
    assert run["latency_s"] == pytest.approx(net["latency_s"] / 4)
    assert more["area_mm2"] == pytest.approx(data["area_mm2"] * (1 + more["area_change"]))
    assert found["define.columns"]["product_with"] == "define.rows"
    assert found["define.columns"]["less"]["values"] == {"define.columns": 1, "define.rows": 16}


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_picture_is_the_same_each_time(chip: str, tmp_path: Path, ending: str) -> None:
    pictures = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path in pictures:
        done = ran(chip, "--sensitivity", *QUICK, "--plot", str(path))
        assert done.exit_code == 0
        # a long path is folded
        assert f"wrote{path}" in "".join(done.stderr.split())
    first, again = (path.read_bytes() for path in pictures)
    assert first == again
    assert len(first) > 5000


def test_a_preset_runs_both_usual_networks() -> None:
    done = ran("eyeriss", "--sensitivity", "--mapping-evaluations", "50", "--json")
    data = json.loads(done.stdout)
    assert [one["network"] for one in data["networks"]] == ["resnet18", "bert_base"]
    assert {one["key"] for one in data["assumptions"]} >= {"levels.glb.bandwidth_words"}


def test_mistakes_are_told(chip: str, tmp_path: Path) -> None:
    assert refused(chip, "--factor", "3", "--plot", "x.png") == (
        "--factor, --plot: only for --sensitivity; add it, or leave these out"
    )
    asked = (chip, "--sensitivity")
    message = refused(*asked, "--factor", "1", "--plot", "x.pdf", *QUICK, *QUICK)
    assert message.splitlines() == [
        "--factor must be a number above 1, got 1",
        "--network tiny_mlp is given twice",
        "--plot x.pdf: must end in .png or .svg",
    ]
    assert "--factor must be a number above 1, got 0" in refused(*asked, "--factor", "0")
    assert "did you mean tiny_mlp" in refused(*asked, "--network", "tiny_mpl")
    bare = tmp_path / "bare.yaml"
    bare.write_text(SLOW_DRAM.partition("assumptions")[0])
    assert f"bare: {bare} marks no value as an assumption" in refused(str(bare), "--sensitivity")


def test_a_network_that_cannot_run_ends_with_1(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = SLOW_DRAM.replace("inputs: 8", "inputs: 1").replace("word_bits: 8", "word_bits: 16")
    path.write_text(text)
    done = ran(str(path), "--sensitivity", *QUICK)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("mine: ")


def test_ctrl_c_ends_it_without_a_table(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pooled_mappings.Recorder, "__call__", stopped)
    done = ran(chip, "--sensitivity", *QUICK)
    assert done.exit_code == 130
    assert done.stdout == ""
    assert done.stderr.endswith("stopped before all designs were evaluated\n")
