"""Steps of one model: training and compressing; what is done is not done again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from archloom.evaluators.accuracy import figures_of, load_weights, stored_bytes, to_network
from archloom.evaluators.accuracy.data import DATASETS, Dataset
from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.pruning import (
    coupling_of,
    load_pruned,
    prune_weights,
    weakest_channels,
    without_channels,
)
from archloom.evaluators.accuracy.quantization import (
    calibrated_ranges,
    folded,
    half_state,
    to_float16,
    to_integers,
)
from archloom.evaluators.accuracy.training import Recipe, Trainer, accuracy_percent, recipe_for
from archloom.search import derived_seed
from archloom.space.workload import write_network
from archloom.studies.engine.progress import Watch

from ...errors import UserError, writing
from .kept import Kept, StepFigures
from .settings import Settings

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import GraphModule

#: rounded models, and the share of the bytes of float32 that their type saves
ROUNDED: Final = {"float16": 0.5, "int8_uncalibrated": 0.75, "int8": 0.75, "int4": 0.875}

#: bits of weights and maps of those that are integers
INTEGER_BITS: Final = {"int8_uncalibrated": 8, "int8": 8, "int4": 4}


class Steps:
    """Does the steps of one seed.

    Args:
        settings: what is done.
        data: images.
        seed: which model, counted from 0.
        view: shows progress.
        check: called where stopping is safe; may raise.
    """

    def __init__(
        self,
        settings: Settings,
        data: Dataset,
        seed: int,
        view: Watch,
        check: Callable[[], None],
    ) -> None:
        self._settings, self._data, self._seed = settings, data, seed
        self._view, self._check = view, check
        self._kept = Kept(settings.out / f"seed{seed}")

    def run(self) -> Iterator[StepFigures]:
        """Do what is not done yet; yield the figures of all steps."""
        yield self._dense()
        for method in self._settings.methods:
            if method in self._settings.levels:
                yield from self._pruned(method)
            elif method == "int8":
                yield self._rounded("int8_uncalibrated")
                yield self._rounded("int8")
            else:
                yield self._rounded(method)

    def _dense(self) -> StepFigures:
        if (done := self._kept.figures("dense")) is not None:
            return done
        settings, model = self._settings, self._first()
        if settings.weights is None:
            recipe = self._recipe(settings.epochs, fine_tuning=False)
            self._train("dense", model, recipe, f"training seed {self._seed}")
        else:
            load_weights(model, settings.weights)
        return self._trained("dense", ("dense", 0.0), model, None)

    def _pruned(self, method: str) -> Iterator[StepFigures]:
        """Prune level after level; each starts from the fine-tuned one before."""
        before = "dense"
        for level in self._settings.levels[method]:
            self._check()
            name = self._settings.step(method, level)
            done = self._kept.figures(name)
            if done is None:
                model = load_pruned(self._first(), self._kept.weights(before))
                masks = None
                if method == "weights":
                    masks = prune_weights(model, level)
                else:
                    model = self._with_fewer_channels(model, level)
                done = self._tuned(name, (method, level), model, masks)
            yield done
            before = name

    def _with_fewer_channels(self, model: "GraphModule", level: float) -> "GraphModule":
        coupling = coupling_of(model, self._data.image)
        whole = len(coupling_of(self._first(), self._data.image).removable)
        count = len(coupling.removable) - (whole - round(level * whole))
        try:
            weakest = weakest_channels(model, coupling, count)
        except ValueError as error:
            raise UserError(f"--levels channels={level:g}: {error}; use lower levels") from None
        return without_channels(model, coupling, weakest)

    def _tuned(
        self,
        name: str,
        what: tuple[str, float],
        model: "GraphModule",
        masks: "Mapping[str, Tensor] | None",
    ) -> StepFigures:
        """Fine-tune what was pruned, and keep it."""
        label = f"seed {self._seed}, {what[0]} {what[1]:g}"
        self._view.begin(f"testing {label} before fine-tuning")
        before = accuracy_percent(model, self._data.test)
        self._view.end()
        epochs = self._settings.fine_tune[what[0]]
        if epochs:
            recipe = self._recipe(epochs, fine_tuning=True)
            self._train(name, model, recipe, f"fine-tuning {label}", masks)
        return self._trained(name, what, model, before)

    def _trained(
        self, name: str, what: tuple[str, float], model: "GraphModule", before: float | None
    ) -> StepFigures:
        """Count and test a model, keep it, and of the first seed its network."""
        self._view.begin(f"testing seed {self._seed}, {name}")
        image = self._data.image
        accuracy = accuracy_percent(model, self._data.test)
        size = stored_bytes(folded(model).state_dict())
        counts = asdict(figures_of(model, image))
        if self._seed == 0:
            path = self._kept.folder / f"{name}.network.json"
            with writing(path):
                write_network(to_network(model, image, f"{self._settings.model}_{name}"), path)
        figures = StepFigures(*what, self._seed, accuracy, before, size, **counts)
        self._view.end()
        return self._end(name, model.state_dict(), figures)

    def _rounded(self, name: str) -> StepFigures:
        self._check()
        if (done := self._kept.figures(name)) is not None:
            return done
        self._view.begin(f"quantising seed {self._seed} to {name.replace('_', ', ')}")
        dense = self._first()
        dense.load_state_dict(self._kept.weights("dense"))
        if name == "float16":
            model = to_float16(dense)
            state = half_state(model)
        else:
            bits = INTEGER_BITS[name]
            ranges = None
            if name != "int8_uncalibrated":
                ranges = calibrated_ranges(dense, self._data.train)
            model = to_integers(dense, ranges, ranges is not None, bits, bits)
            state = model.state_dict()
        accuracy = accuracy_percent(model, self._data.test)
        counts = asdict(figures_of(dense, self._data.image))
        level, size = ROUNDED[name], stored_bytes(state, INTEGER_BITS.get(name, 8))
        figures = StepFigures(name, level, self._seed, accuracy, None, size, **counts)
        self._view.end()
        return self._end(name, state, figures)

    def _end(self, name: str, state: "Mapping[str, Tensor]", figures: StepFigures) -> StepFigures:
        self._kept.end(name, state, figures)
        level = f" {figures.level:g}" if figures.before_percent else ""
        label = figures.method.replace("_", ", ") + level
        self._view.found(f"seed {self._seed}, {label}: {figures.accuracy_percent:.2f} %")
        return figures

    def _train(
        self,
        name: str,
        model: "GraphModule",
        recipe: Recipe,
        label: str,
        masks: "Mapping[str, Tensor] | None" = None,
    ) -> None:
        """Train, from the checkpoint on if there is one; keep one after every epoch."""
        seed = derived_seed(self._settings.seed, self._seed, name)
        trainer = Trainer(model, self._data.train, recipe, seed, masks)
        self._view.begin(label, recipe.epochs)
        if (state := self._kept.checkpoint(name)) is not None:
            trainer.restore(state)
            self._view.advance(steps=trainer.epoch)
        while not trainer.done:
            self._check()
            loss = trainer.run_epoch()
            self._kept.keep_checkpoint(name, trainer.state())
            self._view.advance(f"loss {loss:.3f}")
        self._view.end()

    def _first(self) -> "GraphModule":
        """The model with its first weights."""
        seed = derived_seed(self._settings.seed, self._seed, "first weights")
        return build_model(
            self._settings.model, self._data.image, self._data.classes, self._settings.width, seed
        )

    def _recipe(self, epochs: int, fine_tuning: bool) -> Recipe:
        batch = DATASETS[self._data.name].batch
        return recipe_for(self._data.name, epochs, batch, fine_tuning)
