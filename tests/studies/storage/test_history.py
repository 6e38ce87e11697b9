"""A journal whose lines check, and that archloom did not write, is refused in one message."""

import json
import zlib
from base64 import b85encode
from pathlib import Path
from typing import Any

import pytest

from archloom.search.software.packing import MOST_BYTES
from archloom.studies.config.space_reference import space_text
from archloom.studies.errors import UserError
from archloom.studies.storage.header import Header
from archloom.studies.storage.history import History, decode
from archloom.studies.storage.store import Store

from ...cases.studies import run_here, tiny_config


@pytest.fixture
def header(tmp_path: Path) -> Header:
    config = tiny_config(tmp_path)
    return Header.new(config.to_dict(), space_text(config.space))


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "asked"},
        {"event": "asked", "batch": 0, "points": "all"},
        {"event": "asked", "batch": 0, "points": [1]},
        {"event": "asked", "batch": [], "points": []},
        {"event": "advanced", "trial": 0, "round": 0},
        {"event": "crashed", "trial": 0, "round": 0, "crash": {"error": "e"}},
        {"event": "lost", "trial": 0, "crash": {}},
        {"event": "validated", "trial": {}, "network": 0, "crash": None, "payload": ""},
    ],
)
def test_events_that_are_none_name_their_line(
    header: Header, tmp_path: Path, event: dict[str, Any]
) -> None:
    with Store.create(tmp_path / "run", header) as store:
        store.append({"event": "opened"})
        store.append(event)
    with (
        Store(tmp_path / "run") as store,
        pytest.raises(UserError, match="line 2 is no event that archloom wrote"),
    ):
        History(store)


def packed(content: bytes) -> str:
    return b85encode(zlib.compress(content)).decode()


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "no base 85: \u2028",
        packed(b""),
        packed(b"{"),
        packed(b"[]"),
        packed(json.dumps({"infeasible": None}).encode()),
        packed(b"[" * 100_000),
        b85encode(b"not packed").decode(),
    ],
)
def test_results_that_are_none_are_refused(payload: str) -> None:
    with pytest.raises(UserError, match="a result in the journal is none that archloom wrote"):
        decode(payload)


def test_results_that_would_fill_the_memory_are_refused() -> None:
    bomb = packed(b" " * (MOST_BYTES + 1))
    assert len(bomb) < MOST_BYTES / 500
    with pytest.raises(UserError, match="expands to more than 64 MiB"):
        decode(bomb)


@pytest.mark.parametrize("point", [{}, {"pe_x": 7}, {"pe_x": [], "pe_y": 1}])
def test_designs_that_the_space_does_not_have_are_refused(
    header: Header, tmp_path: Path, point: dict[str, Any]
) -> None:
    with Store.create(tmp_path / "run", header) as store:
        store.append({"event": "asked", "batch": 0, "points": [point], "seconds": 0.0})
    with pytest.raises(
        UserError, match="the journal contains a design that is not in the hardware space"
    ):
        run_here(tiny_config(tmp_path), tmp_path / "run")
