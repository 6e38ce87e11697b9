"""Models of a stack study, trained and compressed: one job for each model and seed.

Jobs are independent, and each goes on from what its directory holds, so neither their order nor
the number of processes changes a byte.
"""

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from archloom.evaluators.accuracy import WeightsError
from archloom.evaluators.accuracy.data import Dataset, DatasetError, load_dataset
from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.pruning import load_pruned
from archloom.evaluators.accuracy.quantization import folded
from archloom.evaluators.accuracy.training import deterministic
from archloom.studies.engine.progress import Watch
from archloom.studies.solve.compressing import Kept, Settings, StepFigures, Steps
from archloom.studies.storage import write_whole

from ...errors import UserError, writing
from .compression import PRUNING, Compression
from .settings import StackConfig

#: seed of the models whose kernels are timed
FIRST = 0


@dataclass(frozen=True)
class Job:
    """One model of one seed, with the compressions that are wanted of it."""

    model: str
    seed: int
    compressions: tuple[Compression, ...]

    def epochs(self, config: StackConfig) -> int:
        """Return the epochs that it trains for, if nothing is done yet."""
        settings = settings_of(config, self.model, self.compressions, Path())
        pruned = sum(len(v) * settings.fine_tune[m] for m, v in settings.levels.items())
        return settings.epochs + pruned


def jobs_of(config: StackConfig, wanted: Collection[tuple[str, Compression]]) -> list[Job]:
    """Return the jobs of models and compressions; those that take longest first, about."""
    from archloom.evaluators.accuracy.models import MODELS
    from archloom.space.networks import recorded_catalogue

    layers = {entry.name: entry.layers for entry in recorded_catalogue()}
    jobs = [
        Job(model, seed, tuple(c for c in config.compression if (model, c) in wanted))
        for model in config.models
        for seed in range(config.seeds)
    ]
    jobs = [job for job in jobs if job.compressions]
    return sorted(jobs, key=lambda job: (-layers.get(MODELS[job.model].network, 0), job.seed))


def settings_of(
    config: StackConfig, model: str, compressions: Sequence[Compression], folder: Path
) -> Settings:
    """Return what is done to a model; levels below a wanted one are on the way to it."""
    highest = {
        method: max((c.level for c in compressions if c.method == method), default=0.0)
        for method in PRUNING
    }
    levels = {
        method: tuple(level for level in config.levels(method) if level <= most)
        for method, most in highest.items()
        if most
    }
    rounded = {c.method.partition("_")[0] for c in compressions} & {"float16", "int8"}
    assert config.epochs is not None, "it was read from a file"
    assert config.width is not None, "it was read from a file"
    return Settings(
        model=model,
        data=config.data,
        data_dir=Path(config.data_dir) if config.data_dir else None,
        methods=(*levels, *sorted(rounded)),
        levels=levels,
        seed=config.seed,
        seeds=config.seeds,
        epochs=config.epochs,
        fine_tune={method: config.epochs_after(method) for method in levels},
        width=config.width,
        weights=None,
        tolerance=0.0,
        out=folder / "models" / model,
    )


def do_job(
    config: StackConfig, folder: Path, job: Job, watch: Watch, check: Callable[[], None]
) -> list[StepFigures]:
    """Do what is not done of a job yet; return the figures of its steps.

    Raises:
        UserError: the data are not there, or a file of it was changed.
    """
    settings = settings_of(config, job.model, job.compressions, folder)
    try:
        data = load_dataset(settings.data, settings.data_dir)
        with deterministic():
            figures = list(Steps(settings, data, job.seed, watch, check).run())
            if job.seed == FIRST:
                for compression in job.compressions:
                    if compression.method == "weights":
                        _keep_folded(settings, data, compression)
    except (DatasetError, WeightsError) as error:
        raise UserError(str(error)) from None
    return figures


def step_file(config: StackConfig, folder: Path, model: str, compression: Compression) -> Path:
    """Return the path of a step's files, without their endings; rounded models are dense ones."""
    settings = settings_of(config, model, [compression], folder)
    pruned = compression.method in PRUNING
    step = settings.step(compression.method, compression.level) if pruned else "dense"
    return settings.out / f"seed{FIRST}" / step


def folded_file(step: Path) -> Path:
    """Return the file of a step's weights with their batch norms in them, for kernels."""
    return step.with_name(f"{step.name}.folded.npz")


def _keep_folded(settings: Settings, data: Dataset, compression: Compression) -> None:
    """Write the weights of a pruned model as kernels read them, unless they are there."""
    step = settings.step(compression.method, compression.level)
    kept = Kept(settings.out / f"seed{FIRST}")
    path = folded_file(kept.folder / step)
    if path.exists():
        return
    model = build_model(settings.model, data.image, data.classes, settings.width)
    arrays = dict(_arrays(folded(load_pruned(model, kept.weights(step)))))
    held = io.BytesIO()
    np.savez(held, **arrays)
    with writing(path):
        write_whole(path, held.getvalue())


def _arrays(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield weights and biases of the layers; a layer without a bias has zeros."""
    for name, part in model.named_modules():
        weight = getattr(part, "weight", None)
        if weight is not None and weight.dim() > 1:
            yield f"{name}.weight", weight.detach().numpy()
            bias = getattr(part, "bias", None)
            yield f"{name}.bias", np.zeros(len(weight)) if bias is None else bias.detach().numpy()
