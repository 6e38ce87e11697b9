"""``archloom validate``: measured figures of chips beside ours, of the catalogue or of a file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from archloom.space import did_you_mean
from archloom.studies.analysis.published_chips import (
    PAGE,
    Chapter,
    built_in,
    chip_chapter,
    read_chip,
)
from archloom.studies.rendering.text import LiveLine, new_console, plain, print_line

from ...errors import UserError
from .all_chips import as_chapter, print_ratios
from .chip_pages import cells_of, markdown, page
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

    if source is None and shown.as_markdown:
        return _print_page(shown)
    found = chapters(PAGE if source is None else [source], Console(stderr=True))
    if shown.as_json:
        print(json.dumps([_chapter_json(chapter) for chapter in found], allow_nan=False))
    elif shown.as_markdown:
        print(page(found[0], str(source)), end="")
    else:
        for chapter in found:
            _print_chapter(chapter, console)
        if source is not None:
            _print_run(found[0], console)
    _draw(found, shown)
    return all(figure.holds for chapter in found for figure in chapter.figures)


def _print_page(shown: Shown) -> bool:
    """Print the page of all chips; True if every band holds."""
    from rich.console import Console

    # in the order of the page, then those that have a page of their own
    names = [*PAGE, *(name for name in built_in() if name not in PAGE)]
    found = chapters(names, Console(stderr=True))
    print(markdown(dict(zip(names, found, strict=True))), end="")
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
                "effect_of": f.effect_of or None,
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
        cells = (f.name, *cells_of(f, chapter.switches), f.reason)
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
