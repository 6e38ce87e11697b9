from pathlib import Path

import pytest

from archloom.search.software.search import SoftwareSettings
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import write_network
from archloom.studies.config import study_config as module
from archloom.studies.config.errors import ConfigError, kind_of
from archloom.studies.config.software import Software
from archloom.studies.config.space_reference import space_text
from archloom.studies.config.study_config import load_config, parse_stored
from archloom.studies.errors import UserError
from archloom.studies.solve.stack.settings import load_stack

from ...cases.studies import TINY, write_study
from ...source_tree import ROOT

MANY_ERRORS = """\
name: "a b"
sed: 3
seed: -1
workloads: [resnet81, tiny_cnn]
space: casco_egde
constraints:
  area_mm2: 5 cm2
  tdp_w: 2 parsec
  power: 3
optimizer:
  name: mobo
  initail: 8
  pool: x
halving: {name: mhs, rounds: 3}
trials: 1e3
batch_size: 0
software:
  fusion: cascoo
  populaton: 3
executor: {name: rai, workers: 0}
baseline: eyeris
"""

EXPECTED = [
    (1, "name", "must have letters, digits"),
    (2, "sed", "did you mean seed?"),
    (3, "seed", "-1 must be greater than or equal to 0"),
    (4, "workloads[0]", "did you mean resnet18"),
    (5, "space", "did you mean casco_edge?"),
    (7, "constraints.area_mm2", "must be a plain number in mm2: write 500"),
    (8, "constraints.tdp_w", "has unit 'parsec', must be a plain number in W"),
    (9, "constraints.power", "known: area_mm2, tdp_w"),
    (12, "optimizer.initail", "did you mean initial?"),
    (13, "optimizer.pool", "'x' must be a valid integer"),
    (14, "halving.name", "did you mean msh?"),
    (15, "trials", "YAML reads this as a text, write 1000"),
    (16, "batch_size", "0 must be greater than or equal to 1"),
    (18, "software.fusion", "did you mean casco?"),
    (19, "software.populaton", "did you mean population?"),
    (20, "executor.name", "did you mean ray?"),
    (20, "executor.workers", "0 must be greater than or equal to 1"),
    (21, "baseline", "did you mean eyeriss or eyeriss_v2?"),
]


def errors_of(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(write_study(tmp_path, text))
    return [str(fault) for fault in caught.value.faults]


def test_all_errors_come_at_once_with_line_key_and_rule(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write_study(tmp_path, MANY_ERRORS))
    assert str(caught.value).startswith(f"{tmp_path / 'tiny.yaml'}: 18 errors\n")
    found = caught.value.faults
    assert [(f.place.line, f.place.path) for f in found] == [
        (line, key) for line, key, _ in EXPECTED
    ]
    for fault, (_, _, rule) in zip(found, EXPECTED, strict=True):
        assert rule in fault.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; a study needs workloads, space, trials"),
        ("# only a comment\n", "is empty; a study needs workloads, space, trials"),
        ("a: [", "line 1: is not YAML: while parsing a flow node, expected the node content"),
        ("a: \x00", "is not YAML: "),
        ("- a\n", "line 1: must hold 'key: value' lines, holds a list"),
        ("just words", "line 1: must hold 'key: value' lines, holds a str"),
        (TINY + "seed: 6\n", "line 11: seed: is already on line 1; give it once"),
        (TINY.replace("[tiny_cnn]", "tiny_cnn"), "workloads: 'tiny_cnn' must be a list"),
        (TINY.replace("[tiny_cnn]", "[]"), "workloads: names no network"),
        (TINY.replace("[tiny_cnn]", "[tiny_cnn, tiny_cnn]"), "tiny_cnn occurs more than once"),
        (TINY.replace("trials: 10\n", ""), "trials: is missing"),
        (TINY.replace("trials: 10", "trials: yes"), "True must be a valid integer"),
        (TINY + "constraints: {tdp_w: .nan}\n", "constraints.tdp_w: nan must be"),
        (TINY + "constraints: {tdp_w: -2}\n", "constraints.tdp_w: -2 must be greater than 0"),
        (TINY + "constraints: {tdp_w: 900 mW}\n", "plain number in W: write 0.9"),
        (TINY.replace("name: random", "name: random, pool: 3"), "optimizer.pool: is no option of"),
        (TINY.replace("{name: random}", "{pool: 3}"), "optimizer.name: is missing"),
        (TINY.replace("{name: random}", "random"), "optimizer: 'random' must be"),
        (TINY.replace("rounds: 3", "rounds: 0"), "line 5: halving: rounds (0) and budget (2)"),
        (TINY.replace("name: msh", "name: sh, auc_share: 0.1"), "halving.auc_share: is no option"),
        (TINY.replace("casco_edge", "./mine.yaml"), "space: "),
    ],
)
def test_one_mistake_is_one_error(tmp_path: Path, text: str, message: str) -> None:
    (found,) = errors_of(tmp_path, text)
    assert message in found


def test_a_template_with_faults_is_reported_under_the_key_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("parameters: {}\n")
    (found,) = errors_of(tmp_path, TINY.replace("casco_edge", "mine.yaml"))
    assert found.startswith("line 3: space: ")
    assert "mine.yaml" in found


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    write_study(tmp_path)
    with pytest.raises(UserError, match=r"no such study file; did you mean tiny\.yaml\?"):
        load_config(tmp_path / "tinny.yaml")
    with pytest.raises(UserError, match="is a directory, not a study file"):
        load_config(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(
        UserError, match=r"is not UTF-8 text: byte 0xff at position 0; save it as UTF-8"
    ):
        load_config(tmp_path / "binary.yaml")


def test_defaults_are_written_out(tmp_path: Path) -> None:
    text = "workloads: [tiny_cnn]\nspace: casco_edge\ntrials: 3\n"
    config = load_config(write_study(tmp_path, text))
    assert config.name == "tiny"
    assert config.halving.options.keys() == {"rounds", "first_budget", "auc_share", "rank"}
    assert config.optimizer.options["initial"] >= 1
    stored = config.to_dict()
    assert parse_stored(stored, tmp_path / "study.yaml") == config


def test_budgets_suit_the_planner_where_the_file_is_silent(tmp_path: Path) -> None:
    text = "workloads: [tiny_cnn]\nspace: casco_edge\ntrials: 3\n"

    def options(more: str) -> dict[str, object]:
        return load_config(write_study(tmp_path, text + more)).halving.options

    assert options("")["first_budget"] == 2
    assert options("software: {fusion: casco}\n")["first_budget"] == 64
    assert options("software: {budget: shared}\n")["first_budget"] == 64
    assert options("software: {fusion: casco}\nhalving: {name: none}\n") == {"evaluations": 448}
    assert options("mode: exact\n") == {"evaluations": 14}
    assert options("halving: {name: brackets, first_budget: 5}\n")["first_budget"] == 5


def test_a_template_stands_relative_to_the_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text(space_text("casco_edge"))
    path = write_study(tmp_path, TINY.replace("casco_edge", "mine.yaml"))
    monkeypatch.chdir("/")
    config = load_config(path)
    assert config.space == str(tmp_path / "mine.yaml")
    assert space_text(config.space) == space_text("casco_edge")


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (home / "mine.yaml").write_text(space_text("casco_edge"))
    write_network(network("tiny_cnn"), home / "net.json")
    text = TINY.replace("casco_edge", "~/mine.yaml").replace("tiny_cnn", "~/net.json")
    config = load_config(write_study(tmp_path, text))
    assert config.space == str(home / "mine.yaml")
    assert [w.network.name for w in config.workloads] == ["net"]


def test_software_section_sets_what_the_software_search_has() -> None:
    assert set(Software.layout) == set(SoftwareSettings.__dataclass_fields__)
    assert SoftwareSettings(**Software().settings) == SoftwareSettings()


def test_shipped_studies_are_valid() -> None:
    (shipped,) = Path(module.__file__).parents[1].glob("*.yaml")
    assert kind_of(shipped) is None
    assert load_config(shipped).name == "quickstart"
    stack = ROOT / "examples" / "stack_digits.yaml"
    assert kind_of(stack) == "stack"
    assert load_stack(stack).name == "stack_digits"
