"""Pages in Markdown of what chips measure: the summary of all, those of a few, and one alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from archloom.studies.analysis.published_chips import PAGE, Chapter, Figure

from .all_chips import Counts, distance

HEAD: Final = """# Comparison with published chips

This page shows how close the cost model comes to the published time, power, energy, traffic and
area of real chips, and why figures differ. `archloom validate` computes every figure of the page
and prints it beside the published one. Its exit code is 1 if a ratio is outside its allowed range.
`archloom validate --markdown` prints this page. `archloom validate CASES.jsonl` compares access
counts, energy and cycles with recorded outputs of Timeloop
([timeloop.md](../reference/timeloop.md)). A further check of the model is a simulator that executes
loop nests step by step ([oracle.md](oracle.md)). Measurements of your own chip are compared in the
same way ([own_chip_validation.md](../how_to/own_chip_validation.md)).

The ratio is the figure of archloom divided by the published figure. Figures without an allowed
range are not checked. The last column gives the reason for the difference.
"""

#: what stands above the table of all chips
_SUMMARY: Final = """
## All chips

One row for each chip and simulator: how many figures it has, how many of them have an allowed
range and how many are outside of it, the ratios of those that are checked, and the worst ratio of
all with its reason. *Far* are figures without an allowed range whose ratio is outside 0.8 to 1.25;
*unexplained* are those of them that no switch brings inside. A switch is a published or physical
cause that the model can be given, such as packed feature maps or a published stall, or an
assumption, which the chip's page names; where it was chosen with the ratio in sight, the page says
so. Rows that show a switch of another row do not count. `archloom validate --all` prints the ratio
of every figure, with its switch.

"""

#: columns of that table
_COLUMNS: Final = (
    *("chip", "figures", "checked", "outside", "far", "unexplained"),
    *("checked ratios", "worst ratio of all", "reason"),
)


def markdown(found: Mapping[str, Chapter]) -> str:
    """Return docs/validation/validation.md: a row for each chip, and some of them in full."""
    heads = f"{_row(_COLUMNS)}|{'---|' * len(_COLUMNS)}\n"
    parts = [HEAD, _SUMMARY, heads, *(_summary(name, chapter) for name, chapter in found.items())]
    for name in PAGE:
        chapter = found[name]
        parts.append(f"\n## {chapter.title}\n\n{chapter.text.strip()}\n\n")
        parts += _table(chapter, "published")
    return "".join(parts)


def _summary(name: str, chapter: Chapter) -> str:
    counts = Counts.of(chapter.figures)
    ratios = sorted(figure.ratio for figure in chapter.figures if figure.band is not None)
    worst = max(chapter.figures, key=lambda figure: distance(figure.ratio))
    place = f"#{_anchor(chapter.title)}" if name in PAGE else f"{name}.md"
    cells = (
        f"[{chapter.title}]({place})",
        *map(str, (counts.figures, counts.checked, counts.outside, counts.far)),
        str(counts.far - counts.explained),
        f"{ratios[0]:.3f} to {ratios[-1]:.3f}" if ratios else "",
        f"{worst.ratio:.3f} ({worst.name})",
        worst.reason,
    )
    return _row(cells)


def _anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub and the site make it."""
    kept = (c for c in title.lower() if c.isalnum() or c in " -_")
    return "".join(kept).replace(" ", "-")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def page(chapter: Chapter, source: str) -> str:
    """Return the page of one chip, by its name or the path of its file."""
    about = f"{chapter.text.strip()}\n\n" if chapter.text.strip() else ""
    run = "".join(f"{sentence}\n" for sentence in chapter.run)
    ratio = (
        "The ratio is the figure of archloom divided by the measured one. Figures without an "
        "allowed\nrange are not checked; `!` marks those outside of it. "
        f"`archloom validate {source} --markdown`\nprints this page.\n\n"
    )
    table = "".join(_table(chapter, "measured"))
    return f"# {chapter.title}\n\n{about}{run}\n{ratio}{table}"


def _table(chapter: Chapter, theirs: str) -> Iterator[str]:
    heads = ("figure", "archloom", theirs, "ratio", *chapter.switches, "allowed", "source")
    yield f"| {' | '.join((*heads, 'reason'))} |\n|{'---|' * (len(heads) + 1)}\n"
    for f in chapter.figures:
        cells = (f.name, *cells_of(f, chapter.switches), f.source, f.reason)
        yield _row(cells)


def cells_of(figure: Figure, switches: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what a table says of a figure: both values, the ratios, and what is allowed."""
    band = "" if figure.band is None else f"{figure.band[0]:g} to {figure.band[1]:g}"
    mark = "" if figure.holds else " !"
    others = (f"{figure.switched[name] / figure.theirs:.3f}" for name in switches)
    ratio = f"{figure.ratio:.3f}{mark}"
    return f"{figure.ours:.4g}", f"{figure.theirs:.4g}", ratio, *others, band
