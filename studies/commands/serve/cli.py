"""The command line of ``archloom serve``."""

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

SERVE_EXAMPLES: Final = (
    "archloom serve resnet50 bert_base --hardware memory_centric --load 0.7 --deadline 4x --shed "
    "1.3",
    "archloom serve resnet50 bert_base --hardware memory_centric --qps 1500 "
    "--deadline resnet50=2ms --deadline bert_base=3ms --stable --plot latency.html",
    "archloom serve resnet50 bert_base --hardware memory_centric --trace requests.csv --csv",
    "archloom serve resnet50 bert_base --hardware memory_centric --arrivals single",
)


def serve(
    sources: Annotated[
        list[str],
        Argument(
            "NETWORK...",
            "Networks: names or files as for archloom networks, or tables of layers (.csv, .json). "
            "Options of a network follow a colon: bert_base:sequence_length=16,batch=4.",
        ),
    ],
    hardware: Chosen,
    arrivals: Annotated[
        str,
        Option(
            "--arrivals",
            metavar="KIND",
            help="Arrival process: poisson; bursts (Poisson arrivals of bursts of --size requests "
            "for one network); single (the next request of a network arrives when its last one is "
            "done); batches (like single, with --size requests at once).",
        ),
    ] = "poisson",
    load: Annotated[
        float | None,
        Option(
            "--load",
            help="Offered load for poisson and bursts, as a fraction of the load that keeps the "
            "busiest resource occupied all the time (default: 0.7).",
        ),
    ] = None,
    qps: Annotated[
        float | None,
        Option(
            "--qps",
            help="Offered load in requests per second, of all networks together. Replaces --load.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        Option("--size", least=1, help="Number of requests in a burst or batch (default: 8)."),
    ] = None,
    shares: Annotated[
        list[str] | None,
        Option(
            "--share",
            metavar="NETWORK=X",
            help="Relative number of requests for a network. Give it for every network or for none "
            "(default: the shares at which the upper bound on STP is reached). May be repeated.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        Option(
            "--trace",
            metavar="FILE",
            help="Read requests from a CSV file instead, with the column network and one of "
            "time_s, time_ms and time_us.",
        ),
    ] = None,
    deadlines: Annotated[
        list[str] | None,
        Option(
            "--deadline",
            metavar="[NETWORK=]TIME",
            help="Deadline of requests: a time with unit (20ms), or a multiple of the time between "
            "queries when the network runs alone (4x). Without NETWORK= it is for all networks "
            "that have no deadline of their own. May be repeated (default: no deadline).",
        ),
    ] = None,
    policy: Annotated[
        str,
        Option(
            "--policy",
            metavar="RULE",
            help="Rule that selects the next layer: fcfs (first come, first served), edf (earliest "
            "deadline first), layerweaver, exact_idle or strings.",
        ),
    ] = "strings",
    slack: Annotated[
        float | None,
        Option(
            "--slack",
            help="Serve requests first whose slack is below this multiple of the longest isolated "
            "query time (default: no priority by slack).",
        ),
    ] = None,
    shed: Annotated[
        float | None,
        Option(
            "--shed",
            help="Reject requests whose deadline is less than this multiple of the network's "
            "isolated query time away (default: reject none).",
        ),
    ] = None,
    shed_at: Annotated[
        str | None,
        Option(
            "--shed-at",
            metavar="WHEN",
            help="When --shed is checked: start (when the request would start) or arrival (when it "
            "arrives, with the waiting requests of its network counted) (default: start).",
        ),
    ] = None,
    requests: Annotated[
        int | None,
        Option("--requests", least=1, help="Number of requests, of all networks (default: 3000)."),
    ] = None,
    seed: Seed = 0,
    stable: Annotated[
        bool,
        Option(
            "--stable",
            help="Also find the stable load: the largest load at which hardly any request misses "
            "its deadline (see --missed).",
        ),
    ] = False,
    missed: Annotated[
        float | None,
        Option(
            "--missed",
            help="Fraction of requests that may miss their deadline at the stable load (default: "
            "0.01).",
        ),
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
            help="Draw the latency distribution, and goodput and 99th percentile latency over the "
            "load, into this file: .html (interactive), .png or .svg.",
        ),
    ] = None,
    as_csv: Annotated[
        bool, Option("--csv", help="Print CSV, one line per request with its outcome.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate the serving of requests with deadlines for networks that share one accelerator.

    Prints latencies, missed deadlines and goodput, with an upper bound on the goodput of any
    policy. docs/how_to/serving.md explains the output.
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
