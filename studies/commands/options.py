"""Options that several commands have."""

from typing import Annotated, Final

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, with all digits.")]

Seed = Annotated[int, typer.Option("--seed", help="Of everything that is random.")]

HardwareSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter of the hardware's template; repeat."
    ),
]

Technology = Annotated[
    str | None, typer.Option("--technology", metavar="NAME", help="Price it in another table.")
]

WordBits = Annotated[
    int | None, typer.Option("--word-bits", help="Words of another width, the same bytes.")
]

NETWORK_SETTINGS: Final = "An option of the network, or a dimension of the ONNX file; repeat."
