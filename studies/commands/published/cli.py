"""The command lines of ``archloom validate`` and ``archloom reproduce``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import Argument, AsJson, Exit, Option
from archloom.studies.rendering.text import new_console

from ...errors import NOTHING_FOUND, UserError

REPRODUCE_EXAMPLES: Final = (
    "archloom reproduce",
    "archloom reproduce layerweaver_pairs",
    "archloom reproduce layerweaver --out runs/layerweaver",
    "archloom reproduce deepfrack --budget small --out runs/papers",
    "archloom reproduce casco_parts --budget small --seeds 3 --out runs/papers",
    "archloom reproduce all --budget tiny --out runs/tiny",
)

VALIDATE_EXAMPLES: Final = (
    "archloom validate",
    "archloom validate my_chip.yaml --plot ratios.png",
    "archloom validate eyeriss_vgg16 --markdown",
    "archloom validate tests/data/timeloop_cases.jsonl --rows 65",
    "archloom validate --all",
)


def validate(
    source: Annotated[
        Path | None,
        Argument(
            metavar="[FILE]",
            help="Chip file (.yaml), name of a chip that comes with archloom, or JSON Lines file "
            "of recorded cases, one per line.",
            names="chips",
        ),
    ] = None,
    every: Annotated[
        bool,
        Option(
            "--all",
            help="Print the ratios of all chips that come with archloom, and of FILE, in one "
            "table, the worst first.",
        ),
    ] = False,
    as_json: AsJson = False,
    as_markdown: Annotated[
        bool,
        Option(
            "--markdown",
            help="Print the comparison as a page in Markdown, as in "
            "docs/validation/validation.md. Not for recorded cases.",
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        Option(
            "--plot",
            metavar="FILE",
            help="Draw the ratios with their allowed ranges: .png or .svg. Not for recorded cases.",
        ),
    ] = None,
    rows: Annotated[
        int, Option("--rows", least=1, help="Maximum number of recorded cases in the table.")
    ] = 20,
) -> None:
    """Compare the cost model with measurements of chips, or with recorded Timeloop outputs.

    A chip file names hardware, a network and measured figures of layers: time, power, energy,
    traffic, area. docs/how_to/own_chip_validation.md explains it. Recorded cases hold mappings with
    the access counts, energy and cycles that Timeloop computed for them;
    docs/reference/timeloop.md defines the format. Without FILE, published figures of chips
    (Eyeriss, TPU-v3 and others) are compared. The exit code is 1 if a value differs by more than
    allowed, and 2 if FILE has mistakes.
    """
    from archloom.studies.rendering.pictures import check_picture

    from .chips import Shown, compare_all, compare_chips, is_chip

    if as_markdown and (as_json or every):
        other = "--json" if as_json else "--all"
        raise UserError(f"{other} and --markdown exclude each other; use one of them")
    check_picture(plot, "--plot")
    shown = Shown(as_json, as_markdown, plot)
    if every:
        sound = compare_all(source, shown, new_console())
    elif source is None or is_chip(source):
        sound = compare_chips(source, shown, new_console())
    else:
        from .recorded_cases import validate_cases

        for option, given in (("--markdown", as_markdown), ("--plot", plot is not None)):
            if given:
                raise UserError(f"{option} is for chips; {source} is not a chip file (.yaml)")
        sound = validate_cases(source, as_json, rows, new_console())
    if not sound:
        raise Exit(NOTHING_FOUND)


def reproduce(
    tables: Annotated[
        list[str] | None,
        Argument(
            "[TABLE...]",
            "Name of a table, name of a paper for all of its tables, all, or a table file of your "
            "own (default: list all tables with their costs).",
        ),
    ] = None,
    budget: Annotated[
        str,
        Option(
            "--budget",
            metavar="NAME",
            names=("tiny", "small", "full"),
            help="tiny: enough to see that a table works; small: fewer networks, seeds and "
            "evaluations; full: the table as its file has it.",
        ),
    ] = "full",
    sets: Annotated[
        int | None,
        Option(
            "--sets",
            metavar="N",
            least=1,
            help="Only evaluate the first N networks, or sets of networks, of each table "
            "(default: all).",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        Option(
            "--seeds",
            metavar="N",
            least=1,
            help="Run each search with seeds 0 to N - 1 (default: as many as the budget has).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="Directory for the results of each table (.json), a Markdown table (.md), a page "
            "(.html) and a plot (.png), and for an overview of all results there. Results that are "
            "already there are reused.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce tables of published papers: print published values beside computed values.

    docs/validation/papers.md and layerweaver.md show all tables and explain the table files.
    """
    if not tables:
        from .listing import list_tables

        list_tables(as_json, new_console())
        return
    from .measuring import Wish, reproduce_tables

    raise Exit(reproduce_tables(tables, Wish(budget, sets, seeds, out), as_json, new_console()))
