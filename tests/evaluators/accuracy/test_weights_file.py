"""Weights of a user's own: what is read, what is refused, and what nothing is executed of."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx import GraphModule

from archloom.evaluators.accuracy import WeightsError, load_weights
from archloom.evaluators.accuracy.models import build_model


def model(seed: int = 0, width: float = 0.125) -> GraphModule:
    return build_model("vgg16", (1, 8, 8), 10, width, seed)


@pytest.mark.parametrize("inside", ["", "state_dict", "model", "net"])
@pytest.mark.parametrize("prefix", ["", "module."])
def test_weights_are_read_however_they_are_kept(inside: str, prefix: str, tmp_path: Path) -> None:
    state: dict[str, Any] = {prefix + k: v for k, v in model(7).state_dict().items()}
    torch.save({inside: state, "epoch": 3} if inside else state, tmp_path / "mine.pt")
    read = model()
    load_weights(read, tmp_path / "mine.pt")
    assert all(torch.equal(v, read.state_dict()[k]) for k, v in model(7).state_dict().items())


def test_all_that_differs_is_listed(tmp_path: Path) -> None:
    state = dict(model(width=0.25).state_dict())
    state["classifier.wait"] = state.pop("classifier.weight")
    del state["features.1.num_batches_tracked"]
    torch.save(state, tmp_path / "mine.pt")
    with pytest.raises(WeightsError) as told:
        load_weights(model(), tmp_path / "mine.pt")
    text = str(told.value)
    assert "features.0.weight has shape 16 x 1 x 3 x 3, must have 8 x 1 x 3 x 3" in text
    assert "and " in text
    assert "more" in text
    state = {**model().state_dict(), "classifier.wait": torch.zeros(1)}
    del state["classifier.weight"]
    torch.save(state, tmp_path / "mine.pt")
    with pytest.raises(WeightsError) as told:
        load_weights(model(), tmp_path / "mine.pt")
    assert "classifier.wait is not part of the model; did you mean" in str(told.value)
    assert "classifier.weight is missing" in str(told.value)
    assert "num_batches_tracked" not in str(told.value)


class Harm:
    """Runs a command when an ordinary unpickler reads it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {self.mark}",))


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    torch.save({"state_dict": Harm(mark)}, tmp_path / "mine.pt")
    with pytest.raises(WeightsError, match="nothing in it was executed"):
        load_weights(model(), tmp_path / "mine.pt")
    assert not mark.exists()
    torch.load(tmp_path / "mine.pt", weights_only=False)
    assert mark.exists(), "the file would have done harm elsewhere"


@pytest.mark.parametrize("content", [b"", b"no weights", b"PK\x03\x04 cut off"])
def test_other_files_are_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "mine.pt").write_bytes(content)
    with pytest.raises(WeightsError, match=r"mine\.pt"):
        load_weights(model(), tmp_path / "mine.pt")


def test_something_else_than_tensors_is_named(tmp_path: Path) -> None:
    torch.save([torch.zeros(1)], tmp_path / "mine.pt")
    with pytest.raises(WeightsError, match="contains a list"):
        load_weights(model(), tmp_path / "mine.pt")
    with pytest.raises(WeightsError, match="no such file"):
        load_weights(model(), tmp_path / "none.pt")
