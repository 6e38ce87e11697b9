"""The command line of ``archloom schedule``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.rendering.text import new_console

from ...errors import UserError
from ..options import (
    NETWORK_SETTINGS,
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

DEFAULT_PLANNER: Final = "joint"

SCHEDULE_EXAMPLES: Final = (
    "Example: archloom schedule resnet18 --hardware eyeriss; "
    "archloom schedule unet --hardware edgetpu --evaluations 500 --plot groups.html; "
    "archloom schedule net.onnx --hardware my.yaml --set pe_x=16 --fusion none --json"
)


def schedule(
    source: Annotated[
        str,
        Argument(
            metavar="NETWORK",
            help="As for archloom networks: a name, or a file.",
            names="networks",
        ),
    ],
    hardware: Annotated[
        str,
        Option(
            "--hardware",
            metavar="HARDWARE",
            names="hardware",
            help="A preset, host (this machine), a template, or a file.",
        ),
    ],
    fusion: Annotated[
        str | None,
        Option(
            "--fusion",
            metavar="PLANNER",
            help=f"Who chooses: {DEFAULT_PLANNER} unless said; an unknown one lists all.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        Option(
            "--plan",
            metavar="FILE",
            help="Price a plan of one's own: JSON as --json prints it. Layers that no group "
            "names run by themselves.",
        ),
    ] = None,
    evaluations: Annotated[
        int,
        Option("--evaluations", metavar="N", least=1, help="Plans that are priced at most."),
    ] = 200,
    mapping: Annotated[
        str, Option("--mapping", metavar="SEARCH", help="An unknown one lists all.")
    ] = "auto",
    mapping_evaluations: MappingEvaluations = None,
    factors: Annotated[
        str,
        Option(
            "--factors",
            help="imperfect: tiles of any size, cut at the edges of layers; padded: the whole "
            "nest runs; or exact: factors multiply to the bounds of layers.",
        ),
    ] = "imperfect",
    seed: Seed = 0,
    batch: Annotated[
        int | None,
        Option("--batch", least=1, help="Images of a pass; else the network's, or the hardware's."),
    ] = None,
    network_settings: Annotated[
        list[str] | None,
        Option(
            "--network-set",
            metavar="NAME=VALUE",
            help=NETWORK_SETTINGS,
        ),
    ] = None,
    settings: HardwareSettings = None,
    technology: Technology = None,
    word_bits: WordBits = None,
    plot: Annotated[
        Path | None,
        Option(
            "--plot", metavar="FILE", help="Draw the graph with its groups: .html, .png or .svg."
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        Option(
            "--memory", metavar="FILE", help="Draw what the buffer holds over time: .png, .svg."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find which layers run fused, and what that saves of energy, latency and DRAM traffic.

    Prints the plan's groups, and the plan beside layer by layer and a lower bound. Ctrl-C ends
    with the best plan so far. docs/schedule.md explains what is printed.
    """
    from archloom.studies.config import find_hardware

    from .command import Output, effort_of, given, network_of, schedule_network

    if plan is not None and fusion is not None:
        raise UserError("--plan and --fusion exclude each other; say one of them")
    output = Output(as_json, plot, memory)
    planner = fusion or DEFAULT_PLANNER
    effort = effort_of(planner, evaluations, mapping, mapping_evaluations, seed, factors)
    found = find_hardware(hardware, settings or [], technology, word_bits).hardware
    network = network_of(source, network_settings or [], batch, found)
    if plan is not None:
        effort = given(plan, network, effort)
    raise Exit(schedule_network(network, found, effort, output, new_console()))
