"""``timing`` of DRAM through the command line: mappings, a design, a study, and what is refused."""

import json

import pytest

from archloom.studies.commands.cli import main

from ...source_tree import ROOT

FILE = ROOT / "tests" / "data" / "timeloop_cases.jsonl"

TEMPLATE = """\
technology: cacti_45nm
dram: ddr4
frequency_mhz: 500
word_bits: 8
vector_lanes: 8
pe_mesh: [8, "= pes"]
parameters:
  pes: {values: [4, 8]}
  channels: {values: [1, 2]}
levels:
  - name: spad
    storage: sram
    keeps: [weights, inputs, outputs]
    mesh: [8, "= pes"]
    capacity_bytes: 256
    bandwidth_words: 4
  - name: buffer
    storage: sram
    keeps: [weights, inputs, outputs]
    mesh: [1, 1]
    capacity_bytes: 32768
    bandwidth_words: 32
  - name: dram
    storage: dram
    keeps: [weights, inputs, outputs]
    mesh: [1, 1]
    bandwidth_words: 64
    timing: {device: ddr4_3200_x8, channels: "= channels", ranks: 2, layout: channels_last}
"""

STUDY = """\
name: rows
seed: 1
workloads: [alexnet]
space: hardware.yaml
objectives: [edp, area]
trials: 2
batch_size: 2
software: {fusion: FUSION, mapping: random, mapping_evaluations: 200}
executor: {name: inline}
"""


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["archloom", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def case(**timing):
    record = json.loads(FILE.read_text().splitlines()[0])
    dram = record["arch"]["levels"][-1]
    del dram["energy_pJ"], record["mapping"], record["result"]
    if timing:
        dram["timing"] = timing
    return record


def mapped(call, tmp_path, record):
    (tmp_path / "case.jsonl").write_text(json.dumps(record) + "\n")
    code, out, err = call("map", "case.jsonl", "--evaluations", "3000", "--json")
    assert code == 0, err
    return json.loads(out.splitlines()[0])


def test_map_counts_rows_and_banks(call, tmp_path):
    plain = mapped(call, tmp_path, case())
    sizes = {}
    for layout in ("channels_first", "channels_last"):
        fields = {"device": "hbm2_2000", "channels": 1, "ranks": 1, "layout": layout}
        found = mapped(call, tmp_path, case(**fields))
        assert not found["proven_optimal"]
        assert found["gap_percent"] > 0
        sizes[layout] = found["best"]["cycles"], found["best"]["energy_pj"]
    both = {*sizes.values(), (plain["best"]["cycles"], plain["best"]["energy_pj"])}
    assert len(both) == 3


def test_a_case_with_a_wrong_device_is_told(call, tmp_path):
    (tmp_path / "case.jsonl").write_text(json.dumps(case(device="hbm2")) + "\n")
    code, out, err = call("map", "case.jsonl", "--evaluations", "100")
    assert code != 0
    assert "did you mean hbm2_2000" in out + err


def test_a_design_and_a_study(call, tmp_path):
    (tmp_path / "hardware.yaml").write_text(TEMPLATE)
    code, out, err = call("hardware", "hardware.yaml", "--set", "pes=4", "--set", "channels=2")
    assert code == 0, err
    assert "TDP" in out
    (tmp_path / "study.yaml").write_text(STUDY.replace("FUSION", "none"))
    code, out, err = call("run", "study.yaml")
    assert code == 0, err
    assert "Pareto front" in out


def test_fusing_is_told_to_be_impossible(call, tmp_path):
    parameters = TEMPLATE.index("parameters:"), TEMPLATE.index("levels:")
    text = TEMPLATE[: parameters[0]] + TEMPLATE[parameters[1] :]
    (tmp_path / "hardware.yaml").write_text(
        text.replace("= pes", "= 4").replace("= channels", "= 1")
    )
    options = ("--evaluations", "5", "--mapping", "random", "--mapping-evaluations", "100")
    code, out, err = call("schedule", "alexnet", "--hardware", "hardware.yaml", *options)
    assert "rows and banks of DRAM" in out + err
    assert code == 0, err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("ddr4_3200_x8", "ddr4_3200", "did you mean ddr4_3200_x8"),
        ("channels_last", "channel_last", "did you mean channels_last"),
        ("ranks: 2", "rank: 2", "did you mean ranks"),
        ("device: ddr4_3200_x8, ", "", "is missing"),
        ("ranks: 2", "ranks: 99", "ranks"),
    ],
)
def test_faults_of_a_template_have_their_place(call, tmp_path, old, new, says):
    (tmp_path / "hardware.yaml").write_text(TEMPLATE.replace(old, new))
    code, out, err = call("hardware", "hardware.yaml", "--set", "pes=4", "--set", "channels=1")
    assert code != 0
    assert says in out + err
    assert "timing" in out + err


def test_faults_are_told_with_all_others(call, tmp_path):
    wrong = "channels: -1, ranks: 0, layout: channel_last"
    text = TEMPLATE.replace('channels: "= channels", ranks: 2, layout: channels_last', wrong)
    (tmp_path / "hardware.yaml").write_text(text.replace("word_bits: 8", "word_bits: x"))
    study = STUDY.replace("FUSION", "none").replace("trials: 2", "trials: -3")
    (tmp_path / "study.yaml").write_text(study.replace("edp, area", "edpp"))
    of_template = (
        "word_bits: must be a number",
        "levels[2].timing.channels: must be a whole number from 1 up to 1024, got -1",
        "levels[2].timing.ranks: must be a whole number from 1 up to 16, got 0",
        "levels[2].timing.layout: 'channel_last' is not known; did you mean channels_last",
    )
    code, out, err = call("hardware", "hardware.yaml", "--set", "pes=4")
    assert code != 0
    assert [says for says in of_template if says not in out + err] == []
    code, out, err = call("run", "study.yaml")
    assert code != 0
    of_study = ("objectives[0]: metric 'edpp'", "trials: -3")
    assert [says for says in (*of_template, *of_study) if says not in out + err] == []


def test_whole_numbers_may_be_written_with_a_point(call, tmp_path):
    (tmp_path / "hardware.yaml").write_text(TEMPLATE.replace("ranks: 2", "ranks: 2.0"))
    code, _, err = call("hardware", "hardware.yaml", "--set", "pes=4", "--set", "channels=2")
    assert code == 0, err


def test_packed_weights_are_refused(call, tmp_path):
    text = TEMPLATE.replace("levels:\n", "effects: {weight_format: bitmask}\nlevels:\n", 1)
    (tmp_path / "hardware.yaml").write_text(text)
    code, out, err = call("hardware", "hardware.yaml", "--set", "pes=4", "--set", "channels=1")
    assert code != 0
    assert "weight_format bitmask packs weights in DRAM" in out + err
