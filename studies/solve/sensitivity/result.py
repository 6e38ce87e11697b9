"""What the values of a design that no source gives decide."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, Literal

from archloom.space import Infeasible
from archloom.space.design_space import AssumedValue, Value
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from .pooled_mappings import Figures, MappingsEffort

Metric = Literal["latency", "energy", "edp", "area"]

#: figures that are compared
METRICS: Final[tuple[Metric, ...]] = ("latency", "energy", "edp", "area")

#: relative change of a figure above which a value decides it
DECIDES: Final = 0.1


@dataclass(frozen=True)
class Outcome:
    """A design, and what it costs.

    Attributes:
        values: by key path, where they differ from the design as it is.
        area_mm2: of the chip; infinite if there is no such design.
        runs: of each network what it costs, or why it cannot run; empty if there is no such design.
        refused: why there is no such design; empty if there is.
    """

    values: Mapping[str, Value]
    area_mm2: float = inf
    runs: tuple[Figures | Infeasible, ...] = ()
    refused: str = ""

    def amount(self, metric: Metric, network: int) -> float:
        """Return a figure, of a network by its position; infinite where it has none."""
        if metric == "area" or not self.runs:
            return self.area_mm2
        run = self.runs[network]
        if isinstance(run, Infeasible):
            return inf
        return {"latency": run.latency_s, "energy": run.energy_pj, "edp": run.edp_js}[metric]


@dataclass(frozen=True)
class Effect:
    """What one value decides.

    Attributes:
        assumed: the value, which no source gives.
        less, more: designs with a part of it and with a multiple.
    """

    assumed: AssumedValue
    less: Outcome
    more: Outcome

    @property
    def varied(self) -> bool:
        """Whether there is any other design."""
        return not (self.less.refused and self.more.refused)


@dataclass(frozen=True)
class Sensitivity:
    """What all these values of a design decide.

    Attributes:
        hardware: the design as it is.
        networks: what runs on it, each with the batch of a pass.
        effort: of the mappings.
        factor: by which values are divided and multiplied.
        base: the design as it is.
        effects: of the values, in the order of the template.
    """

    hardware: Hardware
    networks: tuple[Network, ...]
    effort: MappingsEffort
    factor: float
    base: Outcome
    effects: tuple[Effect, ...]

    def change(self, outcome: Outcome, metric: Metric, network: int) -> float:
        """Return the relative change of a figure; infinite where the other design has none."""
        return outcome.amount(metric, network) / self.base.amount(metric, network) - 1.0

    def largest(self, effect: Effect, network: int) -> float:
        """Return the largest relative change of any figure of a network, without its sign.

        It is infinite where the network cannot run, and 0 where there is no other design.
        """
        others = [one for one in (effect.less, effect.more) if not one.refused]
        changes = [abs(self.change(one, m, network)) for one in others for m in METRICS]
        return max(changes, default=0.0)

    def ranked(self, network: int | None = None) -> list[Effect]:
        """Return the effects on a network, or on any, the largest first; last what was not
        varied."""
        networks = range(len(self.networks)) if network is None else (network,)

        def order(effect: Effect) -> tuple[bool, float]:
            return not effect.varied, -max(self.largest(effect, i) for i in networks)

        return sorted(self.effects, key=order)

    def deciding(self, network: int) -> list[Effect]:
        """Return the effects that change a figure by more than :data:`DECIDES`, largest first."""
        return [one for one in self.ranked(network) if self.largest(one, network) > DECIDES]
