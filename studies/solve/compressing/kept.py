"""Steps that are done, in a directory: weights, figures, checkpoints of what trains.

A step has the files ``NAME.pt`` (weights), ``NAME.json`` (figures; written last, so that it says
that the step is done) and, while it trains, ``NAME.checkpoint``, written after every epoch.
"""

import io
import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archloom.studies.storage import write_whole

from ...errors import UserError, writing

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class StepFigures:
    """What one step came to.

    Attributes:
        method: dense, weights, channels, float16, int8_uncalibrated, int8 or int4.
        level: share that was pruned, or of the bytes that a narrower type saves.
        seed: which model, counted from 0.
        accuracy_percent: on the images to test with.
        before_percent: the same before fine-tuning; None where there is none.
        stored_bytes: of all weights, batch norms folded, sparse layers as CSR where that is
        smaller. params, nonzero_params: learned parameters.
        macs, nonzero_macs: of one image.
    """

    method: str
    level: float
    seed: int
    accuracy_percent: float
    before_percent: float | None
    stored_bytes: int
    params: int
    nonzero_params: int
    macs: int
    nonzero_macs: int


class Kept:
    """What is kept of one seed.

    Args:
        folder: is made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def figures(self, name: str) -> StepFigures | None:
        """Return the figures of a step; None if it is not done.

        Raises:
            UserError: a file that is no record of a step.
        """
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        try:
            return StepFigures(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise UserError(f"{path} is no record of a step: {error}; remove it") from None

    def end(self, name: str, state: "Mapping[str, Tensor]", figures: StepFigures) -> None:
        """Keep a step that is done."""
        # clones, for a file holds what a tensor is a part of
        self._save(f"{name}.pt", {key: value.detach().clone() for key, value in state.items()})
        path = self.folder / f"{name}.json"
        with writing(path):
            write_whole(path, json.dumps(asdict(figures), indent=2) + "\n")
        (self.folder / f"{name}.checkpoint").unlink(missing_ok=True)

    def weights(self, name: str) -> "dict[str, Tensor]":
        """Return the weights of a step that is done."""
        state: dict[str, Tensor] = self._load(f"{name}.pt")
        return state

    def checkpoint(self, name: str) -> "dict[str, Any] | None":
        """Return the last state of a step that was training; None if it was not."""
        if not (self.folder / f"{name}.checkpoint").exists():
            return None
        state: dict[str, Any] = self._load(f"{name}.checkpoint")
        return state

    def keep_checkpoint(self, name: str, state: "Mapping[str, Any]") -> None:
        """Keep the state of a step that trains."""
        self._save(f"{name}.checkpoint", state)

    def _save(self, name: str, state: object) -> None:
        import torch

        held = io.BytesIO()
        torch.save(state, held)
        path = self.folder / name
        with writing(path):
            write_whole(path, held.getvalue())

    def _load(self, name: str) -> Any:
        import torch

        path = self.folder / name
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        # what torch makes of a file that somebody changed
        except (
            OSError, RuntimeError, EOFError, ValueError, KeyError, AttributeError,
            pickle.UnpicklingError,
        ) as error:  # fmt: skip
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(
                f"{path} cannot be read: {reason}; remove {path.parent}, its steps are done again"
            ) from None
