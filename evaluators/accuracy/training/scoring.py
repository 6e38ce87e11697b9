"""Accuracy of a model on images that it was not trained on."""

from typing import TYPE_CHECKING, Final

import numpy as np

from archloom.evaluators.accuracy.data import Images

if TYPE_CHECKING:
    from torch.nn import Module

_BATCH: Final = 250


def accuracy_percent(model: "Module", images: Images) -> float:
    """Return the percentage of images whose class gets the highest score (top-1).

    Leaves the model in evaluation mode.
    """
    import torch

    model.eval()
    right, count = 0, len(images.labels)
    with torch.no_grad():
        for start in range(0, count, _BATCH):
            chosen = np.arange(start, min(start + _BATCH, count))
            scores = model(torch.from_numpy(images.batch(chosen)))
            right += int((scores.argmax(1).numpy() == images.labels[chosen]).sum())
    return 100.0 * right / count
