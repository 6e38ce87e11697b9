"""Model that ``archloom compress`` kept: what it is, its data, and its weights before pruning."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archloom.evaluators.accuracy import WeightsError, load_weights
from archloom.evaluators.accuracy.data import DATASETS, Dataset, DatasetError, load_dataset
from archloom.evaluators.accuracy.models import MODELS, build_model

from ...errors import UserError, reason

if TYPE_CHECKING:
    from torch.fx import GraphModule


@dataclass(frozen=True, eq=False)
class KeptModel:
    """The first of the models in a directory.

    Attributes:
        folder: the directory.
        name: of the model.
        data: that it was trained on.
        dense: the model with all its weights; whoever changes it takes a copy.
        digest: of these weights.
    """

    folder: Path
    name: str
    data: Dataset
    dense: "GraphModule"
    digest: str


def read_kept(folder: Path, data_folder: Path | None) -> KeptModel:
    """Return the model of seed 0 of a directory.

    Args:
        folder: that ``archloom compress`` wrote.
        data_folder: where its data lies; None if it comes with a package.

    Raises:
        UserError: what is missing or wrong there.
    """
    settings = _settings(folder / "settings.json")
    path = folder / "seed0" / "dense.pt"
    try:
        data = load_dataset(settings["data"], data_folder)
        model = build_model(settings["model"], data.image, data.classes, settings["width"])
        load_weights(model, path)
        digest = sha256(path.read_bytes()).hexdigest()
    except DatasetError as error:
        raise UserError(f"{error}, with data_dir") from None
    except (WeightsError, ValueError) as error:
        raise UserError(f"{folder} is nothing that archloom compress wrote: {error}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {reason(error)}") from None
    return KeptModel(folder, settings["model"], data, model, digest)


def _settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        known = found["model"] in MODELS and found["data"] in DATASETS
        sound = known and isinstance(found["width"], int | float)
    except FileNotFoundError:
        raise UserError(
            f"{path.parent} has no {path.name}, so it is nothing that archloom compress wrote"
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise UserError(f"{path} is not as archloom compress wrote it; restore it from a copy")
    settings: dict[str, Any] = found
    return settings
