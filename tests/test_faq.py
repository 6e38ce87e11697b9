"""Messages that docs/faq.md explains are messages that there are."""

import ast
import re
from functools import cache

import pytest

from .source_tree import ROOT, modules, tree

PAGE = ROOT / "docs" / "faq.md"
MESSAGES = re.findall(r"^### `(.+)`$", PAGE.read_text("utf-8"), re.MULTILINE)


@cache
def texts() -> str:
    """Return every text of the studies' source, with what is filled in as three dots."""
    found = []
    for path in modules("studies"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.JoinedStr):
                constant = (isinstance(each, ast.Constant) and each.value for each in node.values)
                found.append("".join(str(each or "...") for each in constant))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def is_said(message: str) -> bool:
    """Whether the source has a message, of which dots stand for any part."""
    parts = [re.escape(part.strip()) for part in message.split("...") if part.strip()]
    return re.search(".*".join(parts), texts()) is not None


def test_there_are_messages() -> None:
    assert len(MESSAGES) >= 10


@pytest.mark.parametrize("message", MESSAGES)
def test_the_message_is_one_of_archloom(message: str) -> None:
    assert is_said(message)


def test_the_check_finds_a_message_that_nobody_says() -> None:
    assert not is_said("no Ray cluster sings at ...")
