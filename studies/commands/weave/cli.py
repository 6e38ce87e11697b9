"""The command line of ``archloom weave``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.rendering.text import new_console

from ..options import (
    Argument,
    AsJson,
    Exit,
    HardwareSettings,
    MappingEvaluations,
    Option,
    Seed,
    Technology,
    WordBits,
)
from .options import (
    Batch,
    BufferKib,
    Chosen,
    Evaluations,
    MappingSearch,
    Maps,
    Plan,
)

WEAVE_EXAMPLES: Final = (
    "Example: archloom weave resnet50 bert_base:sequence_length=16 --hardware memory_centric; "
    "archloom weave resnet50 bert_base --hardware tpu_v3 --plan joint --plot timeline.html; "
    "archloom weave camera.csv bert_base --hardware memory_centric --stream --json"
)


def weave(
    networks: Annotated[
        list[str],
        Argument(
            metavar="NETWORK...",
            names="networks",
            help="Two at least: a name or a file as for archloom networks, or a table of layers "
            "(.csv, .json). Options stand behind a colon: bert_base:sequence_length=16,batch=4.",
        ),
    ],
    hardware: Chosen,
    batch: Batch = None,
    scheduler: Annotated[
        str | None,
        Option(
            "--scheduler",
            metavar="NAME",
            help="exact for one query, strings for streams unless said; an unknown one lists all.",
        ),
    ] = None,
    stream: Annotated[
        bool, Option("--stream", help="Endless queries of each network, not one.")
    ] = False,
    plan: Plan = None,
    evaluations: Evaluations = None,
    mapping: MappingSearch = None,
    mapping_evaluations: MappingEvaluations = None,
    buffer_kib: BufferKib = None,
    maps: Maps = "fit",
    settings: HardwareSettings = None,
    technology: Technology = None,
    word_bits: WordBits = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        Option(
            "--plot",
            metavar="FILE",
            help="Draw both engines and the buffers over time: .html to zoom, .png or .svg.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        Option("--trace", metavar="FILE", help="Write them for Perfetto or Chrome: .json."),
    ] = None,
    as_csv: Annotated[
        bool, Option("--csv", help="Print the schedule as CSV, a line for each layer.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Weave the layers of several networks on one chip, and bound what any order could do.

    The fetches of one network hide behind the compute of another. Prints makespan, STP, ANTT and
    active shares with a lower bound and the gap; for streams STP beside its bound and what more
    bandwidth or a faster array is worth. docs/weave.md explains what is printed.
    """
    from ...errors import AllFaults
    from .chip import Asked, find_chip
    from .command import Output, Weaving, weave_networks
    from .planning import Planning, effort_for
    from .sources import read_sources

    faults = AllFaults()
    with faults.collecting():
        output = Output(as_json, as_csv, plot, trace)
    with faults.collecting():
        weaving = Weaving(scheduler, stream, maps, seed)
    with faults.collecting():
        planning = Planning(plan, evaluations, mapping, mapping_evaluations)
    with faults.collecting():
        chip = find_chip(Asked(hardware, settings or (), technology, word_bits, buffer_kib))
    with faults.collecting():
        sources = read_sources(networks, batch)
    faults.raise_any()
    effort = effort_for(planning, chip, sources, seed)
    raise Exit(weave_networks(sources, chip, effort, weaving, output, new_console()))
