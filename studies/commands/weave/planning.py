"""Options of the plans that chains are made of, where anything is planned at all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from archloom.evaluators.weaving import Chain
from archloom.search import FUSION_SEARCHES, MAPPING_SEARCHES
from archloom.search.software import SoftwareSettings
from archloom.studies.rendering.text import known
from archloom.studies.solve import FusionEffort

from ...errors import AllFaults, UserError
from .chip import Chip
from .sources import Source

_PLANNER: Final = "joint"
_PLANS: Final = 200
_MAPPING: Final = "auto"


@dataclass(frozen=True)
class Planning:
    """What a command line says of plans; None for what it does not say.

    Raises:
        UserError: an unknown planner or mapping search.
    """

    planner: str | None = None
    evaluations: int | None = None
    mapping: str | None = None
    mapping_evaluations: int | None = None

    def __post_init__(self) -> None:
        faults = AllFaults()
        with faults.collecting():
            known(FUSION_SEARCHES.today(self.planner or _PLANNER), "--plan", list(FUSION_SEARCHES))
        with faults.collecting():
            known(self.mapping or _MAPPING, "--mapping", list(MAPPING_SEARCHES))
        faults.raise_any()

    @property
    def said(self) -> list[str]:
        """The options that are given."""
        options = {
            "--plan": self.planner,
            "--evaluations": self.evaluations,
            "--mapping": self.mapping,
            "--mapping-evaluations": self.mapping_evaluations,
        }
        return [option for option, value in options.items() if value is not None]


def effort_for(
    planning: Planning, chip: Chip, sources: Sequence[Source], seed: int
) -> FusionEffort:
    """Return how the plans of all networks are searched.

    Raises:
        UserError: options of plans where there are none.
    """
    planner, mapping = planning.planner or _PLANNER, planning.mapping or _MAPPING
    nothing = (
        "tables already define their layers"
        if all(isinstance(s.what, Chain) for s in sources)
        else ""
    )
    if chip.array is not None:
        nothing = f"NPU {chip.npu.name} runs each layer unfused with a weight-stationary mapping"
    if planning.said and nothing:
        raise UserError(f"{', '.join(planning.said)}: {nothing}; leave these options out")
    settings = SoftwareSettings(fusion=planner, mapping=mapping)
    if planning.mapping_evaluations is not None:
        settings = replace(settings, mapping_evaluations=planning.mapping_evaluations)
    return FusionEffort(settings, planning.evaluations or _PLANS, seed)
