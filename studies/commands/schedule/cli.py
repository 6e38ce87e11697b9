"""The command line of ``archloom schedule``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import (
    MAPPING_SEARCHES,
    NETWORK_SETTINGS,
    PLANNERS,
    Argument,
    AsJson,
    Exit,
    Fold,
    HardwareSettings,
    MappingEvaluations,
    Option,
    Seed,
    Technology,
    WordBits,
)
from archloom.studies.rendering.text import new_console
from archloom.studies.solve import PROOF_STEPS

from ...errors import UserError

DEFAULT_PLANNER: Final = "joint"

SCHEDULE_EXAMPLES: Final = (
    "archloom schedule resnet18 --hardware eyeriss",
    "archloom schedule unet --hardware edgetpu --evaluations 500 --plot groups.html",
    "archloom schedule net.onnx --hardware my.yaml --set pe_x=16 --fusion none --json",
)


def schedule(
    source: Annotated[
        str,
        Argument(
            metavar="NETWORK",
            help="Name of a built-in network, or a file, as for archloom networks.",
            names="networks",
        ),
    ],
    hardware: Annotated[
        str,
        Option(
            "--hardware",
            metavar="HARDWARE",
            help="Name of a preset or template, a template file (.yaml), or host (this machine).",
            names="hardware",
        ),
    ],
    fusion: Annotated[
        str | None,
        Option(
            "--fusion",
            metavar="PLANNER",
            help=f"Fusion planner: {PLANNERS}. With none, no layers are fused (default: "
            f"{DEFAULT_PLANNER}).",
        ),
    ] = None,
    sub_batches: Annotated[
        str | None,
        Option(
            "--sub-batches",
            metavar="N",
            help="Cut the batch into N parts, which run one after another through the whole plan, "
            "or auto to find the best number (fast and fast_printed).",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        Option(
            "--plan",
            metavar="FILE",
            help="Evaluate the fusion plan of a JSON file instead of searching one; the format is "
            "that of --json. Layers that are in no group of the file run unfused.",
        ),
    ] = None,
    evaluations: Annotated[
        int,
        Option(
            "--evaluations",
            metavar="N",
            least=1,
            help="Maximum number of fusion plans that are evaluated.",
        ),
    ] = 200,
    prove_plans: Annotated[
        int | None,
        Option(
            "--prove-plans",
            metavar="STEPS",
            least=0,
            help="Bound all plans of the planner's search space afterwards, in up to STEPS steps "
            f"(planner joint; default: {PROOF_STEPS}; 0: no proof).",
        ),
    ] = None,
    mapping: Annotated[
        str, Option("--mapping", metavar="SEARCH", help=f"Mapping search: {MAPPING_SEARCHES}.")
    ] = "auto",
    mapping_evaluations: MappingEvaluations = None,
    prove_mappings: Annotated[
        int,
        Option(
            "--prove-mappings",
            metavar="N",
            least=0,
            help="Search the mappings of the plan once more, with up to N evaluations each, for "
            "the lowest EDP of the whole plan and a proof of how far it can be lowered (0: off).",
        ),
    ] = 0,
    factors: Annotated[
        str,
        Option(
            "--factors",
            metavar="KIND",
            help="exact: tile sizes divide the loop bounds; padded: loop bounds are rounded up so "
            "that they divide well; imperfect: tile sizes are free, and the last tile of a loop "
            "may be smaller.",
        ),
    ] = "imperfect",
    seed: Seed = 0,
    batch: Annotated[
        int | None,
        Option(
            "--batch",
            least=1,
            help="Batch size in images (default: the network's own; if that is 1, the native batch "
            "size of the hardware).",
        ),
    ] = None,
    network_settings: Annotated[
        list[str] | None,
        Option(
            "--network-set",
            metavar="NAME=VALUE",
            help=NETWORK_SETTINGS,
        ),
    ] = None,
    fold: Fold = False,
    settings: HardwareSettings = None,
    technology: Technology = None,
    word_bits: WordBits = None,
    plot: Annotated[
        Path | None,
        Option(
            "--plot",
            metavar="FILE",
            help="Draw the network's graph with its fusion groups into this file: .html "
            "(interactive), .png or .svg.",
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        Option(
            "--memory",
            metavar="FILE",
            help="Draw the contents of the shared buffer over time into this file: .png or .svg.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search the fusion plan of a network on given hardware: which layers run fused, and how.

    Prints the groups of the plan, and its energy, latency and DRAM traffic beside those of unfused
    execution and a lower bound. Ctrl-C ends the search and prints the best plan so far.
    docs/how_to/schedule.md explains the output.
    """
    from archloom.studies.config import find_hardware
    from archloom.studies.solve import in_sub_batches, with_proof

    from .command import Output, effort_of, given, network_of, schedule_network

    if plan is not None and fusion is not None:
        raise UserError("--plan and --fusion exclude each other; use one of them")
    if plan is not None and sub_batches is not None:
        raise UserError("--plan and --sub-batches exclude each other: the file says how many")
    output = Output(as_json, plot, memory)
    planner = fusion or DEFAULT_PLANNER
    effort = effort_of(planner, evaluations, mapping, mapping_evaluations, seed, factors)
    if prove_mappings:
        effort = replace(effort, settings=replace(effort.settings, prove_mappings=prove_mappings))
    if sub_batches is not None:
        effort = in_sub_batches(effort, sub_batches, "--sub-batches")
    found = find_hardware(hardware, settings or [], technology, word_bits).hardware
    network = network_of(source, network_settings or [], batch, found, fold)
    if plan is not None:
        effort = given(plan, network, effort)
    effort = with_proof(effort, prove_plans, "--prove-plans")
    raise Exit(schedule_network(network, found, effort, output, new_console()))
