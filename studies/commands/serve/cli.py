"""The command line of ``archloom serve``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.weave import (
    MAPS,
    Batch,
    BufferKib,
    Chosen,
    Evaluations,
    MappingSearch,
    Maps,
    Plan,
)
from archloom.studies.rendering.text import known, new_console

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

SERVE_EXAMPLES: Final = (
    "Example: archloom serve resnet50 bert_base --hardware memory_centric --load 0.7 "
    "--deadline 4x --shed 1.3; "
    "archloom serve resnet50 bert_base:sequence_length=16 --hardware memory_centric --qps 1500 "
    "--deadline resnet50=2ms --deadline bert_base=3ms --stable --plot latency.html; "
    "archloom serve resnet50 bert_base --hardware memory_centric --trace requests.csv --csv; "
    "archloom serve resnet50 bert_base --hardware memory_centric --arrivals single"
)


def serve(
    sources: Annotated[
        list[str],
        Argument(
            "NETWORK...",
            "A name or a file as for archloom networks, or a table of layers (.csv, .json). "
            "Options stand behind a colon: bert_base:sequence_length=16,batch=4.",
        ),
    ],
    hardware: Chosen,
    arrivals: Annotated[
        str,
        Option(
            "--arrivals",
            metavar="KIND",
            help="poisson; bursts (of --size for one network); single (the next request of a "
            "network comes when the last is done); batches (the same, --size at once).",
        ),
    ] = "poisson",
    load: Annotated[
        float | None,
        Option(
            "--load", help="Of poisson and bursts: 1 keeps a resource busy all the time; else 0.7."
        ),
    ] = None,
    qps: Annotated[
        float | None, Option("--qps", help="Requests a second in all, instead of --load.")
    ] = None,
    size: Annotated[
        int | None, Option("--size", least=1, help="Requests of a burst or batch; else 8.")
    ] = None,
    shares: Annotated[
        list[str] | None,
        Option(
            "--share",
            metavar="NETWORK=X",
            help="How many of the requests are for it; for each network, or for none: then what "
            "bounds STP.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        Option(
            "--trace",
            metavar="FILE",
            help="Requests of a CSV file instead: columns network, and time_s, time_ms or time_us.",
        ),
    ] = None,
    deadlines: Annotated[
        list[str] | None,
        Option(
            "--deadline",
            metavar="[NETWORK=]TIME",
            help="20ms, or 4x for four isolated times; of a network, or of all others. Repeat.",
        ),
    ] = None,
    policy: Annotated[
        str,
        Option("--policy", metavar="RULE", help="Whose layer is next; an unknown one lists all."),
    ] = "strings",
    slack: Annotated[
        float | None,
        Option(
            "--slack",
            help="Requests with less time to spare than this share of the longest isolated time "
            "go first.",
        ),
    ] = None,
    shed: Annotated[
        float | None,
        Option(
            "--shed", help="Turn away what is nearer to its deadline than so many isolated times."
        ),
    ] = None,
    shed_at: Annotated[
        str | None,
        Option(
            "--shed-at",
            metavar="WHEN",
            help="That is looked at when a request would start (start), or as it comes, behind "
            "those that wait (arrival).",
        ),
    ] = None,
    requests: Annotated[
        int | None, Option("--requests", least=1, help="In all; 3000 unless said.")
    ] = None,
    seed: Seed = 0,
    stable: Annotated[
        bool, Option("--stable", help="Find the largest load with few misses, too.")
    ] = False,
    missed: Annotated[
        float | None,
        Option("--missed", help="Of --stable: the share that may be missed; 0.01 unless said."),
    ] = None,
    batch: Batch = None,
    plan: Plan = None,
    evaluations: Evaluations = None,
    mapping: MappingSearch = None,
    mapping_evaluations: MappingEvaluations = None,
    buffer_kib: BufferKib = None,
    maps: Maps = "fit",
    settings: HardwareSettings = None,
    technology: Technology = None,
    word_bits: WordBits = None,
    plot: Annotated[
        Path | None,
        Option(
            "--plot",
            metavar="FILE",
            help="Draw latencies, and goodput and p99 over the load: .html, .png or .svg.",
        ),
    ] = None,
    as_csv: Annotated[
        bool, Option("--csv", help="Print CSV: what became of each request.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve requests that come over time, for networks that share a chip, with deadlines.

    Prints latencies, misses and goodput beside the bound that no policy gets above.
    docs/how_to/serving.md explains what is printed.
    """
    from archloom.studies.commands.weave import Asked, Planning, find_chip, read_sources

    from ...errors import AllFaults
    from .command import Answer, Tenancy, policy_of, serve_requests
    from .streams import Stream
    from .wishes import read_deadlines, read_shares

    faults = AllFaults()
    with faults.collecting():
        answer = Answer(as_json, as_csv, plot, stable, missed)
    with faults.collecting():
        stream = Stream(arrivals, load, qps, size, trace, requests, seed)
    with faults.collecting():
        conduct = policy_of(policy, slack, shed, shed_at)
    with faults.collecting():
        planning = Planning(plan, evaluations, mapping, mapping_evaluations)
    with faults.collecting():
        chip = find_chip(Asked(hardware, settings or (), technology, word_bits, buffer_kib))
    with faults.collecting():
        networks = read_sources(sources, batch, 1)
        names = [network.label for network in networks]
        with faults.collecting():
            within = read_deadlines(deadlines or (), names)
        with faults.collecting():
            mix = read_shares(shares or (), names)
    with faults.collecting():
        known(maps, "--maps", MAPS)
    faults.raise_any()
    tenancy = Tenancy(tuple(networks), chip, planning, maps, mix, within)
    raise Exit(serve_requests(tenancy, stream, conduct, answer, new_console()))
