"""The command line of ``archloom map``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import MAPPING_SEARCHES, Argument, Exit, Option, Seed
from archloom.studies.rendering.text import new_console

MAP_EXAMPLES: Final = (
    "archloom map tests/data/timeloop_cases.jsonl",
    "archloom map CASES.jsonl --case ref-0002 --bypass free --budget-seconds 60 --plot found.png",
    "archloom map CASES.jsonl --json > mappings.jsonl",
)


def map_(
    cases: Annotated[Path, Argument(metavar="CASES", help="JSON Lines file of cases.")],
    objective: Annotated[
        str,
        Option("--objective", metavar="METRIC", help="Metric to minimise: edp, energy or latency."),
    ] = "edp",
    seconds: Annotated[
        float | None,
        Option(
            "--budget-seconds",
            metavar="S",
            help="Time limit for each case, in seconds (default: 10; none with --evaluations).",
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        Option(
            "--evaluations",
            metavar="N",
            least=1,
            help="Maximum number of evaluated mappings for each case. Unlike a time limit, it "
            "gives the same result on every machine (default: no limit).",
        ),
    ] = None,
    search: Annotated[
        str, Option("--search", metavar="NAME", help=f"Mapping search: {MAPPING_SEARCHES}.")
    ] = "auto",
    factors: Annotated[
        str,
        Option(
            "--factors",
            metavar="KIND",
            help="exact: tile sizes divide the loop bounds; imperfect: tile sizes are free, and "
            "the last tile of a loop may be smaller.",
        ),
    ] = "imperfect",
    bypass: Annotated[
        str,
        Option(
            "--bypass",
            metavar="KIND",
            help="as-given: each level keeps the tensors that it keeps in the mapping of the case; "
            "free: the search chooses. Cases without a mapping are always free.",
        ),
    ] = "as-given",
    both_axes: Annotated[
        bool,
        Option(
            "--both-axes",
            help="Allow unrolling one dimension along both axes of a mesh (default: one axis).",
        ),
    ] = False,
    dataflow: Annotated[
        str | None,
        Option(
            "--dataflow",
            metavar="NAME",
            help="Dataflow of all mappings: any, weight_stationary, input_stationary, "
            "output_stationary or row_stationary (default: any).",
        ),
    ] = None,
    constraints: Annotated[
        Path | None,
        Option(
            "--constraints",
            metavar="FILE",
            help="YAML file with constraints on mappings: dataflow, unrolling, loop orders, "
            "bypass.",
        ),
    ] = None,
    case: Annotated[
        str | None, Option("--case", metavar="ID", help="Only map the case with this id.")
    ] = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        Option("--plot", metavar="FILE", help="Draw the progress of the search: .png or .svg."),
    ] = None,
    front: Annotated[
        Path | None,
        Option(
            "--front",
            metavar="FILE",
            help="Draw the Pareto front of energy and latency: .png or .svg.",
        ),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON Lines, one object for each case.")
    ] = False,
) -> None:
    """Search the best mapping of each case (an architecture and a layer), with an optimality gap.

    docs/reference/timeloop.md defines the format of CASES; the mapping and the results of a case
    may be missing. Ctrl-C ends the search and prints the best mappings so far.
    docs/how_to/mapping.md explains the options and the output.
    """
    from .cases import Sought, constraints_of
    from .command import Output, effort_of, map_cases

    sought = Sought(objective, bypass, constraints_of(constraints, dataflow, both_axes))
    effort = effort_of(search, seconds, evaluations, seed, factors)
    output = Output(as_json, plot, front)
    raise Exit(map_cases(cases, case, sought, effort, output, new_console()))
