"""What is done to a model: how it is trained, by which methods it is compressed, and how far."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: methods that users name, with the levels that they have unless somebody says others
METHODS: Final[Mapping[str, tuple[float, ...]]] = {
    "weights": (0.5, 0.8, 0.95, 0.99),
    "channels": (0.25, 0.5, 0.8, 0.9),
    "float16": (),
    "int8": (),
    "int4": (),
}


@dataclass(frozen=True)
class Settings:
    """What is done.

    Attributes:
        model, data: names.
        data_dir: where the data lies; None if it comes with a package.
        methods: in the order in which they are done.
        levels: shares that are pruned, ascending, for weights and for channels.
        seeds: models that are trained.
        seed: of everything that is random.
        epochs: of training, and after each level.
        width: factor of channels.
        weights: file of dense weights, instead of training.
        tolerance: points of accuracy that the elbow may lose.
        out: directory of results.
    """

    model: str
    data: str
    data_dir: Path | None
    methods: tuple[str, ...]
    levels: Mapping[str, tuple[float, ...]]
    seeds: int
    seed: int
    epochs: int
    fine_tune: Mapping[str, int]
    width: float
    weights: Path | None
    tolerance: float
    out: Path

    def step(self, method: str, level: float) -> str:
        """Return what the files of a step are called: all levels up to its own, or the method."""
        before = [str(each) for each in self.levels.get(method, ()) if each <= level]
        return "_".join([method, *before])


def shared_epochs(epochs: int, levels: int) -> int:
    """Return the epochs after each level, where nobody says how many: those of training, shared.

    DLAS (Gibson et al., ACM TACO 2024, section 4.2) shares a fixed number of epochs evenly.
    """
    return max(1, round(epochs / levels))
