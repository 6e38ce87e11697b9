"""Schemas of study files and templates: what Archloom reads they take, and slips they refuse."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.template import TemplateError
from archloom.studies.analysis.published_chips.chip_files import own_chips
from archloom.studies.commands.cli import app
from archloom.studies.commands.setup.docstrings import attributes, described, summary
from archloom.studies.commands.setup.schema_command import schema_of
from archloom.studies.config.study_config import load_config
from archloom.studies.errors import UserError
from archloom.studies.solve.stack.settings import load_stack

from ...source_tree import ROOT

SCHEMAS = {kind: schema_of(kind) for kind in ("study", "template", "chip")}
CHECKS = {kind: Draft202012Validator(schema) for kind, schema in SCHEMAS.items()}

TEMPLATES = [
    *(ROOT / "space" / "design_space").glob("*/*.yaml"),
    *(ROOT / "studies" / "commands" / "setup" / "starters").glob("*/hardware.yaml"),
    *(ROOT / "examples").glob("*/edge.yaml"),
]
STARTERS = ROOT / "studies" / "commands" / "setup" / "starters"
CHIPS = [*own_chips().values(), *STARTERS.glob("*/chip.yaml")]
STUDIES = [
    *(ROOT / "studies").glob("*.yaml"),
    *(ROOT / "studies" / "commands" / "setup" / "starters").glob("*/study.yaml"),
    *(ROOT / "examples").glob("*.yaml"),
    *(ROOT / "examples").glob("*/study.yaml"),
]


def wrong(kind: str, data: Any) -> list[str]:
    """Return what a schema refuses, each with the keys that lead to it."""
    return [f"{error.json_path}: {error.message}" for error in CHECKS[kind].iter_errors(data)]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one_and_is_what_the_command_prints(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])
    done = CliRunner().invoke(app, ["schema", kind])
    assert done.exit_code == 0
    assert json.loads(done.output) == SCHEMAS[kind]


def test_an_unknown_kind_is_told() -> None:
    done = CliRunner().invoke(app, ["schema", "stduy"])
    assert str(done.exception) == "schema 'stduy' is unknown; did you mean study?"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_templates_keep_to_the_schema(path: Path) -> None:
    assert wrong("template", yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_studies_keep_to_the_schema(path: Path) -> None:
    assert wrong("study", yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("path", CHIPS, ids=lambda path: path.stem)
def test_all_chip_files_keep_to_the_schema(path: Path) -> None:
    assert wrong("chip", yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize(
    ("slip", "refused"),
    [
        ({"layers": {"conv1": {"power": 3}}}, "$.layers.conv1"),
        ({"layers": {"conv1": {"glb_mb": 0}}}, "$.layers.conv1.glb_mb"),
        ({"figures": {"latency_ms": {"allowed": [1]}}}, "$.figures.latency_ms.allowed"),
        ({"switches": {"a": {}}}, "$.switches.a"),
        ({"chip": {"area": 3}}, "$.chip"),
        ({"hardware": {"set": {}}}, "$.hardware"),
    ],
)
def test_slips_in_a_chip_file_are_refused(slip: dict[str, Any], refused: str) -> None:
    sound = {"source": "mine", "hardware": "eyeriss", "network": "vgg16"}
    assert wrong("chip", sound) == []
    (message,) = wrong("chip", sound | slip)
    assert message.startswith(f"{refused}:")


@pytest.mark.parametrize("name", ["edge", "gpu_like", "npu", "systolic"])
def test_what_init_writes_names_its_schema_and_keeps_to_it(name: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["init", str(tmp_path / "mine"), "--template", name])
    assert done.exit_code == 0, done.output
    for file, kind in (("study", "study"), ("hardware", "template")):
        text = (tmp_path / "mine" / f"{file}.yaml").read_text()
        first = text.splitlines()[0]
        assert first == f"# yaml-language-server: $schema={file}.schema.json"
        beside = tmp_path / "mine" / first.partition("=")[2]
        assert json.loads(beside.read_text()) == SCHEMAS[kind]
        assert wrong(kind, yaml.safe_load(text)) == []


TEMPLATE = """\
technology: cacti_45nm
dram: lpddr4
parameters:
  pe_x: {values: [2, 4], scale: pow2}
rules:
  - {name: few, needed: pe_x, available: 8, unit: PEs, hint: use fewer}
frequency_mhz: 200
word_bits: 16
pe_mesh: ["= pe_x", 4]
vector_lanes: 4
levels:
  - {name: spad, storage: register, keeps: [weights, inputs, outputs], mesh: ["= pe_x", 4],
     capacity_bytes: {weights: 64, inputs: 16, outputs: 16}, bandwidth_words: 4}
  - {name: l2, storage: sram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     capacity_bytes: 4096, bandwidth_words: 8}
  - {name: dram, storage: dram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     bandwidth_words: 4}
"""

#: what stands in the place of what, and where the schema finds it
TEMPLATE_SLIPS = [
    ("technology: cacti_45nm", "technology: cacti_45", "$.technology"),
    ("dram: lpddr4", "dram: lpddr", "$.dram"),
    ("frequency_mhz: 200", "frequency: 200", "$"),
    ("frequency_mhz: 200", "frequency_mhz: 200 MHz", "$.frequency_mhz"),
    ("word_bits: 16", "word_bits: 0", "$.word_bits"),
    ('pe_mesh: ["= pe_x", 4]', 'pe_mesh: ["= pe_x"]', "$.pe_mesh"),
    ('pe_mesh: ["= pe_x", 4]', "pe_mesh: [pe_x, 4]", "$.pe_mesh[0]"),
    ("values: [2, 4]", "values: 2", "$.parameters.pe_x.values"),
    ("values: [2, 4], scale: pow2", "values: [2, 4], scale: log", "$.parameters.pe_x.scale"),
    ("values: [2, 4]", "value: [2, 4]", "$.parameters.pe_x"),
    ("hint: use fewer", "hints: use fewer", "$.rules[0]"),
    ("storage: register", "storage: flash", "$.levels[0].storage"),
    ("keeps: [weights, inputs, outputs], mesh: [1, 1],\n     cap", "keeps: [weight], mesh: [1, 1],"
     "\n     cap", "$.levels[1].keeps[0]"),
    ("weights: 64,", "weight: 64,", "$.levels[0].capacity_bytes"),
    ("bandwidth_words: 8", "bandwidth_words: fast", "$.levels[1].bandwidth_words"),
    ("bandwidth_words: 8", "bandwidth: 8", "$.levels[1]"),
    ("bandwidth_words: 8", "bandwidth_words: 8, optional: sometimes", "$.levels[1].optional"),
    ("bandwidth_words: 8", "bandwidth_words: 8, spatial_x: [X]", "$.levels[1].spatial_x[0]"),
    ("bandwidth_words: 8", "bandwidth_words: 8, energy: {read_pj: 1}", "$.levels[1].energy"),
    ("vector_lanes: 4", "vector_lanes: 4\neffects: {network: torus}", "$.effects.network"),
    ("vector_lanes: 4", "vector_lanes: 4\nmac_pj: -1", "$.mac_pj"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "where"), TEMPLATE_SLIPS)
def test_schema_and_reader_refuse_slips_of_templates(
    old: str, new: str, where: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TEMPLATE)
    HardwareSpace.load(path)
    assert wrong("template", yaml.safe_load(TEMPLATE)) == []
    assert old in TEMPLATE
    text = TEMPLATE.replace(old, new)
    assert where in {error.partition(":")[0] for error in wrong("template", yaml.safe_load(text))}
    path.write_text(text)
    if "technology:" in new or "dram:" in new:
        # a space is priced where a study is read
        (tmp_path / "study.yaml").write_text("workloads: [tiny_cnn]\nspace: mine.yaml\ntrials: 1\n")
        with pytest.raises(UserError, match=new.split()[-1]):
            load_config(tmp_path / "study.yaml")
        return
    with pytest.raises(TemplateError):
        HardwareSpace.load(path)


STUDY = """\
name: mine
workloads: [tiny_cnn]
space: casco_edge
objectives: [edp, area]
constraints: {tdp_w: 2}
optimizer: {name: mobo, initial: 4}
software: {fusion: {name: casco, population: 4}, mapping: auto}
executor: {name: inline}
trials: 4
"""

STUDY_SLIPS = [
    ("trials: 4", "trails: 4", "$"),
    ("trials: 4", "trials: 1e3", "$.trials"),
    ("trials: 4", "trials: 0", "$.trials"),
    ("trials: 4", "trials: 4\nbaseline: eyeris", "$.baseline"),
    ("trials: 4", "trials: 4\nmode: exactly", "$.mode"),
    ("trials: 4", "trials: 4\npick: best", "$.pick"),
    ("trials: 4", "trials: 4\nhalving: {name: msh, round: 3}", "$.halving"),
    ("trials: 4", "trials: 4\ndensity: {weights: 1.5}", "$.density.weights"),
    ("trials: 4", "trials: 4\nvalidation: [resnt50]", "$.validation"),
    ("trials: 4", "trials: 4\nstart_from: [{preset: eyeris}]", "$.start_from[0].preset"),
    ("trials: 4", "trials: 4\nround_limits: {cpu_s: 1 h}", "$.round_limits.cpu_s"),
    ("[tiny_cnn]", "[tiny_cnm]", "$.workloads[0]"),
    ("[tiny_cnn]", "[{network: tiny_cnn, bach: 2}]", "$.workloads[0]"),
    ("[tiny_cnn]", "[]", "$.workloads"),
    ("[edp, area]", "[edp, aria]", "$.objectives[1]"),
    ("tdp_w: 2", "tdp_w: 2 W", "$.constraints.tdp_w"),
    ("tdp_w: 2", "tdp: 2", "$.constraints"),
    ("tdp_w: 2", "latency_s: {limits: 2}", "$.constraints.latency_s"),
    ("name: mobo", "name: bayes", "$.optimizer.name"),
    ("initial: 4", "initial: four", "$.optimizer.initial"),
    ("initial: 4", "members: 4", "$.optimizer"),
    ("name: casco", "name: casko", "$.software.fusion"),
    ("mapping: auto", "maping: auto", "$.software"),
    ("mapping: auto", "mapping: automatic", "$.software.mapping"),
    ("mapping: auto", "factors: perfect", "$.software.factors"),
    ("mapping: auto", "constraints: {dataflow: systolic}", "$.software.constraints.dataflow"),
    ("name: inline", "name: inline, workers: 0", "$.executor.workers"),
    ("name: inline", "name: dask", "$.executor.name"),
]


@pytest.mark.parametrize(("old", "new", "where"), STUDY_SLIPS)
def test_schema_and_reader_refuse_slips_of_studies(
    old: str, new: str, where: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    assert wrong("study", yaml.safe_load(STUDY)) == []
    assert old in STUDY
    text = STUDY.replace(old, new)
    assert where in {error.partition(":")[0] for error in wrong("study", yaml.safe_load(text))}
    path.write_text(text)
    with pytest.raises(UserError):
        load_config(path)


def test_a_sound_study_is_read(tmp_path: Path) -> None:
    """Else the readers would refuse the slips for another reason."""
    (tmp_path / "mine.yaml").write_text(STUDY)
    assert load_config(tmp_path / "mine.yaml").trials == 4


def test_a_study_of_kind_stack_has_a_schema_of_its_own(tmp_path: Path) -> None:
    sound = {"kind": "stack", "models": ["resnet18"], "executor": "inline", "tuning": "untuned"}
    assert wrong("study", sound) == []
    for slip in ({"models": ["resnt18"]}, {"tuning": "tunes"}, {"trials": 3}):
        assert wrong("study", sound | slip) != []
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(sound | slip))
        with pytest.raises(UserError):
            load_stack(tmp_path / "mine.yaml")


def parts(form: Any, path: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(form, dict):
        yield path, form
        for key, below in form.items():
            yield from parts(below, f"{path}.{key}")
    elif isinstance(form, list):
        for at, below in enumerate(form):
            yield from parts(below, f"{path}[{at}]")


@pytest.mark.parametrize("kind", SCHEMAS)
def test_defaults_and_examples_keep_to_the_schemas_that_they_stand_in(kind: str) -> None:
    seen = 0
    for path, form in parts(SCHEMAS[kind]):
        if path.endswith((".properties", ".examples")):
            continue
        shown = [*form.get("examples", []), *([form["default"]] if "default" in form else [])]
        for value in shown:
            seen += 1
            check = Draft202012Validator(form | {"$defs": SCHEMAS[kind].get("$defs", {})})
            assert [error.message for error in check.iter_errors(value)] == [], path
    assert seen > 40


DOC = """\
What it is, in
two lines.

More of it.

Attributes:
    one: the ``first``; None for all.
    two, three: the others,
        in two lines.

Raises:
    ValueError: never.
"""


def test_docstrings_say_what_fields_mean() -> None:
    assert attributes(DOC) == {
        "one": "the `first`; left out for all.",
        "two": "the others, in two lines.",
        "three": "the others, in two lines.",
    }
    assert summary(DOC) == "What it is, in two lines. More of it."
    form = {"description": DOC, "properties": {"one": {"type": "string"}, "four": {}}}
    assert described(form)["properties"] == {
        "one": {"description": "the `first`; left out for all.", "type": "string"},
        "four": {},
    }
