"""What ``archloom validate`` without a file shows: published figures of chips beside ours."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .published import Chapter, Figure

if TYPE_CHECKING:
    from rich.console import Console


def chapters() -> tuple[Chapter, ...]:
    """Compute all figures; takes a few seconds."""
    from .published_eyeriss import eyeriss
    from .published_tpu import tpu_v3

    return (eyeriss(), tpu_v3())


def show_published(as_json: bool, as_markdown: bool, console: "Console") -> bool:
    """Print all figures; True if every band holds."""
    with console.status("mapping AlexNet and EfficientNet-B7"):
        found = chapters()
    if as_json:
        print(json.dumps([_chapter_json(chapter) for chapter in found]))
    elif as_markdown:
        print(markdown(found), end="")
    else:
        for chapter in found:
            _print_chapter(chapter, console)
    return all(figure.holds for chapter in found for figure in chapter.figures)


def _chapter_json(chapter: Chapter) -> dict[str, Any]:
    return {
        "title": chapter.title,
        "figures": [
            {
                "name": f.name,
                "ours": f.ours,
                "theirs": f.theirs,
                "ratio": f.ratio,
                "band": f.band,
                "holds": f.holds,
                "source": f.source,
                "reason": f.reason,
            }
            for f in chapter.figures
        ],
    }


def _print_chapter(chapter: Chapter, console: "Console") -> None:
    from rich.table import Table

    table = Table(title=chapter.title, title_justify="left")
    for name in ("figure", "ours", "published", "ratio", "band", "reason"):
        table.add_column(name, justify="left" if name in ("figure", "reason") else "right")
    for f in chapter.figures:
        table.add_row(f.name, *_cells(f), f.reason, style=None if f.holds else "red")
    console.print(table)


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    band = "" if figure.band is None else f"{figure.band[0]:g} to {figure.band[1]:g}"
    mark = "" if figure.holds else " !"
    return f"{figure.ours:.4g}", f"{figure.theirs:.4g}", f"{figure.ratio:.3f}{mark}", band


HEAD = """# Validation

`archloom validate` computes every figure of this page, prints it beside the published one, and
exits with 1 if a ratio leaves its band. `archloom validate --markdown > docs/validation.md` writes
the page. Access counts, energy and cycles are held against recorded outputs of Timeloop with
`archloom validate CASES.jsonl`: see [timeloop.md](timeloop.md) and [oracle.md](oracle.md).

"Ratio" is ours over theirs. A band is what we hold ourselves to; figures without one are there to
be explained.
"""


def markdown(found: Iterable[Chapter]) -> str:
    """Return docs/validation.md."""
    parts = [HEAD]
    for chapter in found:
        parts.append(f"\n## {chapter.title}\n\n{chapter.text.strip()}\n")
        parts.append("\n| figure | ours | theirs | ratio | band | source | reason |")
        parts.append("\n|---|---|---|---|---|---|---|\n")
        for f in chapter.figures:
            cells = " | ".join((f.name, *_cells(f), f.source, f.reason))
            parts.append(f"| {cells} |\n")
    return "".join(parts)
