"""Options that several commands have."""

from typing import Annotated, Final

from archloom.studies.config import Location, location_of

from .parameters import Argument, Option

Study = Annotated[
    Location,
    Argument(
        "DIR",
        "Directory of the study, or postgresql://HOST/DATABASE#STUDY.",
        location_of,
        "studies",
    ),
]

Out = Annotated[
    str | None,
    Option(
        "--out",
        metavar="DIR",
        help="Directory for the study, or postgresql://HOST/DATABASE[#STUDY] (default: the "
        "study file's storage key; without it, runs/NAME for a study called NAME).",
    ),
]

Pick = Annotated[
    str | None,
    Option(
        "--pick",
        metavar="RULE",
        help="Rule that selects one design of the Pareto front: ideal (nearest to the best value "
        "of each objective), knee, or lexicographic (default: the study file's rule).",
        names="pick rules",
    ),
]

Fold = Annotated[
    bool,
    Option(
        "--fold",
        help="Fold element-wise layers, residual adds and pooling into the layers of the MAC array "
        "beside them, as compilers do.",
    ),
]

AsJson = Annotated[bool, Option("--json", help="Print JSON, with unrounded numbers.")]

Seed = Annotated[int, Option("--seed", help="Seed of the random number generators.")]

HardwareSettings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="NAME=VALUE",
        help="Value of a parameter of the hardware template. May be repeated.",
    ),
]

Technology = Annotated[
    str | None,
    Option(
        "--technology",
        metavar="NAME",
        help="Technology table for energy, area and TDP; archloom technology lists them (default: "
        "the table that the hardware names).",
        names="technologies",
    ),
]

WordBits = Annotated[
    int | None,
    Option(
        "--word-bits",
        help="Word width in bits; capacities and bandwidths in bytes stay the same (default: the "
        "hardware's width).",
    ),
]

NETWORK_SETTINGS: Final = (
    "Value of an option of the network (sequence_length=384), of a symbolic dimension of an ONNX "
    "file, or of a rank of an einsum file. May be repeated."
)

_OTHERS: Final = "or the name of an installed plugin"

#: fusion planners and mapping searches, as ``archloom.search.registry`` has them
PLANNERS: Final = (
    f"casco, casco_tilings, deepfrack, fast, fast_printed, joint, none, optimus, {_OTHERS}"
)
MAPPING_SEARCHES: Final = f"auto, exact, genetic, local, random, {_OTHERS}"

MappingEvaluations = Annotated[
    int | None,
    Option(
        "--mapping-evaluations",
        metavar="N",
        least=1,
        help="Maximum number of mappings evaluated for each mapping problem (a layer with its tile "
        "shape and the tensors already in the buffer) (default: 100000).",
    ),
]
