"""Weights of a user's own: a ``state_dict`` in a file of torch, read without executing code."""

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.space import did_you_mean

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

#: keys under which others keep a state_dict beside other things, and a prefix of parallel training
_INSIDE: Final = ("state_dict", "model", "net")
_PREFIX: Final = "module."

#: faults that one message lists
_LISTED: Final = 6


class WeightsError(ValueError):
    """A file that holds no weights of a model; the message says where they differ."""


def load_weights(model: "Module", path: Path) -> None:
    """Give a model the weights of a file.

    Args:
        model: changes in place.
        path: of a ``state_dict`` that ``torch.save`` wrote, or of one under the key ``state_dict``,
            ``model`` or ``net``; names may begin with ``module.``.

    Raises:
        WeightsError: the file holds more than tensors and plain values, or names or shapes differ;
            says which.
    """
    found = _state(_read(path), path)
    wanted: dict[str, Tensor] = model.state_dict()
    faults = list(_faults(wanted, found))
    if faults:
        more = [f"and {len(faults) - _LISTED} more"] if len(faults) > _LISTED else []
        listed = "\n  ".join([*faults[:_LISTED], *more])
        raise WeightsError(f"{path} does not fit the model:\n  {listed}")
    model.load_state_dict({**wanted, **found})


def _read(path: Path) -> Any:
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise WeightsError(f"{path}: no such file") from None
    except pickle.UnpicklingError:
        raise WeightsError(
            f"{path} has more than tensors and plain values, or is not a file of torch; nothing in "
            "it was executed. Save weights with torch.save(model.state_dict(), FILE)"
        ) from None
    # what torch makes of files that are cut off or of another kind
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, AttributeError) as error:
        raise WeightsError(f"{path} is not a file of weights: {error}") from None


def _state(read: Any, path: Path) -> "dict[str, Tensor]":
    import torch

    if isinstance(read, Mapping):
        for key in _INSIDE:
            if isinstance(read.get(key), Mapping):
                read = read[key]
                break
    if not isinstance(read, Mapping) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in read.items()
    ):
        raise WeightsError(f"{path} contains a {type(read).__name__}; expected are named tensors")
    return {name.removeprefix(_PREFIX): value for name, value in read.items()}


def _faults(wanted: "Mapping[str, Tensor]", found: "Mapping[str, Tensor]") -> Iterator[str]:
    for name, value in found.items():
        if name not in wanted:
            hint = did_you_mean(name, wanted)
            near = "" if hint.startswith("known") else f"; {hint}"
            yield f"{name} is not part of the model{near}"
        elif value.shape != wanted[name].shape:
            yield f"{name} has shape {_sides(value)}, must have {_sides(wanted[name])}"
    for name in wanted:
        # older files do not count batches, and no result depends on it
        if name not in found and not name.endswith("num_batches_tracked"):
            yield f"{name} is missing"


def _sides(value: "Tensor") -> str:
    return " x ".join(map(str, value.shape)) or "a number"
