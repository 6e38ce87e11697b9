"""The command line of ``archloom weave``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import (
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
from archloom.studies.rendering.text import new_console

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
    "archloom weave resnet50 bert_base:sequence_length=16 --hardware memory_centric",
    "archloom weave resnet50 bert_base --hardware tpu_v3 --plan joint --plot timeline.html",
    "archloom weave camera.csv bert_base --hardware memory_centric --stream --json",
)


def weave(
    networks: Annotated[
        list[str],
        Argument(
            metavar="NETWORK...",
            names="networks",
            help="At least two networks: names or files as for archloom networks, or tables of "
            "layers (.csv, .json). Options of a network follow a colon: "
            "bert_base:sequence_length=16,batch=4.",
        ),
    ],
    hardware: Chosen,
    batch: Batch = None,
    scheduler: Annotated[
        str | None,
        Option(
            "--scheduler",
            metavar="NAME",
            help="Scheduler: ai_mt, beam, compute_only, exact, fair, layerweaver, memory_only, "
            "strings, or the name of an installed plugin (default: exact; with --stream strings).",
        ),
    ] = None,
    stream: Annotated[
        bool,
        Option(
            "--stream",
            help="Schedule an endless stream of queries of each network (default: one query of "
            "each).",
        ),
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
            help="Draw DRAM transfers, compute and buffers over time into this file: .html "
            "(interactive), .png or .svg.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        Option(
            "--trace",
            metavar="FILE",
            help="Write the schedule as a trace (.json) for Perfetto or chrome://tracing.",
        ),
    ] = None,
    as_csv: Annotated[
        bool, Option("--csv", help="Print the schedule as CSV, one line per layer.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Interleave the layers of several networks on one accelerator, with a bound on every order.

    The weight transfers of one network overlap with the computation of another. Prints makespan,
    system throughput (STP), average normalized turnaround time (ANTT) and utilisation, with a lower
    bound and the gap to it. For streams, prints STP with an upper bound, and how much more
    bandwidth or a faster array would add. docs/how_to/weave.md explains the output.
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
