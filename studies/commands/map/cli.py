"""The command line of ``archloom map``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.rendering.text import new_console

from ..options import Argument, Exit, Option, Seed

MAP_EXAMPLES: Final = (
    "Example: archloom map tests/data/timeloop_cases.jsonl; "
    "archloom map CASES.jsonl --case ref-0002 --bypass free --budget-seconds 60 --plot found.png; "
    "archloom map CASES.jsonl --json > mappings.jsonl"
)


def map_(
    cases: Annotated[Path, Argument(metavar="CASES", help="File with a case on each line.")],
    objective: Annotated[
        str, Option("--objective", help="What is least: edp, energy or latency.")
    ] = "edp",
    seconds: Annotated[
        float | None,
        Option("--budget-seconds", metavar="S", help="For each case; 10 unless said."),
    ] = None,
    evaluations: Annotated[
        int | None,
        Option(
            "--evaluations",
            metavar="N",
            least=1,
            help="For each case, in place of seconds: the same result on every machine.",
        ),
    ] = None,
    search: Annotated[str, Option("--search", help="Its name; an unknown one lists all.")] = "auto",
    factors: Annotated[
        str,
        Option(
            "--factors",
            help="imperfect: tiles of any size, cut at the layer's edges, beside the best exact "
            "ones; or exact: factors multiply to the layer's bounds.",
        ),
    ] = "imperfect",
    bypass: Annotated[
        str,
        Option(
            "--bypass",
            help="as-given: levels keep what they keep in the case's own mapping; or free, as it "
            "is where a case has none.",
        ),
    ] = "as-given",
    both_axes: Annotated[
        bool,
        Option("--both-axes", help="A dimension may be unrolled along x and y at once."),
    ] = False,
    dataflow: Annotated[
        str | None, Option("--dataflow", metavar="NAME", help="Such as weight_stationary.")
    ] = None,
    constraints: Annotated[
        Path | None,
        Option("--constraints", metavar="FILE", help="YAML: dataflow, unrolling, orders, bypass."),
    ] = None,
    case: Annotated[
        str | None, Option("--case", metavar="ID", help="Only the case of that id.")
    ] = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        Option("--plot", metavar="FILE", help="Draw how the search got there: .png, .svg."),
    ] = None,
    front: Annotated[
        Path | None,
        Option("--front", metavar="FILE", help="Draw the front of energy and latency: .png, .svg."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print a line of JSON for each case.")] = False,
) -> None:
    """Find the best mapping of each (architecture, layer) of a file, and prove that it is.

    CASES is in the format of docs/reference/timeloop.md; mappings and results may be
    left out. Ctrl-C ends with what was found so far. docs/how_to/mapping.md
    explains the options and what is printed.
    """
    from .cases import Sought, constraints_of
    from .command import Output, effort_of, map_cases

    sought = Sought(objective, bypass, constraints_of(constraints, dataflow, both_axes))
    effort = effort_of(search, seconds, evaluations, seed, factors)
    output = Output(as_json, plot, front)
    raise Exit(map_cases(cases, case, sought, effort, output, new_console()))
