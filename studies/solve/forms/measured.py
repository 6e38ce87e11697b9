"""Accuracy of one form of a model: pruned, fine-tuned, rounded, tested; found once and kept.

What a form came to lies beside the weights that it was made of, in a file that is written when all
of it is known. So it is not done again, whatever stopped the study, and for other studies of the
same seed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archloom.evaluators.accuracy.data import DATASETS
from archloom.evaluators.accuracy.pruning import prune_weights
from archloom.evaluators.accuracy.quantization import MOST_BITS, calibrated_ranges, to_integers
from archloom.evaluators.accuracy.training import Trainer, accuracy_percent, recipe_for
from archloom.search import derived_seed
from archloom.space.design_space.compression import Widths
from archloom.studies.storage import write_whole

from ...errors import writing
from .kept_model import KeptModel

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import GraphModule

#: where forms lie, in the folder of the weights
_FOLDER = "forms"

Groups = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class FormMeasurer:
    """Finds accuracies of the forms of one model.

    Attributes:
        kept: the model.
        groups: names of layers by group.
        fine_tune: epochs after pruning.
        seed: of the study.
        check: called where stopping is safe; may raise.
    """

    kept: KeptModel
    groups: Groups
    fine_tune: int
    seed: int
    check: Callable[[], None]

    def percent(self, levels: Sequence[float], widths: Sequence[Widths]) -> list[float]:
        """Return the accuracy of a form at some widths, found now or before.

        Args:
            levels: share of weights that each group loses.
            widths: of weights and maps; more than 16 bits count as 16.
        """
        path = self._path(levels)
        known = _read(path)
        if not all(str(each) in known for each in widths):
            model = self._tuned(levels)
            found = {str(each): self._rounded(model, each) for each in widths}
            known = {**known, **found}
            about = {"pruned": dict(zip(self.groups, levels, strict=True)), **self._about()}
            with writing(path):
                path.parent.mkdir(exist_ok=True)
                write_whole(path, json.dumps({**about, "percent": known}, indent=2) + "\n")
        return [known[str(each)] for each in widths]

    def pruned(self, levels: Sequence[float]) -> "tuple[GraphModule, dict[str, Tensor]]":
        """Return a copy of the model without the weights that go, and which may live."""
        model = deepcopy(self.kept.dense)
        masks: dict[str, Tensor] = {}
        for layers, level in zip(self.groups.values(), levels, strict=True):
            masks |= prune_weights(model, level, layers)
        return model, masks

    def _tuned(self, levels: Sequence[float]) -> "GraphModule":
        """Prune and fine-tune; where nothing is pruned the weights stay as they are."""
        model, masks = self.pruned(levels)
        if not any(levels) or not self.fine_tune:
            return model
        data = self.kept.data
        recipe = recipe_for(data.name, self.fine_tune, DATASETS[data.name].batch, True)
        seed = derived_seed(self.seed, "fine-tuning", *_texts(self.groups, levels))
        trainer = Trainer(model, data.train, recipe, seed, masks)
        while not trainer.done:
            self.check()
            trainer.run_epoch()
        return model

    def _rounded(self, model: "GraphModule", widths: Widths) -> float:
        """Return the accuracy with integers for weights and maps, calibrated."""
        self.check()
        bits = (min(each, MOST_BITS) for each in widths)
        model.eval()
        ranges = calibrated_ranges(model, self.kept.data.train)
        return accuracy_percent(to_integers(model, ranges, True, *bits), self.kept.data.test)

    def _about(self) -> dict[str, Any]:
        """Return all that accuracies depend on, beside levels and widths."""
        return {
            "groups": {name: list(layers) for name, layers in self.groups.items()},
            "fine_tune_epochs": self.fine_tune,
            "seed": self.seed,
            "weights_sha256": self.kept.digest,
            "torch": version("torch"),
        }

    def _path(self, levels: Sequence[float]) -> Path:
        about = json.dumps([self._about(), _texts(self.groups, levels)], sort_keys=True)
        name = sha256(about.encode()).hexdigest()[:24]
        return self.kept.folder / "seed0" / _FOLDER / f"{name}.json"


def _texts(groups: Groups, levels: Sequence[float]) -> list[str]:
    """Return what a form is, such as ``early 0.5``: seeds and names of files derive from it."""
    return [f"{name} {level}" for name, level in zip(groups, levels, strict=True)]


def _read(path: Path) -> dict[str, float]:
    """Return accuracies that are known; a file that somebody damaged is written again."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["percent"]
        return {name: float(percent) for name, percent in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
