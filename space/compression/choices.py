"""Choice of forms as parameters of a hardware space: what a design runs, and how accurately."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from archloom.space.design_space import Parameter, Value
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from .forms import CompressedForms, Levels, Widths


def parameter_name(group: str) -> str:
    """Return what the parameter is called that says how far a group is pruned."""
    return f"pruned_{group}"


@dataclass(frozen=True)
class FormChoices:
    """Compressed forms of those networks of a study that come in several.

    Attributes:
        forms: of each, by the name of the network.
        inputs: share of nonzero inputs that layers of all forms have on top of their own.
        weights: the same of weights.

    Raises:
        ValueError: groups of two networks with one name.
    """

    forms: tuple[CompressedForms, ...]
    weights: float = 1.0
    inputs: float = 1.0

    def __post_init__(self) -> None:
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

    def networks(self, dense: Sequence[Network], point: Mapping[str, Value]) -> tuple[Network, ...]:
        """Return what a design runs: networks of the study, each in its form; always the same
        object for the same form.

        Args:
            dense: networks of the study.
            point: of the design.
        """
        chosen = {
            forms.network.name: self._network(forms, levels_at(forms, point))
            for forms in self.forms
        }
        return tuple(chosen.get(network.name, network) for network in dense)

    def accuracy_percent(self, point: Mapping[str, Value], hardware: Hardware) -> float:
        """Return the accuracy of a design: that of the network that loses most by its floor, the
        least of all.

        Raises:
            KeyError: hardware of a width that nothing is known of.
        """
        widths = Widths(*hardware.operand_widths)
        return min(forms.accuracy_percent[levels_at(forms, point), widths] for forms in self.forms)

    def shown(self, point: Mapping[str, Value], hardware: Hardware) -> str:
        """Return the form of a design for people."""
        levels = ", ".join(f"{p.name} = {point[p.name]:g}" for p in self.parameters)
        return f"{levels}, {Widths(*hardware.operand_widths)} bits"

    def _network(self, forms: CompressedForms, levels: Levels) -> Network:
        key = forms.network.name, levels
        if key not in self._made:
            self._made[key] = forms.network_of(levels).with_density(self.weights, self.inputs)
        return self._made[key]

    @cached_property
    def _made(self) -> dict[tuple[str, Levels], Network]:
        return {}


def levels_at(forms: CompressedForms, point: Mapping[str, Value]) -> Levels:
    """Return the levels of a network's groups at a point."""
    found = (point[parameter_name(group.name)] for group in forms.groups)
    return tuple(float(level) for level in found)
