"""Settings of training by stochastic gradient descent, and the rate of each step."""

from dataclasses import dataclass
from math import cos, pi
from typing import Literal

Schedule = Literal["one_cycle", "cosine"]

# Smith and Topin (arXiv:1708.07120), with the shares that torch's OneCycleLR has by default: the
# rate starts at a 25th, is highest after 30 % of the steps, and ends at a 250,000th
_RISE, _START, _END = 0.3, 1 / 25, 1 / 250_000


@dataclass(frozen=True)
class Recipe:
    """How a model is trained; the loss is the mean cross-entropy of a batch.

    Rate, momentum, decay and schedule are those of DLAS for CIFAR-10 (Gibson et al., ACM TACO 2024,
    section 4.1). It calls the rate initial; assumption: it is the highest of the cycle.

    Attributes:
        epochs: passes over the images.
        batch: images of a step.
        rate: the highest learning rate.
        momentum: of the steps.
        decay: L2 penalty on all parameters.
        schedule: how the rate changes from step to step.
    """

    epochs: int
    batch: int
    rate: float = 0.05
    momentum: float = 0.9
    decay: float = 5e-4
    schedule: Schedule = "one_cycle"

    def rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate of a step, counted from 0, of so many in all."""
        if self.schedule == "cosine":
            # Loshchilov and Hutter, ICLR 2017, equation 5, without restarts
            return self.rate * (1 + cos(pi * step / steps)) / 2
        top = _RISE * steps - 1
        if step <= top:
            return self.rate * _between(_START, 1.0, step / top)
        last = steps - 1
        return self.rate * _between(1.0, _END, (step - top) / (last - top))


def _between(first: float, last: float, share: float) -> float:
    return last + (first - last) * (1 + cos(pi * share)) / 2


def recipe_for(data: str, epochs: int, batch: int, fine_tuning: bool) -> Recipe:
    """Return how a model is trained on a data set, or fine-tuned after it was pruned."""
    if fine_tuning and data == "imagenet":
        # DLAS, section 4.2
        return Recipe(epochs, batch, rate=1e-3, schedule="cosine")
    return Recipe(epochs, batch)
