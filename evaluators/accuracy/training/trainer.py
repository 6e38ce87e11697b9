"""Training of a model, an epoch at a time, so that it can stop and go on with the same result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from archloom.evaluators.accuracy.data import Images

from .recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class Trainer:
    """Trains one model in place. Epochs follow from the seed and their number alone.

    Args:
        model: what is trained.
        images: to train on.
        recipe: how.
        seed: of the order of images and of their variations.
        masks: for names of parameters which of their values may differ from 0.
    """

    def __init__(
        self,
        model: "Module",
        images: Images,
        recipe: Recipe,
        seed: int,
        masks: "Mapping[str, Tensor] | None" = None,
    ) -> None:
        import torch

        self._model, self._images, self._recipe, self._seed = model, images, recipe, seed
        parameters = dict(model.named_parameters())
        self._masked = [(parameters[name], mask) for name, mask in (masks or {}).items()]
        self._optimizer = torch.optim.SGD(
            model.parameters(), recipe.rate, recipe.momentum, weight_decay=recipe.decay
        )
        self.epoch = 0

    @property
    def done(self) -> bool:
        """Whether all epochs are behind it."""
        return self.epoch >= self._recipe.epochs

    def run_epoch(self) -> float:
        """Pass over all images once; return the mean loss of its batches."""
        import torch
        from torch.nn.functional import cross_entropy

        self._model.train()
        count, batch = len(self._images.labels), self._recipe.batch
        random = np.random.default_rng((self._seed, self.epoch))
        order = random.permutation(count)
        per_epoch = -(-count // batch)
        losses = []
        for i in range(per_epoch):
            chosen = order[i * batch : (i + 1) * batch]
            step = self.epoch * per_epoch + i
            rate = self._recipe.rate_at(step, self._recipe.epochs * per_epoch)
            for group in self._optimizer.param_groups:
                group["lr"] = rate
            pixels = torch.from_numpy(self._images.batch(chosen, random))
            labels = torch.from_numpy(self._images.labels[chosen])
            loss = cross_entropy(self._model(pixels), labels)
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
            self._mask()
            losses.append(loss.item())
        self.epoch += 1
        return float(np.mean(losses))

    def state(self) -> dict[str, Any]:
        """What :meth:`restore` goes on from: tensors and numbers alone."""
        return {
            "epoch": self.epoch,
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from where :meth:`state` was taken."""
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.epoch = int(state["epoch"])

    def _mask(self) -> None:
        import torch

        with torch.no_grad():
            for parameter, mask in self._masked:
                parameter.mul_(mask)
