"""The command line of ``archloom compress``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import Argument, AsJson, Exit, Option, Seed
from archloom.studies.rendering.text import new_console

COMPRESS_EXAMPLES: Final = (
    "archloom compress resnet18",
    "archloom compress mobilenetv2 --method weights --levels 0.5,0.8,0.95 --seeds 3",
    "archloom compress resnet18 --data cifar10 --data-dir cifar-10-batches-bin --weights mine.pt "
    "--method int8 --out runs/mine",
)


def compress(
    model: Annotated[
        str,
        Argument(
            "MODEL",
            "Model: resnet18, mobilenetv1, mobilenetv2 or vgg16 (for small images), resnet50, "
            "mobilenetv2_imagenet, densenet161 or efficientnet_b0 (for ImageNet).",
        ),
    ],
    data: Annotated[
        str,
        Option("--data", metavar="NAME", help="Data set: digits, mnist5k, cifar10 or imagenet."),
    ] = "digits",
    data_dir: Annotated[
        Path | None,
        Option(
            "--data-dir",
            metavar="DIR",
            help="Directory of the data set. Required for cifar10 and imagenet; digits and mnist5k "
            "come with a Python package.",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        Option(
            "--method",
            metavar="NAME",
            help="Compression method: weights (weight pruning by magnitude), channels (channel "
            "pruning), float16, int8 or int4 (quantisation). May be repeated (default: all but "
            "int4).",
        ),
    ] = None,
    levels: Annotated[
        list[str] | None,
        Option(
            "--levels",
            metavar="[METHOD=]X,Y,...",
            help="Fractions of the weights or channels that are pruned, ascending; each level is "
            "pruned from the model of the level before it. METHOD is weights or channels; without "
            "it the levels are for both. May be repeated (default: weights=0.5,0.8,0.95,0.99 "
            "channels=0.25,0.5,0.8,0.9).",
        ),
    ] = None,
    seeds: Annotated[
        int, Option("--seeds", least=1, help="Number of models trained, each with its own seed.")
    ] = 3,
    seed: Seed = 0,
    epochs: Annotated[
        int | None,
        Option(
            "--epochs",
            least=1,
            help="Number of training epochs (default: depends on the data set).",
        ),
    ] = None,
    fine_tune: Annotated[
        int | None,
        Option(
            "--fine-tune",
            metavar="N",
            least=0,
            help="Number of fine-tuning epochs after each pruning level (default: the training "
            "epochs, divided equally among the levels).",
        ),
    ] = None,
    width: Annotated[
        float | None,
        Option(
            "--width",
            help="Width multiplier of the model's channels, above 0 and up to 4 (default: depends "
            "on the data set).",
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        Option(
            "--weights",
            metavar="FILE",
            help="Load trained weights from a PyTorch state_dict instead of training. The file is "
            "read as data; no code in it is executed.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        Option(
            "--tolerance",
            help="Accuracy loss in percentage points that is accepted for the elbow (the most "
            "compressed level before accuracy drops).",
        ),
    ] = 1.0,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="Directory for results (default: runs/compress-MODEL-DATA).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, prune and quantise it, and report accuracy and size at each level.

    Prints accuracy, size and multiply-accumulates (MACs) of each level, averaged over seeds, and
    the elbow of each method. The output directory receives the results as JSON and as a plot, the
    weights, and networks for archloom schedule and run. If it is interrupted, the same command
    resumes. docs/how_to/compression.md explains the output.
    """
    from .command import run_compression
    from .wishes import Wishes, settled

    wishes = Wishes(
        model, data, data_dir, tuple(methods or ()), tuple(levels or ()), seeds, seed, epochs,
        fine_tune, width, weights, tolerance, out,
    )  # fmt: skip
    raise Exit(run_compression(settled(wishes), as_json, new_console()))
