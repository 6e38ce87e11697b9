"""The command line of ``archloom compress``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.rendering.text import new_console

from ..options import Argument, AsJson, Exit, Option, Seed

COMPRESS_EXAMPLES: Final = (
    "Example: archloom compress resnet18; "
    "archloom compress mobilenetv2 --method weights --levels 0.5,0.8,0.95 --seeds 3; "
    "archloom compress resnet18 --data cifar10 --data-dir cifar-10-batches-bin --weights mine.pt "
    "--method int8 --out runs/mine"
)


def compress(
    model: Annotated[str, Argument("MODEL", "Which one; an unknown one lists all.")],
    data: Annotated[
        str,
        Option("--data", metavar="NAME", help="digits, mnist5k, cifar10 or imagenet."),
    ] = "digits",
    data_dir: Annotated[
        Path | None,
        Option("--data-dir", metavar="DIR", help="Where cifar10 or imagenet lies."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        Option(
            "--method",
            metavar="NAME",
            help="weights (the smallest become zero), channels (are taken out), float16, int8 or "
            "int4; repeat. All but int4 unless said.",
        ),
    ] = None,
    levels: Annotated[
        list[str] | None,
        Option(
            "--levels",
            metavar="[METHOD=]X,Y,...",
            help="Shares that are pruned, ascending, one after the other; of weights or channels, "
            "or of both.",
        ),
    ] = None,
    seeds: Annotated[int, Option("--seeds", least=1, help="Models that are trained.")] = 3,
    seed: Seed = 0,
    epochs: Annotated[
        int | None, Option("--epochs", least=1, help="Of training; else what the data needs.")
    ] = None,
    fine_tune: Annotated[
        int | None,
        Option(
            "--fine-tune",
            metavar="N",
            least=0,
            help="Epochs after each level; else those of training, shared by the levels.",
        ),
    ] = None,
    width: Annotated[
        float | None,
        Option("--width", help="Factor of the model's channels; else what the data needs."),
    ] = None,
    weights: Annotated[
        Path | None,
        Option(
            "--weights",
            metavar="FILE",
            help="A state_dict of your own instead of training; nothing in it is executed.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        Option("--tolerance", help="Points of accuracy that the elbow may lose."),
    ] = 1.0,
    out: Annotated[
        Path | None,
        Option("--out", metavar="DIR", help="Else runs/compress-MODEL-DATA."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, compress it, and say how far it goes before accuracy drops.

    Prints accuracy, size and multiply-accumulates of each level, over seeds, and the elbow. DIR
    gets them as JSON and as a picture, the weights, and networks for archloom schedule and run.
    Stopped and run again, it goes on where it was. docs/how_to/compression.md explains all of it.
    """
    from .command import run_compression
    from .wishes import Wishes, settled

    wishes = Wishes(
        model, data, data_dir, tuple(methods or ()), tuple(levels or ()), seeds, seed, epochs,
        fine_tune, width, weights, tolerance, out,
    )  # fmt: skip
    raise Exit(run_compression(settled(wishes), as_json, new_console()))
