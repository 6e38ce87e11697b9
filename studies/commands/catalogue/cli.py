"""The command lines of ``archloom hardware``, ``networks`` and ``technology``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import (
    NETWORK_SETTINGS,
    Argument,
    AsJson,
    Exit,
    Fold,
    HardwareSettings,
    Option,
    Technology,
    WordBits,
)
from archloom.studies.rendering.text import new_console

from ...errors import UserError

HARDWARE_EXAMPLES: Final = (
    "archloom hardware eyeriss",
    "archloom hardware tpu_v3 --technology n7 --json",
    "archloom hardware my.yaml --set pe_x=16 --set l2_kib=512",
    "archloom hardware eyeriss --sensitivity --network vgg16 --plot eyeriss.png",
)


def hardware_(
    source: Annotated[
        str,
        Argument(
            metavar="HARDWARE",
            help="Name of a preset or template, a template file (.yaml), or host (this machine).",
            names="hardware",
        ),
    ],
    settings: HardwareSettings = None,
    technology: Technology = None,
    word_bits: WordBits = None,
    as_json: AsJson = False,
    sensitivity: Annotated[
        bool,
        Option(
            "--sensitivity",
            help="Instead, halve and double each value that no source gives, and print how much "
            "latency, energy, EDP and area change.",
        ),
    ] = False,
    networks: Annotated[
        list[str] | None,
        Option(
            "--network",
            metavar="NETWORK",
            help="With --sensitivity: network that runs on the design, by name or file. May be "
            "repeated (default: resnet18 and bert_base).",
            names="networks",
        ),
    ] = None,
    factor: Annotated[
        float | None,
        Option(
            "--factor",
            help="With --sensitivity: number by which values are divided and multiplied "
            "(default: 2).",
        ),
    ] = None,
    mapping_evaluations: Annotated[
        int | None,
        Option(
            "--mapping-evaluations",
            metavar="N",
            least=1,
            help="With --sensitivity: maximum number of mappings evaluated for each layer on each "
            "design (default: 100000).",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        Option("--seed", help="With --sensitivity: seed of the mapping searches (default: 0)."),
    ] = None,
    plot: Annotated[
        Path | None,
        Option(
            "--plot",
            metavar="FILE",
            help="With --sensitivity: draw a tornado chart into this file: .png or .svg.",
        ),
    ] = None,
) -> None:
    """Print a hardware design: storage levels, energy per access, area, TDP, and their sources.

    For a template, parameters without --set take their first value, and all allowed values are
    listed. --sensitivity shows which values are assumptions, and how much each decides;
    docs/how_to/assumptions.md explains its output.
    """
    from archloom.studies.config import find_hardware

    from .hardware import show_hardware

    alone: dict[str, object] = {
        "--network": networks or None,
        "--factor": factor,
        "--mapping-evaluations": mapping_evaluations,
        "--seed": seed,
        "--plot": plot,
    }
    given = {name: value for name, value in alone.items() if value is not None}
    if given and not sensitivity:
        raise UserError(f"{', '.join(given)}: only for --sensitivity; add it, or leave these out")
    found = find_hardware(source, settings or [], technology, word_bits, complete=True)
    if not sensitivity:
        show_hardware(found, as_json, new_console())
        return
    from archloom.studies.solve.sensitivity import MappingsEffort

    from .sensitivity import DEFAULT_NETWORKS, Asked, show_sensitivity

    effort = MappingsEffort("auto", mapping_evaluations or 100_000, seed or 0)
    times = 2.0 if factor is None else factor
    asked = Asked(networks or DEFAULT_NETWORKS, times, effort, as_json, plot)
    raise Exit(show_sensitivity(found, asked, new_console()))


NETWORKS_EXAMPLES: Final = (
    "archloom networks",
    "archloom networks bert_base --batch 4 --set sequence_length=384",
    "archloom networks resnet50 --out resnet50.html",
)


def networks_(
    source: Annotated[
        str | None,
        Argument(
            metavar="[NETWORK]",
            help="Name of a built-in network, a file (ONNX, JSON, or YAML with einsums), or a "
            "directory of Timeloop problems (default: list all built-in networks).",
            names="networks",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help=NETWORK_SETTINGS,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        Option("--batch", least=1, help="Batch size in images (default: the network's own)."),
    ] = None,
    fold: Fold = False,
    word_bits: Annotated[
        int, Option("--word-bits", least=1, help="Word width in bits, for figures in bytes.")
    ] = 16,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="FILE",
            help="Draw the network's graph into this file: .html (interactive), .png or .svg.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a network: layers, shapes, MACs, bytes, operational intensity; or draw its graph."""
    if source is None:
        from .networks import show_networks

        if out is not None:
            raise UserError(f"--out {out}: NETWORK is missing; name the network to draw")
        if settings:
            raise UserError(
                f"--set {settings[0]}: NETWORK is missing; name the network to set it for"
            )
        show_networks(batch, word_bits, as_json, new_console())
    else:
        from archloom.studies.config import WorkloadOptions

        from .networks import show_network

        asked = WorkloadOptions(tuple(settings or ()), batch, word_bits, fold=fold)
        show_network(source, asked, as_json, out, new_console())


TECHNOLOGY_EXAMPLES: Final = (
    "archloom technology",
    "archloom technology n7",
)


def technology_(
    name: Annotated[
        str | None,
        Argument(
            metavar="[NAME]",
            help="Name of a technology table (default: list all tables).",
            names="technologies",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a technology table: energy and area entries, DRAMs, SRAM fit error, and sources."""
    from .technology import show_technologies, show_technology

    if name is None:
        show_technologies(as_json, new_console())
    else:
        show_technology(name, as_json, new_console())
