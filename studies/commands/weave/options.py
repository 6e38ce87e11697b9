"""Options of commands that run several networks on one accelerator."""

from typing import Annotated, Final

from archloom.studies.commands.options import MAPPING_SEARCHES, PLANNERS, Option

Chosen = Annotated[
    str,
    Option(
        "--hardware",
        metavar="HARDWARE",
        names="hardware",
        help="An NPU of the Layerweaver paper (memory_centric or compute_centric), or hardware as "
        "for archloom hardware: a preset, a template or a template file.",
    ),
]

Batch = Annotated[
    int | None,
    Option(
        "--batch",
        least=1,
        help="Batch size: inferences per query (default: the network's own, for most networks 1).",
    ),
]

Plan = Annotated[
    str | None,
    Option(
        "--plan",
        metavar="PLANNER",
        help=f"Fusion planner: {PLANNERS}. With none, each layer runs by itself (default: joint).",
    ),
]

Evaluations = Annotated[
    int | None,
    Option(
        "--evaluations",
        metavar="N",
        least=1,
        help="Maximum number of fusion plans evaluated for each network (default: 200).",
    ),
]

MappingSearch = Annotated[
    str | None,
    Option(
        "--mapping",
        metavar="SEARCH",
        help=f"Mapping search: {MAPPING_SEARCHES} (default: auto).",
    ),
]

BufferKib = Annotated[
    int | None,
    Option(
        "--buffer-kib",
        metavar="KIB",
        least=1,
        help="Size of the weight buffer in KiB (default: the NPU's weight buffer; for other "
        "hardware half of the outermost on-chip level).",
    ),
]

#: whether feature maps have to fit on the chip
MAPS: Final = ("fit", "unlimited")

Maps = Annotated[
    str,
    Option(
        "--maps",
        metavar="|".join(MAPS),
        help="fit: feature maps have to fit into the on-chip memory beside the weights; unlimited: "
        "the size of feature maps is ignored, as in the Layerweaver paper.",
    ),
]
