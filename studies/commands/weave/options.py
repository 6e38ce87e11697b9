"""Options of commands that run several networks on one chip."""

from typing import Annotated, Final

from ..options import Option

Chosen = Annotated[
    str,
    Option(
        "--hardware",
        metavar="HARDWARE",
        names="hardware",
        help="An NPU of the Layerweaver paper (memory_centric, compute_centric), a preset, a "
        "template, or a file.",
    ),
]

Batch = Annotated[
    int | None,
    Option("--batch", least=1, help="Inferences of a query; else the network's own, mostly 1."),
]

Plan = Annotated[
    str | None,
    Option(
        "--plan",
        metavar="PLANNER",
        help="Who chooses what of a network runs fused: joint unless said, none for layers.",
    ),
]

Evaluations = Annotated[
    int | None,
    Option("--evaluations", metavar="N", least=1, help="Plans of each network; 200 at most."),
]

MappingSearch = Annotated[
    str | None,
    Option("--mapping", metavar="SEARCH", help="Of mappings; an unknown one lists all."),
]

BufferKib = Annotated[
    int | None,
    Option(
        "--buffer-kib",
        metavar="KIB",
        least=1,
        help="Memory for weights; else the NPU's, or half of the outermost on-chip memory.",
    ),
]

#: whether maps have to fit on the chip
MAPS: Final = ("fit", "unlimited")

Maps = Annotated[
    str,
    Option(
        "--maps",
        metavar="|".join(MAPS),
        help="unlimited: feature maps have all the room that they need, as in the paper.",
    ),
]
