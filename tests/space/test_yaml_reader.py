"""YAML is read alike by PyYAML's parser in Python and, where it has one, by that in C."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from archloom.space import yaml_reader
from archloom.space.yaml_reader import Document, Faults, parse_yaml

ROOT = Path(__file__).parents[2]
FILES = (ROOT / "studies" / "quickstart.yaml", *(ROOT / "examples").glob("*.yaml"))
TEMPLATES = sorted((ROOT / "space" / "design_space" / "templates").glob("*.yaml"))

#: pieces of YAML, right and wrong
PIECES = st.sampled_from(
    [
        *(
            "a: 1\n",
            "- x\n",
            "  b: [1, {c: d}]\n",
            "{",
            "}",
            "[",
            "]",
            ",",
            ": ",
            "? ",
            "!t ",
            "&a ",
        ),
        *("*a", "'", '"', "|\n", "> \n", "|-2\n", ">+", "#", "%YAML 1.1\n", "---\n", "...\n", "\n"),
        *("  ", "-", "@", "~", "<<: *a\n", "1:1", "http://x", " :", "\t", "\u00e9", "1e3", "0x1_0"),
    ]
)


def told(text: str) -> tuple[Any, dict[Any, int], list[str]]:
    """Return values, lines and faults of a text."""
    faults = Faults()
    found: Document = parse_yaml(text, "f.yaml", faults)
    return found.data, found.lines, [str(fault) for fault in faults]


def told_by_python(text: str) -> tuple[Any, dict[Any, int], list[str]]:
    """Return the same, as where PyYAML comes without libyaml."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(yaml, "__with_libyaml__", False)
        return told(text)


@pytest.mark.parametrize("path", [*FILES, *TEMPLATES], ids=lambda path: path.stem)
def test_files_are_read_alike(path: Path) -> None:
    assert told(path.read_text()) == told_by_python(path.read_text())


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_is_read_alike(text: str) -> None:
    assert repr(told(text)) == repr(told_by_python(text))


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML comes without libyaml here")
def test_the_quickstart_is_read_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise AssertionError("the slow parser read it")

    monkeypatch.setattr(yaml_reader.PlainLoader, "fetch_more_tokens", refused)
    assert told((ROOT / "studies" / "quickstart.yaml").read_text())[2] == []
