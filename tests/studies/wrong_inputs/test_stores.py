"""Files of a study that somebody damaged: one message, and what can be read stays readable."""

import json
from pathlib import Path

import pytest

from archloom.studies.storage.parts import BASELINE_FILE, CERTIFICATE, JOURNAL, STUDY, TRIALS

from ...cases.hostile import MEMORY_MB
from ...cases.wrong_inputs import LONGEST, answer, content

FILES = (STUDY, TRIALS, JOURNAL, CERTIFICATE, BASELINE_FILE, "space/casco_edge.yaml")

DAMAGES = {
    "empty": b"",
    "utf-16": "format: 1\n{}\n".encode("utf-16"),
    "latin-1": "name: caf\xe9\n".encode("latin-1"),
    "zeros": bytes(5000),
    "text": b"mine\n",
    "null": b"null\n",
    "list": b"[1, [2], {}]\n",
    "object": b'{"format": 1, "trial": 0, "points": "x"}\n',
    "number": b"1e999\n",
    "nan": b'{"volume": NaN, "trial": NaN}\n',
    "nested": b"[" * 100_000,
}

READERS = (("pareto", "run"), ("status", "run"), ("show", "run", "1"), ("show", "run", "baseline"))


def checked(*words: str, cwd: Path) -> int:
    """Run a command that may refuse, in one message that names the study; return its exit code."""
    found = answer(*words, cwd=cwd)
    assert found.code in (0, 2), (found.code, found.err)
    assert "Traceback" not in found.err + found.out
    assert found.err.count("error: ") == (found.code == 2)
    assert "run" in found.err or found.code == 0
    assert len(found.err) < LONGEST
    assert found.grown_mb < MEMORY_MB
    return found.code


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_readers_change_nothing(home: Path, name: str, damage: str) -> None:
    (home / "run" / name).write_bytes(DAMAGES[damage])
    before = content(home)
    codes = [checked(*words, cwd=home) for words in READERS]
    assert content(home) == before
    # what a study is comes with every answer
    assert name not in (STUDY, "space/casco_edge.yaml") or codes == [2, 2, 2, 2]
    # a line without its end is one that a kill cut short
    assert name != TRIALS or b"\n" not in DAMAGES[damage] or codes[:3] == [2, 2, 2]
    assert name != CERTIFICATE or codes[0] == 2


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [TRIALS, CERTIFICATE, BASELINE_FILE])
def test_what_the_journal_knows_is_written_anew(home: Path, name: str, damage: str) -> None:
    before = (home / "run" / name).read_bytes()
    (home / "run" / name).write_bytes(DAMAGES[damage])
    assert answer("resume", "run", cwd=home).code == 0
    assert (home / "run" / name).read_bytes() == before


@pytest.mark.parametrize("damage", [d for d in DAMAGES if d != "empty"])
def test_a_journal_that_is_none_is_left_alone(home: Path, damage: str) -> None:
    (home / "run" / JOURNAL).write_bytes(DAMAGES[damage])
    before = content(home)
    assert checked("resume", "run", cwd=home) == 2
    assert content(home) == before


@pytest.mark.parametrize("key", ["format", "archloom", "identity", "config"])
@pytest.mark.parametrize("value", ["null", "[1]", "x", "-1", "{a: 1}"])
def test_keys_of_a_study(home: Path, key: str, value: str) -> None:
    text = (home / "run" / STUDY).read_text()
    (home / "run" / STUDY).write_text(f"{text}{key}: {value}\n")
    before = content(home)
    # the version is for people
    expected = 0 if key == "archloom" else 2
    assert {checked(*words, cwd=home) for words in READERS} == {expected}
    assert content(home) == before


@pytest.mark.parametrize("value", [None, [1], "x", -1, 1e999, {}])
@pytest.mark.parametrize(
    "key",
    [
        *("trial", "batch", "state", "rounds", "evaluations", "hardware", "area_mm2", "tdp_w"),
        *("edp_js", "networks", "curve", "point", "values", "reason", "crash"),
    ],
)
def test_values_of_a_trial(home: Path, key: str, value: object) -> None:
    lines = (home / "run" / TRIALS).read_text().splitlines()
    record = json.loads(lines[1]) | {key: value}
    (home / "run" / TRIALS).write_text("\n".join([lines[0], json.dumps(record), *lines[2:]]) + "\n")
    for words in READERS[:3]:
        checked(*words, cwd=home)
