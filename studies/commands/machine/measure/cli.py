"""The command line of ``archloom measure``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import NETWORK_SETTINGS, Argument, AsJson, Exit, Option, Seed
from archloom.studies.rendering.text import new_console

MEASURE_EXAMPLES: Final = (
    "archloom measure resnet18_cifar10 --out runs/resnet18",
    "archloom measure --layer 64x32x32:64:3x3,activation=relu --algorithm gemm,library",
    "archloom measure vgg16_cifar10 --dtype float32,int8 --density 1,0.2 --tune 20",
)


def measure(
    source: Annotated[
        str | None,
        Argument(
            metavar="[NETWORK]",
            help="Name of a built-in network, or a file, as for archloom networks. Give either "
            "NETWORK or --layer.",
        ),
    ] = None,
    layers: Annotated[
        list[str] | None,
        Option(
            "--layer",
            metavar="SHAPE",
            help="Measure one convolution, CxHxW:K:RxS with optional ,stride=N ,padding=N "
            ",dilation=N ,groups=N ,activation=relu: input channels, height and width, output "
            "channels, kernel height and width. May be repeated.",
        ),
    ] = None,
    algorithms: Annotated[
        str | None,
        Option(
            "--algorithm",
            metavar="NAMES",
            help="Convolution algorithms, separated by commas: direct, gemm, spatial_pack, library "
            "(oneDNN), portable (numba) (default: all that are installed).",
        ),
    ] = None,
    dtypes: Annotated[
        str,
        Option(
            "--dtype",
            metavar="NAMES",
            help="Data types, separated by commas: float32, float16 (stored and computed), "
            "float16_stored (computed in float32), int8.",
        ),
    ] = "float32",
    densities: Annotated[
        str,
        Option(
            "--density",
            metavar="SHARES",
            help="Densities of the weights (fraction that is not zero), separated by commas. "
            "Weights of density below 1 are stored in CSR format.",
        ),
    ] = "1",
    tune: Annotated[
        int,
        Option(
            "--tune",
            least=0,
            help="Maximum number of schedules that are tried for each kernel; 0 measures only "
            "untuned kernels.",
        ),
    ] = 10,
    optimizer: Annotated[
        str,
        Option(
            "--optimizer",
            metavar="NAME",
            help="Optimizer that proposes schedules after a fixed list of good ones: tpe, nsga2 or "
            "random.",
        ),
    ] = "tpe",
    threads: Annotated[
        int, Option("--threads", least=1, help="Number of threads of each kernel.")
    ] = 1,
    compile_limit: Annotated[
        int,
        Option(
            "--compile-limit",
            metavar="S",
            least=1,
            help="Maximum CPU time to compile and check one kernel, in seconds.",
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
            "--out",
            metavar="DIR",
            help="Directory for the journal, the results and a plot (default: runs/measure-NAME).",
        ),
    ] = None,
    again: Annotated[
        bool,
        Option(
            "--retry-refused",
            help="Measure kernels again that were refused because the machine was busy.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure the run time of convolution kernels on this machine: tuned, untuned and oneDNN.

    Each kernel is checked against a float64 reference before it is timed. A speed-up is printed
    only if it exceeds the measurement noise. If the machine is too busy, a measurement is refused
    with the reason. After Ctrl-C the same command resumes without timing a kernel twice. The
    algorithms direct, gemm and spatial_pack need the package halide (pip install 'archloom[host]').
    docs/how_to/host_kernels.md explains the output.
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
