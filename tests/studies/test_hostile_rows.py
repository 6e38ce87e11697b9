"""Rows of a database that somebody made to do harm: refused as files are (``test_hostile.py``)."""

import json
import zlib
from base64 import b85encode
from pathlib import Path

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.storage.journal import event_line
from archloom.studies.storage.parts import JOURNAL

from ..cases.hostile import MEMORY_MB, empty_lists, hostile, packed, refused
from ..cases.postgres import Server
from ..cases.studies import run_here, tiny_config


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that has ended."""
    folder = tmp_path_factory.mktemp("kept")
    run_here(tiny_config(folder), folder / "run")
    return folder / "run"


#: what somebody did to rows of a study, and what is said then
ROWS: dict[str, tuple[str, str]] = {
    "many": (
        # triggers look each row's study up, which takes most of the time
        "ALTER TABLE archloom_parts DISABLE TRIGGER ALL;"
        "INSERT INTO archloom_parts (study, name, number, content)"
        " SELECT 1, 'journal.jsonl', 100000 + i, '' FROM generate_series(1, 1000000) i",
        "which is more than archloom writes",
    ),
    "large": (
        "UPDATE archloom_parts SET content = decode(repeat('00', 40000000), 'hex')"
        " WHERE name = 'journal.jsonl' AND number = 2",
        "which is more than archloom writes",
    ),
    "nonsense": (
        "UPDATE archloom_parts SET content = sha256(content) WHERE name = 'journal.jsonl'",
        "journal.jsonl",
    ),
    "text": (
        "ALTER TABLE archloom_parts ALTER content TYPE text USING encode(content, 'base64')",
        "have other types than archloom gave them",
    ),
    "number": (
        "ALTER TABLE archloom_parts ALTER number TYPE numeric",
        "have other types than archloom gave them",
    ),
    "renamed": ("ALTER TABLE archloom_parts RENAME content TO other", "content"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_database(tmp_path: Path, kept: Path, postgres: Server, name: str) -> None:
    change, says = ROWS[name]
    url = f"{postgres.url}#tiny"
    assert CliRunner().invoke(app, ["copy", str(kept), url]).exit_code == 0
    for statement in change.split(";"):
        postgres.sql(statement)
    for words in (["resume", url], ["copy", url, "there"]):
        ended = hostile(*words, cwd=tmp_path)
        assert ended.code in (2, 4), ended.said
        assert says in ended.said, ended.said
        assert "Traceback" not in ended.said
        assert len(ended.said) < 40_000
        assert ended.memory_mb < MEMORY_MB
    assert not (tmp_path / "there").exists()


def zeros(length: int) -> bytes:
    """Return what zlib makes of as many zeros, without compressing all of them: a block that ends
    at a byte and refers to nothing before it may be repeated."""
    squeezer, part = zlib.compressobj(9, wbits=-zlib.MAX_WBITS), 2**24
    block = squeezer.compress(bytes(part)) + squeezer.flush(zlib.Z_FULL_FLUSH)
    assert length % part == 0
    # RFC 1950: header, data, Adler-32; of zeros its first sum is 1, and the second their number
    checksum = (length % 65521 << 16 | 1).to_bytes(4, "big")
    return b"\x78\xda" + block * (length // part) + squeezer.flush() + checksum


def test_many_zeros_are_what_zlib_makes_of_them() -> None:
    assert zlib.decompress(zeros(2**25)) == bytes(2**25)


@pytest.mark.parametrize("bomb", ["zlib", "values", "none"])
def test_results_in_rows_of_a_database(
    tmp_path: Path, kept: Path, postgres: Server, bomb: str
) -> None:
    """Lines that check, of results that take thousands of times their own memory, or are none."""
    text = {
        "zlib": "1 MB that would be 1 GB",
        "values": packed(f'{{"state":"running","evaluations":{empty_lists(10**6)}}}'),
        "none": "not base 85: \u00e9",
    }[bomb]
    if bomb == "zlib":
        text = b85encode(zeros(2**30)).decode()
    url = f"{postgres.url}#tiny"
    assert CliRunner().invoke(app, ["copy", str(kept), url]).exit_code == 0
    lines = (kept / JOURNAL).read_bytes().splitlines()
    at = next(i for i, line in enumerate(lines) if b'"advanced"' in line)
    line = event_line(json.loads(lines[at])["event"] | {"payload": text})
    postgres.sql(
        "UPDATE archloom_parts SET content = %s WHERE name = 'journal.jsonl' AND number = %s",
        *(line, at + 1),
    )
    refused("resume", url, cwd=tmp_path, says="is none that archloom wrote")
