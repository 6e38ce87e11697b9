"""Section ``software`` of a study file: how the software of one design is searched."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from archloom.search import FUSION_SEARCHES, MAPPING_SEARCHES, RENAMED
from archloom.space import Faults
from archloom.space.mapping import UNCONSTRAINED, MappingConstraints

from ..errors import EntryError, entry_error
from ..sections import Reading, Section, anything, named_one, section, whole, word
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
    """Refuse a limit of a planner's work that nothing keeps."""
    limit = software.fusion_options.get("work_limit")
    if isinstance(limit, int) and limit < 1:
        raise entry_error(f"{limit} must be at least 1", "fusion", "work_limit")
    return software


@dataclass(frozen=True, kw_only=True)
class Software(Section):
    """How the software of one design is searched; see ``archloom.search.software.search``.

    Attributes:
        fusion: planner that decides which layers run together; its name, or name and options.
        population: individuals of planners that breed.
        mapping: search for the mapping of a layer; its name, or name and options.
        mapping_evaluations: mappings evaluated for each layer, tile and residency at most.
        factors: which tile sizes: ``exact`` multiply to the loop bounds, ``padded`` to bounds that
            suit the meshes, ``imperfect`` to more, of which only the true ones run.
        constraints: what all mappings satisfy: dataflow, unrolling, loop orders, bypass.
        budget: what a unit of a trial's budget buys: ``plans``, or plans and mappings as they
            promise (``shared``).
        fusion_options: options of the planner, where they do not stand beside its name.
        mapping_options: options of the mapping search, where they do not stand beside its name.
    """

    fusion: Annotated[str, _FUSION] = "joint"
    population: Annotated[int, whole(2, most=100_000)] = 8
    mapping: Annotated[str, _MAPPING] = "auto"
    mapping_evaluations: Annotated[int, whole(1, most=10**9)] = 100_000
    factors: Annotated[str, _FACTORS] = "imperfect"
    constraints: Annotated[MappingConstraints, CONSTRAINTS] = UNCONSTRAINED
    # left out of the identity of studies that do without, which are older than the choice
    budget: Annotated[str, word("plans", "shared").silent_if(lambda b: b == "plans")] = "plans"
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
