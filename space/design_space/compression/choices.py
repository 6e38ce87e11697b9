"""Choice of forms as parameters of a hardware space: what a design runs, and how accurately."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ..expression import Value
from ..parameter import Parameter
from .forms import CompressedForms, Levels, Widths


def parameter_name(group: str) -> str:
    """Return what the parameter is called that says how far a group is pruned."""
    return f"pruned_{group}"


@dataclass(frozen=True)
class FormChoices:
    """Networks of a study, and the compressed forms of those that come in several.

    Attributes:
        dense: all networks, those with forms as they are without pruning.
        forms: of one network at least, which is told by its name.
        density: share of nonzero weights, and of inputs, that layers have on top of their own.

    Raises:
        ValueError: no forms, forms of another network, or groups of two networks with one name.
    """

    dense: tuple[Network, ...]
    forms: tuple[CompressedForms, ...]
    density: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        known = [network.name for network in self.dense]
        others = [forms.network.name for forms in self.forms if forms.network.name not in known]
        if others or not self.forms:
            raise ValueError(
                f"compressed forms belong to {others or 'no network'}, they must belong to {known}"
            )
        names = [group.name for forms in self.forms for group in forms.groups]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(
                f"two networks have a group {twice!r}; name the groups of one of them otherwise"
            )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """One for each group of each network, whose values are the levels."""
        return tuple(
            Parameter(parameter_name(group.name), group.levels, "linear")
            for forms in self.forms
            for group in forms.groups
        )

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """All networks without pruning."""
        return tuple(network.with_density(*self.density) for network in self.dense)

    def networks_at(self, point: Mapping[str, Value] | None) -> tuple[Network, ...]:
        """Return what a design runs: all networks, each in its form; always the same object for the
        same form.

        Args:
            point: of the design; None for the forms that lose least.
        """
        levels = tuple(levels_at(forms, point) for forms in self.forms)
        if levels not in self._made:
            chosen = {
                forms.network.name: self._form(forms, level)
                for forms, level in zip(self.forms, levels, strict=True)
            }
            self._made[levels] = tuple(chosen.get(n.name, n) for n in self.networks)
        return self._made[levels]

    def accuracy_percent(self, point: Mapping[str, Value] | None, hardware: Hardware) -> float:
        """Return the least accuracy of the networks that have forms.

        Args:
            point: of the design; None for the forms that lose least.
            hardware: of the design, whose widths are known.
        """
        widths = Widths(*hardware.operand_widths)
        return min(forms.accuracy_percent[levels_at(forms, point), widths] for forms in self.forms)

    def shown(self, point: Mapping[str, Value], hardware: Hardware) -> str:
        """Return the form of a design for people."""
        levels = ", ".join(f"{p.name} = {point[p.name]}" for p in self.parameters)
        return f"{levels}, {Widths(*hardware.operand_widths)} bits"

    def _form(self, forms: CompressedForms, levels: Levels) -> Network:
        key = forms.network.name, levels
        if key not in self._single:
            self._single[key] = forms.network_of(levels).with_density(*self.density)
        return self._single[key]

    @cached_property
    def _single(self) -> dict[tuple[str, Levels], Network]:
        return {}

    @cached_property
    def _made(self) -> dict[tuple[Levels, ...], tuple[Network, ...]]:
        return {}


def levels_at(forms: CompressedForms, point: Mapping[str, Value] | None) -> Levels:
    """Return the levels of a network's groups at a point; the least ones without one."""
    if point is None:
        return tuple(group.levels[0] for group in forms.groups)
    found = (point[parameter_name(group.name)] for group in forms.groups)
    return tuple(float(level) for level in found)
