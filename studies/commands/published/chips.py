"""``archloom validate``: measured figures of chips beside ours, of the catalogue or of a file."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from archloom.space import did_you_mean
from archloom.studies.analysis.published_chips import (
    PAGE,
    Chapter,
    Figure,
    built_in,
    chip_chapter,
    read_chip,
)
from archloom.studies.rendering.text import LiveLine, new_console, plain, print_line

from ...errors import UserError
from .all_chips import as_chapter, print_ratios
from .chip_picture import draw_ratios

if TYPE_CHECKING:
    from rich.console import Console

_SUFFIXES: Final = (".yaml", ".yml")


@dataclass(frozen=True)
class Shown:
    """Choices of what is printed and drawn: JSON, Markdown, and a file for the picture."""

    as_json: bool
    as_markdown: bool
    plot: Path | None


class _Progress(LiveLine):
    """Which layer of which chip is mapped, on a terminal."""

    def __init__(self, console: "Console") -> None:
        super().__init__(1, console, bar=24)
        self._chips, self._chip = 1, 0

    def begin(self, chips: int, chip: int) -> None:
        """Say that one of so many chips is next."""
        self._chips, self._chip = chips, chip

    def tell(self, layer: str, done: int, total: int) -> None:
        """Show how far a chip is."""
        share = (self._chip + done / max(total, 1)) / self._chips
        if self._live and self._task is not None:
            self._live.update(self._task, description=plain(layer), completed=share)


def is_chip(source: Path) -> bool:
    """Whether an argument means a chip, by its name or the ending of its file.

    Raises:
        UserError: it is neither a file nor a chip, but nearly one.
    """
    if str(source) in built_in() or (source.suffix in _SUFFIXES and source.exists()):
        return True
    if not source.exists():
        beside = source.parent.glob("*.y*ml") if source.parent.is_dir() else ()
        near = did_you_mean(source.name, [*built_in(), *(path.name for path in beside)])
        if near.startswith("did you mean"):
            raise UserError(f"{source}: no such file or chip; {near}")
    return source.suffix in _SUFFIXES


def chapters(sources: Sequence[Path | str], console: "Console") -> tuple[Chapter, ...]:
    """Compute all figures of chips, each by its name or the path of its file.

    Raises:
        UserError: everything that is wrong in a file.
    """
    known, found = built_in(), list[Chapter]()
    with _Progress(console) as live:
        for i, source in enumerate(sources):
            live.begin(len(sources), i)
            if str(source) in known:
                found.append(known[str(source)](live.tell))
            else:
                found.append(chip_chapter(read_chip(Path(source)), live.tell))
    return tuple(found)


def compare_chips(source: Path | None, shown: Shown, console: "Console") -> bool:
    """Print the figures of a chip, or of all of the page; True if every band holds.

    Raises:
        UserError: everything that is wrong in a file.
    """
    from rich.console import Console

    found = chapters(PAGE if source is None else [source], Console(stderr=True))
    if shown.as_json:
        print(json.dumps([_chapter_json(chapter) for chapter in found], allow_nan=False))
    elif shown.as_markdown:
        print(markdown(found) if source is None else page(found[0]), end="")
    else:
        for chapter in found:
            _print_chapter(chapter, console)
        if source is not None:
            _print_run(found[0], console)
    _draw(found, shown)
    return all(figure.holds for chapter in found for figure in chapter.figures)


def compare_all(source: Path | None, shown: Shown, console: "Console") -> bool:
    """Print the ratios of all chips, and of a file; True if every band holds.

    Raises:
        UserError: everything that is wrong in the file.
    """
    from rich.console import Console

    own = [name for name in built_in() if source is None or str(source) != name]
    # a mistake in the file is told at once
    given = [] if source is None else [source]
    first = tuple(
        found
        for one in given
        for found in (chapters([one], Console(stderr=True)) if is_chip(one) else [as_chapter(one)])
    )
    found = (*first, *chapters(own, Console(stderr=True)))
    if shown.as_json:
        print(json.dumps([_chapter_json(chapter) for chapter in found], allow_nan=False))
    else:
        print_ratios(found, console)
    _draw(found, shown)
    return all(figure.holds for chapter in found for figure in chapter.figures)


def _draw(found: Sequence[Chapter], shown: Shown) -> None:
    if shown.plot is not None:
        draw_ratios(found, shown.plot)
        note = f"wrote {shown.plot}: ratios with their allowed ranges"
        print_line(note, new_console(stderr=True))


def _chapter_json(chapter: Chapter) -> dict[str, Any]:
    return {
        "title": chapter.title,
        "run": list(chapter.run),
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
                "switches": dict(f.switched),
            }
            for f in chapter.figures
        ],
    }


def _print_chapter(chapter: Chapter, console: "Console") -> None:
    from rich.table import Table

    theirs = "measured" if chapter.run else "published"
    table = Table(title=plain(chapter.title), title_justify="left")
    heads = ("figure", "archloom", theirs, "ratio", *chapter.switches, "allowed", "reason")
    for name in heads:
        side: Literal["left", "right"] = "left" if name in ("figure", "reason") else "right"
        # on narrow terminals words are cut in two rather than short
        table.add_column(plain(name), justify=side, overflow="fold")
    for f in chapter.figures:
        cells = (f.name, *_cells(f, chapter.switches), f.reason)
        table.add_row(*map(plain, cells), style=None if f.holds else "red")
    console.print(table)


def _print_run(chapter: Chapter, console: "Console") -> None:
    for sentence in chapter.run:
        print_line(sentence.replace("`", "").replace("*", ""), console)
    checked = [f for f in chapter.figures if f.band is not None]
    wrong = sum(not f.holds for f in checked)
    print_line(
        f"{len(chapter.figures)} figures, {len(checked)} checked: {len(checked) - wrong} within "
        f"the allowed range, {wrong} outside",
        console,
    )


def _cells(figure: Figure, switches: Sequence[str] = ()) -> tuple[str, ...]:
    band = "" if figure.band is None else f"{figure.band[0]:g} to {figure.band[1]:g}"
    mark = "" if figure.holds else " !"
    others = (f"{figure.switched[name] / figure.theirs:.3f}" for name in switches)
    ratio = f"{figure.ratio:.3f}{mark}"
    return f"{figure.ours:.4g}", f"{figure.theirs:.4g}", ratio, *others, band


HEAD: Final = """# Comparison with published chips

This page shows how close the cost model comes to the published time, power, energy, traffic and
area of real chips, and why figures differ. `archloom validate` computes every figure of the page
and prints it beside the published one. Its exit code is 1 if a ratio is outside its allowed range.
`archloom validate --markdown` prints this page. `archloom validate CASES.jsonl` compares access
counts, energy and cycles with recorded outputs of Timeloop
([timeloop.md](../reference/timeloop.md)). A further check of the model is a simulator that executes
loop nests step by step ([oracle.md](oracle.md)). Eyeriss on VGG-16 has a page of its own
([eyeriss_vgg16.md](eyeriss_vgg16.md)); measurements of your own chip are compared in the same way
([own_chip_validation.md](../how_to/own_chip_validation.md)).

The ratio is the figure of archloom divided by the published figure. Figures without an allowed
range are not checked. The last column gives the reason for the difference.
"""


def markdown(found: Iterable[Chapter]) -> str:
    """Return docs/validation/validation.md."""
    parts = [HEAD]
    for chapter in found:
        parts.append(f"\n## {chapter.title}\n\n{chapter.text.strip()}\n\n")
        parts += _table(chapter, "published")
    return "".join(parts)


def page(chapter: Chapter) -> str:
    """Return the page of one chip file."""
    about = f"{chapter.text.strip()}\n\n" if chapter.text.strip() else ""
    run = "".join(f"{sentence}\n" for sentence in chapter.run)
    ratio = (
        "The ratio is the figure of archloom divided by the measured one. Figures without an "
        "allowed\nrange are not checked; `!` marks those outside of it.\n\n"
    )
    table = "".join(_table(chapter, "measured"))
    return f"# {chapter.title}\n\n{about}{run}\n{ratio}{table}"


def _table(chapter: Chapter, theirs: str) -> Iterator[str]:
    heads = ("figure", "archloom", theirs, "ratio", *chapter.switches, "allowed", "source")
    yield f"| {' | '.join((*heads, 'reason'))} |\n|{'---|' * (len(heads) + 1)}\n"
    for f in chapter.figures:
        cells = (f.name, *_cells(f, chapter.switches), f.source, f.reason)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
