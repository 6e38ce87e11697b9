"""How layers of a chip file are mapped: by a search, or as the file says for a single layer."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from archloom.evaluators.loopnest import (
    SPATIAL_X,
    SPATIAL_Y,
    LayerCost,
    MappingProblem,
    evaluate_one,
    mapped_cost,
    new_workspace,
    setup_for,
    tile_words,
)
from archloom.search import MAPPING_SEARCHES
from archloom.search.mapping import FACTORS, Mapper
from archloom.space import Fault, Faults, Infeasible, Place, shown
from archloom.space.hardware import Hardware
from archloom.space.importers.cases import RecordError, written_mapping
from archloom.space.mapping import UNCONSTRAINED, Mapping, MappingConstraints, trimmed
from archloom.space.workload import DIMS, TENSORS, Layer
from archloom.studies.config import (
    CONSTRAINTS,
    EntryError,
    Key,
    Reading,
    Section,
    named_one,
    section,
    whole,
    word,
)

from ..fixed_mappings import Pass, row_stationary

#: exponents of energy and of latency in what a search minimises
OBJECTIVES: Final = {"edp": (1.0, 1.0), "energy": (1.0, 0.0), "latency": (0.0, 1.0)}


@dataclass(frozen=True, kw_only=True)
class MappingSearch(Section):
    """The search that maps every layer whose mapping the file does not give.

    Attributes:
        search: mapping search.
        evaluations: maximum number of mappings evaluated for each layer.
        objective: metric to minimise: ``edp``, ``energy`` or ``latency``.
        factors: tile sizes of mappings. ``exact``: they divide the loop bounds. ``padded``: loop
            bounds are rounded up so that they divide well, and the padding is computed too.
            ``imperfect``: they are free, and the last tile of a loop may be smaller.
        constraints: constraints on all mappings: dataflow, unrolling, loop orders, bypass, as in
            study files.
        seed: seed of the random number generators.
    """

    search: Annotated[str, named_one("mapping search", lambda: MAPPING_SEARCHES)] = "auto"
    evaluations: Annotated[int, whole(1, most=10**9)] = 100_000
    objective: Annotated[str, word(*OBJECTIVES)] = "edp"
    factors: Annotated[str, word(*FACTORS)] = "imperfect"
    constraints: Annotated[MappingConstraints, CONSTRAINTS] = UNCONSTRAINED
    seed: Annotated[int, whole(0)] = 0

    def mapper(self) -> Mapper:
        """Return what maps layers; it remembers those that it has mapped."""
        made = MAPPING_SEARCHES[self.search]()
        return Mapper(made, self.evaluations, self.seed, self.factors, self.constraints)

    @property
    def sentence(self) -> str:
        """What the search does, for people."""
        flow = self.constraints.dataflow
        obeying = "" if flow == "any" else f" of dataflow `{flow}`"
        if self.constraints.levels or not self.constraints.both_axes:
            obeying += " within the file's constraints"
        return (
            f"the one{obeying} with the lowest {self.objective} that search `{self.search}` "
            f"finds with {self.evaluations:,} evaluations and {self.factors} factors (seed "
            f"{self.seed})"
        )


def _fitting(found: MappingSearch, beside: Reading) -> MappingSearch:
    """Compare constraints with the levels of the hardware."""
    _check_levels(found.constraints, beside, Place(keys=("constraints", "levels")))
    return found


def _own_fitting(found: MappingConstraints, beside: Reading) -> MappingConstraints:
    _check_levels(found, beside, Place(keys=("levels",)))
    return found


def _check_levels(found: MappingConstraints, beside: Reading, place: Place) -> None:
    chip = beside.before.get("hardware")
    if chip is None:
        return
    faults, levels = Faults(), {level.name: level for level in chip.design.levels}
    for name, near in found.unknown_levels(levels):
        faults.add(place.key(name), f"is no level of {chip.design.name}; {near}")
    for rules in found.levels:
        for key, message in rules.misfits(levels[rules.level]) if rules.level in levels else ():
            faults.add(place.key(rules.level).key(key), message)
    if faults:
        raise EntryError(faults)


#: the key that holds the search
SEARCH: Final = section(MappingSearch).checked(_fitting)

#: the key that holds constraints of the mappings of one row
ROW_CONSTRAINTS: Final = CONSTRAINTS.checked(_own_fitting)

#: how a text says a mapping
_TEXT: Final = "a text such as 'WIO:S3.K16// -IO:Q13/P13/R3 WIO:C64//' with a word for each level"

#: a mapping as a file gives it
Written = Pass | str | list[Any]


def read_written(entry: Any, beside: Reading) -> Written:
    """Return how a file writes the mapping of a layer down; :func:`mapping_of` makes it.

    Raises:
        ValueError: it is none of the forms.
        EntryError: everything that is wrong with a pass.
    """
    if isinstance(entry, dict):
        return Pass.read(entry, beside)
    if isinstance(entry, str | list):
        return entry
    raise ValueError(
        f"{shown(entry)} must be a list of loops, {_TEXT}, or the numbers of a row-stationary "
        f"pass: {', '.join(Pass.layout)}"
    )


#: the key that holds a mapping of one layer
WRITTEN: Final = Key(
    read_written,
    form=lambda: {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "object"}},
            Pass.form(),
        ]
    },
).like({"m": 64, "n": 4, "e": 13, "p": 16, "q": 3, "r": 2, "t": 2})


def mapping_of(written: Written, layer: Layer, hardware: Hardware) -> Mapping:
    """Return the mapping that a file writes down; its factors may cover more than the layer.

    Raises:
        EntryError, ValueError: it is none of this layer on this hardware; with what is wrong.
    """
    if isinstance(written, Pass):
        return row_stationary(layer, written, hardware)
    if isinstance(written, list):
        bounds: dict[str, int] = dict(zip(DIMS, layer.bounds, strict=True))
        try:
            return written_mapping(written, hardware, bounds)
        except RecordError as error:
            raise EntryError(
                Fault(Place(), fault.removeprefix("mapping: ")) for fault in error.faults
            ) from None
    names = ", ".join(level.name for level in hardware.levels)
    try:
        found = Mapping.from_text(written)
    except ValueError:
        found = None
    if found is None or len(found.levels) != len(hardware.levels):
        raise ValueError(f"{shown(written)} must be {_TEXT}, innermost first: {names}")
    trimmed(found, layer.bounds)
    return found


def problem_of(layer: Layer, density: tuple[float, float], hardware: Hardware) -> MappingProblem:
    """Return the problem of a layer with shares of nonzero weights and inputs."""
    return MappingProblem.of_layer(replace(layer, density=density), hardware)


def written_cost(
    written: Written, layer: Layer, density: tuple[float, float], hardware: Hardware
) -> LayerCost:
    """Return the cost of a layer in the mapping that a file writes down.

    Strips, passes and tiles that are not full are counted exactly.

    Raises:
        EntryError, ValueError: it is no mapping of this layer on this hardware; with the reason.
    """
    mapping = mapping_of(written, layer, hardware)
    problem = replace(problem_of(layer, density, hardware), loop_bounds=mapping.factors)
    try:
        return mapped_cost(problem, mapping)
    except ValueError as error:
        raise ValueError("; ".join(_misfits(problem, mapping)) or str(error)) from None


def _misfits(problem: MappingProblem, mapping: Mapping) -> Iterator[str]:
    """Say at which levels a mapping does not fit, with what it needs and what there is."""
    mapping = trimmed(mapping, problem.bounds)
    setup, hardware = setup_for(problem, mapping), problem.hardware
    found, (loops, keep) = new_workspace(len(hardware.levels)), mapping.arrays()
    evaluate_one(setup, loops, keep, found)
    for v, level in enumerate(hardware.levels):
        for axis, name in ((SPATIAL_X, "x"), (SPATIAL_Y, "y")):
            across, most = int(loops[v, axis].prod()), int(setup.fanout[v, axis - SPATIAL_X])
            if across > most:
                yield f"{level.name}: unrolls over {across} children along {name}, has {most}"
        needed = [
            int(tile_words(t, found.cum, v + 1, setup.window)) * int(setup.unit[v, t] * keep[v, t])
            for t in range(len(TENSORS))
        ]
        if 0 <= setup.shared[v] < sum(needed):
            yield f"{level.name}: tiles need {sum(needed):,} words, has {setup.shared[v]:,}"
        for tensor, words, held in zip(TENSORS, needed, setup.capacity[v], strict=True):
            if 0 <= held < words:
                yield f"{level.name}: {tensor} need {words:,} words, has {held:,}"


def searched_cost(search: MappingSearch, mapper: Mapper, problem: MappingProblem) -> LayerCost:
    """Return the cost of a problem in the mapping that a search finds.

    Raises:
        ValueError: there is none on the hardware; with the reason.
    """
    found = mapper(replace(problem, weights=OBJECTIVES[search.objective]))
    if isinstance(found, Infeasible):
        raise ValueError(str(found))
    return found
