import io
from typing import Any

from hypothesis import given, strategies as st
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from archloom.studies.rendering.text.fitting_table import FittingTable

TEXTS = st.text("ab 1.%", max_size=6) | st.sampled_from(
    ["é", "[bold]x", ":ok: x", "two\nlines", "a very long text that breaks", "深い"]
)


def drawn(table: Table, **settings: Any) -> str:
    file = io.StringIO()
    Console(file=file, **settings).print(table, markup=False, highlight=False)
    return file.getvalue()


@given(
    st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=4),
    st.data(),
    st.sampled_from(["t", "\nA title", "a title that is longer than any table"]),
    st.sampled_from([30, 60]),
    st.booleans(),
)
def test_it_looks_as_a_table_of_rich(
    heads: list[tuple[str, bool]], data: st.DataObject, title: str, width: int, colours: bool
) -> None:
    rows = data.draw(
        st.lists(st.lists(TEXTS, min_size=len(heads), max_size=len(heads)), max_size=4)
    )
    section = data.draw(st.none() | st.integers(0, 4))
    mine = FittingTable(title)
    other = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for table in (mine, other):
        for head, right in heads:
            table.add_column(head, justify="right" if right else "left")
        for number, row in enumerate(rows):
            table.add_row(*row)
            if number == section:
                table.add_section()
    assert drawn(mine, width=width) == drawn(other, width=width)
    if colours:
        settings: dict[str, Any] = {"width": width, "force_terminal": True, "color_system": "256"}
        mine_text, other_text = (Text.from_ansi(drawn(t, **settings)) for t in (mine, other))
        assert mine_text.plain == other_text.plain
        for at, sign in enumerate(mine_text.plain):
            # bold of a blank is nothing that can be seen
            if sign.strip():
                styles = (t.get_style_at_offset(Console(), at) for t in (mine_text, other_text))
                assert len({style.bold for style in styles}) == 1


def test_most_tables_are_drawn_at_once() -> None:
    table = FittingTable("\nA title")
    table.add_column("layer")
    table.add_row("conv1")
    assert table._lines(60) is not None
    assert table._lines(6) is None
