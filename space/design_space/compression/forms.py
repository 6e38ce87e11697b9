"""All compressed forms of one network: levels of pruning by group of layers, and accuracies.

A form is a choice of one level for each group. A group at a level has lost the same weights
whatever the level of the others, so the shares that are left are known by group and level.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import isfinite
from typing import NamedTuple

from archloom.space.workload import Network


class Widths(NamedTuple):
    """Bits of what a multiplier reads: of weights, and of feature maps."""

    weights: int
    maps: int

    def __str__(self) -> str:
        return str(self.weights) if self.weights == self.maps else f"{self.weights}x{self.maps}"


Levels = tuple[float, ...]
"""Share of weights that is pruned, for each group."""


@dataclass(frozen=True, slots=True)
class PrunedGroup:
    """Layers that are pruned alike.

    Attributes:
        name: of the group.
        levels: shares of its weights that may be pruned, ascending; 0 leaves all.
        layers: names.
        densities: for each level the share of weights that is left in each layer.

    Raises:
        ValueError: what is wrong with them.
    """

    name: str
    levels: Levels
    layers: tuple[str, ...]
    densities: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if not self.levels or list(self.levels) != sorted(set(self.levels)):
            raise ValueError(
                f"levels of {self.name} must be in ascending order, got {list(self.levels)}"
            )
        if not all(0.0 <= level < 1.0 for level in self.levels):
            raise ValueError(
                f"levels of {self.name} must be fractions, at least 0 and below 1, got "
                f"{list(self.levels)}"
            )
        if not self.layers:
            raise ValueError(f"group {self.name} has no layers")
        if [len(each) for each in self.densities] != [len(self.layers)] * len(self.levels):
            raise ValueError(f"group {self.name} must have a density for each level and layer")
        if not all(0.0 < share <= 1.0 for each in self.densities for share in each):
            raise ValueError(f"densities of {self.name} must be above 0 and at most 1")


@dataclass(frozen=True)
class CompressedForms:
    """A network, its forms, and the accuracy of each.

    Attributes:
        network: with all its weights.
        groups: what is pruned.
        accuracy_percent: by form and width the top-1 accuracy of the model, fine-tuned and rounded.

    Raises:
        ValueError: layers that the network does not have, or that are in two groups, or accuracies
            of other forms than all.
    """

    network: Network
    groups: tuple[PrunedGroup, ...]
    accuracy_percent: Mapping[tuple[Levels, Widths], float] = field(repr=False)

    def __post_init__(self) -> None:
        names = [group.name for group in self.groups]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"groups must have names that differ, got {names}")
        layers = [layer for group in self.groups for layer in group.layers]
        known = {layer.name for layer in self.network.layers}
        if unknown := [layer for layer in layers if layer not in known]:
            raise ValueError(f"{unknown[0]} is no layer of {self.network.name}")
        if len(set(layers)) < len(layers):
            raise ValueError("a layer is in two groups")
        wanted = {(form, widths) for form in self.forms() for widths in self.widths}
        if not self.accuracy_percent or self.accuracy_percent.keys() != wanted:
            raise ValueError("there must be an accuracy for each form and width")
        if not all(isfinite(p) and 0 <= p <= 100 for p in self.accuracy_percent.values()):
            raise ValueError("accuracies must be from 0 to 100 percent")

    @cached_property
    def widths(self) -> tuple[Widths, ...]:
        """Widths that accuracies are known at, ascending."""
        return tuple(sorted({widths for _, widths in self.accuracy_percent}))

    def forms(self) -> Iterator[Levels]:
        """Yield all forms; the level of the last group moves fastest."""
        return product(*(group.levels for group in self.groups))

    def network_of(self, levels: Levels) -> Network:
        """Return the network of a form: the same layers, with the shares of weights left."""
        shares: dict[str, float] = {}
        for group, level in zip(self.groups, levels, strict=True):
            densities = group.densities[group.levels.index(level)]
            shares |= dict(zip(group.layers, densities, strict=True))
        layers = tuple(
            replace(layer, density=(shares[layer.name], layer.density[1]))
            if layer.name in shares
            else layer
            for layer in self.network.layers
        )
        return replace(self.network, layers=layers)
