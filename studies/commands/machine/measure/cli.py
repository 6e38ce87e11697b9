"""The command line of ``archloom measure``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.rendering.text import new_console

from ...options import NETWORK_SETTINGS, Argument, AsJson, Exit, Option, Seed

MEASURE_EXAMPLES: Final = (
    "Example: archloom measure resnet18_cifar10 --out runs/resnet18; "
    "archloom measure --layer 64x32x32:64:3x3,activation=relu --algorithm gemm,library; "
    "archloom measure vgg16_cifar10 --dtype float32,int8 --density 1,0.2 --tune 20"
)


def measure(
    source: Annotated[
        str | None,
        Argument(
            metavar="[NETWORK]",
            help="As for archloom networks: a name, an ONNX file, a JSON. Or --layer.",
        ),
    ] = None,
    layers: Annotated[
        list[str] | None,
        Option(
            "--layer",
            metavar="SHAPE",
            help="CxHxW:K:RxS, then ,stride=N ,padding=N ,dilation=N ,groups=N ,activation=relu as "
            "needed; repeat.",
        ),
    ] = None,
    algorithms: Annotated[
        str | None,
        Option(
            "--algorithm",
            metavar="NAMES",
            help="direct, gemm, spatial_pack, library (oneDNN), portable (numba); with commas. "
            "All unless said.",
        ),
    ] = None,
    dtypes: Annotated[
        str,
        Option(
            "--dtype",
            metavar="NAMES",
            help="float32, float16 (computed), float16_stored, int8; with commas.",
        ),
    ] = "float32",
    densities: Annotated[
        str,
        Option(
            "--density",
            metavar="SHARES",
            help="Of weights that are not zero, with commas; below 1 they are in CSR.",
        ),
    ] = "1",
    tune: Annotated[
        int,
        Option(
            "--tune",
            least=0,
            help="Schedules that are tried for each kernel at most; 0 for untuned ones alone.",
        ),
    ] = 10,
    optimizer: Annotated[
        str,
        Option("--optimizer", metavar="NAME", help="After curated schedules; tpe, nsga2, random."),
    ] = "tpe",
    threads: Annotated[int, Option("--threads", least=1, help="Of each kernel.")] = 1,
    compile_limit: Annotated[
        int,
        Option(
            "--compile-limit", metavar="S", least=1, help="CPU seconds to compile and check one."
        ),
    ] = 20,
    seed: Seed = 0,
    network_settings: Annotated[
        list[str] | None,
        Option("--network-set", metavar="NAME=VALUE", help=NETWORK_SETTINGS),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out", metavar="DIR", help="Of journal, results, picture; else runs/measure-NAME."
        ),
    ] = None,
    again: Annotated[
        bool,
        Option("--retry-refused", help="Measure again what a busy machine refused."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Time kernels of a network's convolutions on this machine, tuned and untuned, with oneDNN's.

    Each kernel is checked against float64 before it is timed. A ratio is given where it exceeds the
    noise, and a row is refused with the reason where the machine is too busy. Ctrl-C, and the same
    command again, goes on: no kernel is timed twice. The compiled algorithms need the package
    halide (pip install 'archloom[host]'); docs/how_to/host_kernels.md explains what is printed.
    """
    from .asked import Asked, wanted_of
    from .command import Output, measure_kernels

    asked = Asked(
        source,
        tuple(layers or ()),
        tuple(network_settings or ()),
        algorithms,
        dtypes,
        densities,
        (tune, optimizer, seed, threads),
    )
    wanted = wanted_of(asked)
    output = Output(out or Path("runs") / f"measure-{wanted.name}", as_json, again, compile_limit)
    raise Exit(measure_kernels(wanted, output, new_console()))
