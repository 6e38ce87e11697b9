"""Files that somebody made to do harm: each is refused in a sentence, before it takes much.

Nothing in them is executed, read from outside, or written there. Those of ONNX models are in
``tests/space/importers/onnx``, formulas of templates in ``tests/space/design_space``.
"""

import json
import os
import pickle
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from archloom.space.design_space.presets import preset_file
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import to_text
from archloom.studies.commands.cli import app
from archloom.studies.engine.start_from import WarmStart
from archloom.studies.errors import UserError
from archloom.studies.storage.journal import event_line, read_events
from archloom.studies.storage.parts import (
    BASELINE_FILE,
    CERTIFICATE,
    JOURNAL,
    LEARNED,
    LIVE,
    MOST_BYTES,
    START,
    STUDY,
    TRIALS,
)
from archloom.studies.storage.store import MOST_LEARNED_VALUES

from ..cases.hostile import MEMORY_MB, aliases, empty_lists, hostile, packed, refused
from ..cases.studies import TINY, run_here, tiny_config, write_study
from ..contracts.problems import SMALL_TEMPLATE

MANY = 10**6


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TINY + aliases(9), "has over 100000 values"),
        (TINY + "x: [" + "[]," * MANY + "]\n", "has over 100000 values"),
        (TINY + "".join(f"key{i}: 1\n" for i in range(40_000)), "and 39900 more"),
        (TINY + "#" * (5 * 2**20), "has over 4194304 characters"),
        (TINY.replace("trials: 10", "trials: 1" + ":59" * 300_000), "is a number of over 100"),
        (TINY.replace("trials: 10", "trials: 1" + "0" * 90), "trials: "),
        (TINY.replace("batch_size: 6", "batch_size: 1000000000"), "batch_size: 1000000000 must"),
        (TINY.replace("population: 4", "population: 1000000000"), "population: 1000000000 must"),
        ("name: " + "x" * 300 + "\n" + TINY, "at most 255 characters"),
        ("name: ../../elsewhere\n" + TINY, "line 1: name: '../../elsewhere' must"),
        (TINY + "x: !!python/object/apply:os.system [touch done]\n", "could not determine a cons"),
    ],
    ids=[
        *("aliases", "lists", "keys", "comment", "sexagesimal", "trials", "batch", "population"),
        *("name", "path", "python"),
    ],
)
def test_study_files(tmp_path: Path, text: str, says: str) -> None:
    refused("run", write_study(tmp_path, text), "--out", "run", cwd=tmp_path, says=says)
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "done").exists()


def test_templates(tmp_path: Path) -> None:
    text = preset_file("eyeriss").read_text()
    (tmp_path / "bomb.yaml").write_text(text + aliases(9))
    refused("hardware", "bomb.yaml", cwd=tmp_path, says="has over 100000 values")


def test_timeloop_files(tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text("problem: {shape: conv}\n" + aliases(9))
    refused("networks", tmp_path, cwd=tmp_path, says="has over 100000 values")


def test_networks_and_plans(tmp_path: Path) -> None:
    text = to_text(network("tiny_cnn"))
    (tmp_path / "net.json").write_text(text[:1] + f'"x": {empty_lists(MANY)}, ' + text[1:])
    refused("networks", "net.json", cwd=tmp_path, says="it has over 2000000 values")
    many = (empty_lists(MANY - 9), "999991 groups; tiny_cnn has")
    for plan, says in (many, ("[" * 10**6, "is not JSON")):
        (tmp_path / "plan.json").write_text(plan)
        words = ("schedule", "tiny_cnn", "--hardware", "eyeriss", "--plan", "plan.json")
        refused(*words, cwd=tmp_path, says=says)


def test_csv_files_of_a_warm_start(tmp_path: Path) -> None:
    names = "pe_x,pe_y,weight_spad_bytes,input_spad_bytes,output_spad_bytes,l2_kib,dram_channels"
    row = "4,4,64,16,16,64,1,200\n"
    study = write_study(tmp_path, TINY + "start_from: [{csv: first.csv}]\n")
    for rows, says in ((row * 100_001, "has over 100000 designs"), ("1" * 200_000, "field larger")):
        (tmp_path / "first.csv").write_text(f"{names},clock_mhz\n{rows}")
        refused("run", study, "--out", "run", cwd=tmp_path, says=says)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that has ended."""
    folder = tmp_path_factory.mktemp("kept")
    run_here(tiny_config(folder), folder / "run")
    return folder / "run"


@pytest.fixture
def study(tmp_path: Path, kept: Path) -> Path:
    """A study of somebody else's."""
    folder = tmp_path / "run"
    folder.mkdir()
    for path in kept.rglob("*"):
        if path.is_file():
            (folder / path.relative_to(kept)).parent.mkdir(exist_ok=True)
            (folder / path.relative_to(kept)).write_bytes(path.read_bytes())
    return folder


def lines_of(study: Path) -> list[bytes]:
    return (study / JOURNAL).read_bytes().splitlines(keepends=True)


def write_lines(study: Path, lines: list[bytes]) -> None:
    (study / JOURNAL).write_bytes(b"".join(lines))


#: a line that checks, of a proposal
BOMB = event_line({"event": "asked", "batch": 0, "points": [[]] * MANY})


def put_result(study: Path) -> None:
    """Put a result in place of another one that checks, and is none."""
    text = f'{{"state":"running","evaluations":{empty_lists(MANY)}}}'
    lines = lines_of(study)
    at = next(i for i, line in enumerate(lines) if b'"advanced"' in line)
    lines[at] = event_line(json.loads(lines[at])["event"] | {"payload": packed(text)})
    write_lines(study, lines)


STORES: dict[str, tuple[Callable[[Path], object], tuple[str, ...], str]] = {
    "study": (
        lambda s: (s / STUDY).write_text((s / STUDY).read_text() + aliases(9)),
        ("pareto", "run"),
        "has no readable study.yaml",
    ),
    "python": (
        lambda s: (s / STUDY).write_text("format: !!python/object/apply:os.system [touch done]\n"),
        ("pareto", "run"),
        "has no readable study.yaml",
    ),
    "sparse": (
        lambda s: os.truncate(s / STUDY, MOST_BYTES + 1),
        ("pareto", "run"),
        "bytes, which is more than archloom writes",
    ),
    "event": (
        lambda s: write_lines(s, [BOMB, *lines_of(s)]),
        ("resume", "run"),
        "line 1 is damaged",
    ),
    "result": (put_result, ("resume", "run"), "it has over 2000000 values"),
    "trials": (
        lambda s: (s / TRIALS).write_text(f"{empty_lists(MANY)}\n"),
        ("pareto", "run"),
        "line 1 is damaged",
    ),
    "certificate": (
        lambda s: (s / CERTIFICATE).write_text(empty_lists(MANY)),
        ("pareto", "run"),
        "certificate.json is damaged",
    ),
    "nested": (
        lambda s: (s / CERTIFICATE).write_text("[" * 10**6),
        ("pareto", "run"),
        "certificate.json is damaged",
    ),
}


@pytest.mark.parametrize("name", STORES)
def test_stores(tmp_path: Path, study: Path, name: str) -> None:
    change, words, says = STORES[name]
    change(study)
    before = (study / TRIALS).read_bytes()
    refused(*words, cwd=tmp_path, says=says)
    assert not (tmp_path / "done").exists()
    assert (study / TRIALS).read_bytes() == before


#: no disk has to hold them: what was never written reads as zeros
SPARSE = 8 * 2**30


def sparse_lines(path: Path) -> None:
    """Make a file of many GB whose lines are all short enough to be read."""
    with path.open("r+b") as file:
        for at in range(2**20, SPARSE, 2**24):
            file.seek(at)
            file.write(b"\n{")
        file.truncate(SPARSE)


@pytest.mark.parametrize("name", [JOURNAL, TRIALS])
@pytest.mark.parametrize("make", [lambda path: os.truncate(path, SPARSE), sparse_lines])
def test_files_of_many_gigabytes(
    tmp_path: Path, study: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(study / name)
    reading = "status" if name == JOURNAL else "pareto"
    for command in ("resume", reading):
        ended = hostile(command, "run", cwd=tmp_path)
        assert ended.code == 2, ended.said
        assert "Traceback" not in ended.said
        assert any(
            says in ended.said
            for says in ("more than archloom writes", "are damaged", "is damaged")
        )
        assert ended.memory_mb < MEMORY_MB
    assert (study / name).stat().st_size == SPARSE


@pytest.mark.parametrize("name", [JOURNAL, TRIALS, CERTIFICATE, "space/casco_edge.yaml"])
def test_a_pipe_in_a_store_is_not_waited_for(tmp_path: Path, study: Path, name: str) -> None:
    (study / name).unlink()
    os.mkfifo(study / name)
    for words in (["resume", "run"], ["report", "run"], ["copy", "run", "copy"]):
        refused(*words, cwd=tmp_path, says=f"{name} is no file, and a study has nothing else")


@pytest.mark.parametrize("where", ["pipe.yaml", "zero.yaml", "/dev/zero", "/dev/stdin"])
@pytest.mark.parametrize(
    "entry",
    ["space: {0}", "workloads: [{{file: {0}}}]", "start_from: [{{csv: {0}}}]"],
    ids=["space", "workloads", "csv"],
)
def test_pipes_and_devices_that_a_study_names(tmp_path: Path, entry: str, where: str) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    key = entry.partition(":")[0]
    text = "".join(line for line in TINY.splitlines(keepends=True) if not line.startswith(key))
    study = write_study(tmp_path, f"{text}{entry.format(where)}\n")
    refused("run", study, "--out", "run", cwd=tmp_path, says="is a pipe or a device, must be a")
    assert not (tmp_path / "run").exists()


def test_a_technology_is_a_name_and_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("precious: 1\n")
    template = SMALL_TEMPLATE
    known = template.partition("technology: ")[2].split()[0]
    for name in ("../secret", str(tmp_path / "secret"), "/dev/zero"):
        (tmp_path / "own.yaml").write_text(template.replace(f": {known}", f": {name}", 1))
        study = write_study(tmp_path, TINY.replace("space: casco_edge", "space: ./own.yaml"))
        ended = hostile("run", study, "--out", "run", cwd=tmp_path)
        assert ended.code == 2, ended.said
        assert f"technology '{name}' is not known" in ended.said
        assert "precious" not in ended.said
        assert ended.memory_mb < MEMORY_MB


def test_networks_of_many_gigabytes(tmp_path: Path) -> None:
    (tmp_path / "net.json").touch()
    os.truncate(tmp_path / "net.json", SPARSE)
    text = TINY.replace("[tiny_cnn]", "[{file: net.json}]")
    study = write_study(tmp_path, text)
    refused("run", study, "--out", "run", cwd=tmp_path, says="the most that a network may have")


def test_what_is_told_right_now_is_no_matter(tmp_path: Path, study: Path) -> None:
    (study / LIVE).write_text(empty_lists(MANY))
    ended = hostile("status", "run", cwd=tmp_path)
    assert (ended.code, "trials: 10 of 10" in ended.said) == (0, True), ended.said
    assert ended.memory_mb < MEMORY_MB


@pytest.mark.parametrize(
    "content", [pickle.dumps(print), empty_lists(2 * MOST_LEARNED_VALUES).encode()]
)
def test_snapshots_are_never_unpickled_and_never_large(study: Path, content: bytes) -> None:
    """One that is no snapshot is not used: all is worked out again, to the same end."""
    before = (study / TRIALS).read_bytes()
    for data in (content, zlib.compress(content)):
        (study / LEARNED).write_bytes(data)
        told = event_line({"event": "learned", "at": 1.0, "digest": sha256(data).hexdigest()})
        write_lines(study, [*lines_of(study)[:-4], told])
        done = CliRunner().invoke(app, ["resume", str(study)])
        assert done.exit_code == 0, f"{done.output} {done.exception!r}"
        assert (study / TRIALS).read_bytes() == before


@pytest.mark.parametrize(
    "text", ["[1]", '{"first": 1, "told": []}', '{"first": [], "told": [{"a": 1}]}', "[" * 9999]
)
def test_a_beginning_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=f"restore {START} from a copy"):
        WarmStart.from_text(text)


@pytest.mark.parametrize(
    "name",
    [TRIALS, JOURNAL, BASELINE_FILE, ".lock", f".{CERTIFICATE}.part", "space/casco_edge.yaml"],
)
def test_links_out_of_a_study_are_not_followed(study: Path, tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("precious\n")
    (study / name).unlink(missing_ok=True)
    (study / name).symlink_to(secret)
    for words in (["resume"], ["pareto"], ["status"], ["report"], ["copy"]):
        given = [*words, str(study), *([str(tmp_path / "copy")] if words == ["copy"] else [])]
        done = CliRunner().invoke(app, given)
        assert f"{name} is a link" in str(done.exception), done.output
        assert "precious" not in done.output + str(done.exception)
    assert secret.read_text() == "precious\n"
    assert not (tmp_path / "copy").exists()


def test_a_folder_that_waits_with_a_link_is_no_study(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("precious\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(secret)
    words = ["run", str(write_study(tmp_path)), "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, words)
    assert ".lock is a link" in str(done.exception), done.output
    assert secret.read_text() == "precious\n"


def test_a_space_of_a_store_cannot_lead_elsewhere(study: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("precious: 1\n")
    data = yaml.safe_load((study / STUDY).read_text())
    data["config"]["space"] = "../../secret"
    (study / STUDY).write_text(yaml.safe_dump(data))
    done = CliRunner().invoke(app, ["resume", str(study)])
    assert "was changed after the study began" in str(done.exception)
    assert "precious" not in str(done.exception)
    assert read_events(study / JOURNAL)
