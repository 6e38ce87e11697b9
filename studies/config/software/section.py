"""Section ``software`` of a study file: how the software of one design is searched."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from archloom.search import FUSION_SEARCHES, MAPPING_SEARCHES, RENAMED
from archloom.space import Faults
from archloom.space.mapping import UNCONSTRAINED, MappingConstraints

from ..errors import EntryError, entry_error
from ..sections import Reading, Section, anything, named_one, section, whole, word, yes_or_no
from .component_choice import Choice, complete, frozen_options, name_or_choice, named_parts
from .mapping_constraints import CONSTRAINTS, unfit

_FUSION: Final = named_one("fusion search", lambda: FUSION_SEARCHES).formed(
    lambda: name_or_choice(FUSION_SEARCHES)
)
_MAPPING: Final = named_one("mapping search", lambda: MAPPING_SEARCHES).formed(
    lambda: name_or_choice(MAPPING_SEARCHES)
)
# old names are put right before the section is read
_FACTORS: Final = word("exact", "padded", "imperfect").formed(
    lambda: {"enum": ["exact", "padded", "imperfect", *RENAMED["factors"]]}
)


def _obeyable(software: "Software", beside: Reading) -> "Software":
    """Compare constraints on mappings with the template, so that all errors come at once."""
    location = beside.before.get("space")
    if location is None or software.constraints == UNCONSTRAINED:
        return software
    from archloom.space.design_space import HardwareSpace

    faults = unfit(software.constraints, HardwareSpace.load(location))
    if faults:
        below = Faults()
        below.include(faults, "constraints")
        raise EntryError(below)
    return software


def _countable(software: "Software", _: Reading) -> "Software":
    """Refuse a limit of a planner's work that nothing keeps, and parts of a batch that are none."""
    for option in ("work_limit", "sub_batches"):
        number = software.fusion_options.get(option)
        if isinstance(number, int) and number < 1:
            raise entry_error(f"{number} must be at least 1", "fusion", option)
    return software


@dataclass(frozen=True, kw_only=True)
class Software(Section):
    """How fusion plans and mappings of a design are searched.

    Attributes:
        fusion: fusion planner: its name, or a mapping of its name and options.
        population: population size of genetic fusion planners.
        mapping: mapping search: its name, or a mapping of its name and options.
        mapping_evaluations: maximum number of mappings evaluated for each mapping problem (a layer
            with its tile shape and the tensors already in the buffer).
        factors: tile sizes of mappings. ``exact``: they divide the loop bounds. ``padded``: loop
            bounds are rounded up so that they divide well, and the padding is computed too.
            ``imperfect``: they are free, and the last tile of a loop may be smaller.
        constraints: constraints on all mappings: dataflow, unrolling, loop orders, bypass.
        budget: how the budget of a trial is spent: ``plans`` (each unit evaluates one fusion plan)
            or ``shared`` (each unit evaluates a plan or refines a mapping, whichever promises
            more).
        prove_mappings: maximum number of mappings evaluated for each mapping problem of the best
            plan, to lower the EDP of the plan as a whole and to prove how far it can be lowered;
            0: off.
        trade_offs: whether each trial also finds mappings that take less energy or fewer cycles
            than those of the least EDP. Each of these outcomes competes for the front. It needs
            ``fusion: none`` and two metrics such as latency and energy; a trial takes about twice
            as long.
        fusion_options: options of the fusion planner, as an alternative to a mapping in ``fusion``.
        mapping_options: options of the mapping search, as an alternative to a mapping in
            ``mapping``.
    """

    fusion: Annotated[str, _FUSION] = "joint"
    population: Annotated[int, whole(2, most=100_000)] = 8
    mapping: Annotated[str, _MAPPING] = "auto"
    mapping_evaluations: Annotated[int, whole(1, most=10**9)] = 100_000
    factors: Annotated[str, _FACTORS] = "imperfect"
    constraints: Annotated[MappingConstraints, CONSTRAINTS] = UNCONSTRAINED
    # left out of the identity of studies that do without, which are older than the choice
    budget: Annotated[str, word("plans", "shared").silent_if(lambda b: b == "plans")] = "plans"
    prove_mappings: Annotated[int, whole(0, most=10**9).silent_if(lambda n: n == 0)] = 0
    trade_offs: Annotated[bool, yes_or_no().silent_if(lambda on: not on)] = False
    fusion_options: Annotated[dict[str, Any], anything().silent_if(lambda o: not o)] = field(
        default_factory=dict
    )
    mapping_options: Annotated[dict[str, Any], anything().silent_if(lambda o: not o)] = field(
        default_factory=dict
    )

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of :class:`archloom.search.software.search.SoftwareSettings`."""
        return {key: getattr(self, key) for key in self.layout} | {
            "fusion_options": frozen_options(self.fusion_options),
            "mapping_options": frozen_options(self.mapping_options),
        }


#: the key that holds it
SOFTWARE: Final = section(Software).prepared(named_parts).checked(_obeyable).checked(_countable)


def complete_software(software: Software) -> Software:
    """Return the section with all options of its searches written out."""
    fusion = complete(Choice(software.fusion, software.fusion_options), FUSION_SEARCHES)
    mapping = complete(Choice(software.mapping, software.mapping_options), MAPPING_SEARCHES)
    # a key of the section itself; limits that nobody sets, which older versions did not have
    of_fusion = {k: v for k, v in fusion.options.items() if k != "population" and v is not None}
    return replace(software, fusion_options=of_fusion, mapping_options=mapping.options)
