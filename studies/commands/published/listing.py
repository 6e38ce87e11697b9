"""The list of all tables, with what each costs."""

from typing import TYPE_CHECKING

from archloom.studies.engine.progress import duration
from archloom.studies.rendering.text import new_table, plain, print_json, print_line, print_whole
from archloom.studies.solve.papers import BUDGETS, own_tables, table_summary

if TYPE_CHECKING:
    from rich.console import Console


def list_tables(as_json: bool, console: "Console") -> None:
    """Print what there is."""
    files = {name: table_summary(path) for name, path in own_tables().items()}
    if as_json:
        print_json(
            {
                name: {
                    "paper": file.heading.paper,
                    "source": file.heading.source,
                    "title": file.heading.title,
                    "cpu_s": dict(file.cost),
                }
                for name, file in files.items()
            },
            console,
        )
        return
    texts = ["table", "paper", "source", "shows"]
    table = new_table(
        "Tables of papers, and their CPU time at each budget", [*texts, *BUDGETS], texts
    )
    for name, file in files.items():
        costs = (duration(file.cost[b]) if b in file.cost else "" for b in BUDGETS)
        about = file.heading.paper, file.heading.source, file.heading.title
        table.add_row(*map(plain, (name, *about, *costs)))
    print_whole(table, console)
    print_line("archloom reproduce TABLE --budget tiny|small|full --out DIR", console)
