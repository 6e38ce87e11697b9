"""One trial of a study taken apart: its hardware, and the software found for each network."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archloom.studies.analysis import hardware_of, trial_details
from archloom.studies.config import Location
from archloom.studies.storage import Trial as Record, read_header

from .cells import cell
from .front import Trial
from .hardware import Hardware
from .network_plan import NetworkPlan


@dataclass(frozen=True, repr=False)
class Design:
    """A design of a study with its hardware, plans and costs.

    Attributes:
        trial: the trial of the design.
        hardware: hardware of the design, for :func:`schedule`, :func:`evaluate`, :func:`map_layer`.
        networks: the best plan found for each network, with its costs.
        details: what ``archloom show --json`` prints; keys may be added.
    """

    trial: Trial
    hardware: Hardware
    networks: tuple[NetworkPlan, ...]
    details: Mapping[str, Any]

    @classmethod
    def of(cls, location: Location, record: Record, number: int | None) -> "Design":
        """Return the design of a trial; a ``number`` of None is the preset."""
        details = trial_details(location, number, record.outcome)
        chip = Hardware(hardware_of(location, read_header(location), record))
        plans = [
            NetworkPlan.of(found, record.networks[found["name"]].batch, chip.name)
            for found in details["networks"]
        ]
        return cls(Trial.of(record), chip, tuple(plans), details)

    def __repr__(self) -> str:
        return f"<archloom.Design {repr(self.trial)[len('<archloom.') : -1]}, {self.hardware.name}>"

    def _repr_html_(self) -> str:
        trial = self.trial
        edp = "no EDP" if trial.edp_js is None else f"EDP {trial.edp_js:.4g} J s"
        notes = [
            f"{edp}, {trial.area_mm2:.4g} mm², TDP {trial.tdp_w:.4g} W",
            *([str(trial.infeasible)] if trial.infeasible else []),
            *([trial.error] if trial.error else []),
        ]
        parts = [self.hardware._repr_html_(), *(plan._repr_html_() for plan in self.networks)]
        number = "the baseline" if trial.number < 0 else f"trial {trial.number}"
        return cell(f"Design of {number} ({trial.state})", notes, *parts)
