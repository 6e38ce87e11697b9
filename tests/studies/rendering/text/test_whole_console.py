"""Tables on narrow terminals: every cell is there, and no line is too long."""

import io
import re

import pytest
from rich.table import Table

from archloom.studies.rendering.text.fitting_table import FittingTable
from archloom.studies.rendering.text.whole_console import WholeConsole, parts_of

HEADS = [f"column {i} (unit)" for i in range(9)]


def table(kind: type[Table], words: int) -> Table:
    made = kind(title="A title") if kind is Table else FittingTable("A title")  # type: ignore[call-arg]
    made.add_column("layer", no_wrap=True)
    for head in HEADS:
        made.add_column(head, justify="right", no_wrap=True)
    made.add_column("hardware")
    for row in range(4):
        texts = " ".join(f"parameter_{i}={row * 100 + i}" for i in range(words))
        made.add_row(f"layer{row}", *(f"{row}.{i}e-07" for i in range(9)), texts)
    return made


def printed(made: Table, width: int) -> str:
    console = WholeConsole(file=io.StringIO(), width=width)
    console.print(made)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("kind", [Table, FittingTable])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_is_lost(kind: type[Table], width: int) -> None:
    text = printed(table(kind, 6), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in text
    words = set(re.sub(r"[┃│]", " ", text).split())
    assert {f"{row}.{i}e-07" for row in range(4) for i in range(9)} <= words
    assert {f"parameter_{i}={row * 100 + i}" for row in range(4) for i in range(6)} <= words
    assert len(re.findall(r"\blayer0\b", text)) == len(parts_of(table(kind, 6), _console(width)))
    assert text.count("A title") == 1
    assert "None" not in text


def _console(width: int) -> WholeConsole:
    return WholeConsole(file=io.StringIO(), width=width)


def test_a_table_that_fits_stays_whole() -> None:
    text = printed(table(FittingTable, 2), 400)
    assert text.count("layer0") == 1
    assert len(parts_of(table(Table, 2), _console(400))) == 1


def test_a_word_that_is_too_long_breaks() -> None:
    made = Table()
    made.add_column("path", no_wrap=True)
    made.add_column("value", no_wrap=True)
    made.add_row("a" * 70, "b" * 90)
    text = printed(made, 60)
    assert (text.count("a"), text.count("b")) == (70 + len("path value") // 10 + 1, 90)
    assert max(map(len, text.splitlines())) <= 60


def test_each_part_has_the_columns_that_name_its_rows() -> None:
    """A case of several lines names itself in the first one alone."""
    made = Table()
    for head in ("case", "figure", "archloom", "recorded", "difference"):
        made.add_column(head, no_wrap=True)
    for case, figure in (("one", "reads"), ("", "fills"), ("two", "reads")):
        made.add_row(case, figure, "1" * 20, "2" * 20, "3" * 20)
    parts = parts_of(made, _console(60))
    assert [[str(column.header) for column in part.columns] for part in parts] == [
        ["case", "figure", "archloom"],
        ["case", "figure", "recorded"],
        ["case", "figure", "difference"],
    ]
    # where they would leave no room for others, the first column has to do
    narrow = parts_of(made, _console(40))
    assert next(str(column.header) for column in narrow[1].columns) == "case"
    assert all(len(part.columns) == 3 for part in narrow[:1])
