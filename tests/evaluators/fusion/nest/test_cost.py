"""Costs of nests against an account that goes through all iterations one by one."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.nest import NestWalk
from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.search.seeds import derived_seed
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE, Residents
from archloom.space.hardware.hardware import Hardware

from ....cases.mappers import word_by_word
from ....cases.random_nests import NestCase, masked_case, random_case
from ....cases.small_designs import three_levels
from ....cases.sweeps import sweep
from ....oracles.nest_account import Account, account, recorded

Cases = Callable[[np.random.Generator, int], NestCase]


class WordMapper:
    """Runs tiles from the buffer where all lies there, else from DRAM word by word, if the buffer
    has the words for that."""

    def __init__(self) -> None:
        self._memo: dict[MappingProblem, LayerCost | Infeasible] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        if problem not in self._memo:
            level = -2 if all(problem.staged) else -1
            try:
                self._memo[problem] = mapped_cost(problem, word_by_word(problem, level))
            except ValueError:
                self._memo[problem] = Infeasible("no_mapping", "", 1, 0, "", "")
        return self._memo[problem]


class DrawnMapper(WordMapper):
    """Runs small tiles as the best of a few random mappings does, on several PEs; of some their
    loops are padded. Others run as of :class:`WordMapper`."""

    def __init__(self) -> None:
        super().__init__()
        self._drawn: dict[MappingProblem, LayerCost | Infeasible] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        plain = super().__call__(problem)
        if isinstance(plain, Infeasible) or problem.macs > 1000:
            return plain
        if problem not in self._drawn:
            seed = derived_seed(problem.key)
            mapper = Mapper(RandomMapping(), 1 + seed % 5, seed, ("exact", "padded")[seed % 2])
            self._drawn[problem] = mapper(problem)
        return self._drawn[problem]


MAPPER = WordMapper()
DRAWN = DrawnMapper()


def with_capacity(hardware: Hardware, words: int) -> Hardware:
    """Return a design with a buffer of so many words of 8 bits."""
    spad, buffer, dram = hardware.levels
    return replace(hardware, levels=(spad, replace(buffer, capacity_bytes=words), dram))


def random_hardware(rng: np.random.Generator, capacity: int) -> Hardware:
    """Return a small design with slow DRAM and vector accesses."""
    plain = three_levels(capacity)
    spad, buffer, dram = plain.levels
    buffer = replace(
        buffer,
        capacity_bytes=capacity,
        width_words=int(rng.integers(1, 5)),
        bandwidth_words=float(rng.integers(2, 9)),
    )
    rate = float(rng.choice([0.125, 0.25, 0.5, 1.0, 2.0]))
    dram = replace(dram, bandwidth_words=rate, width_words=int(rng.integers(1, 4)))
    return replace(plain, levels=(spad, buffer, dram), vector_lanes=int(rng.integers(1, 5)))


def random_residents(rng: np.random.Generator, case: NestCase) -> tuple[Residents, tuple[int, ...]]:
    """Return what a plan may hold of what the group reads, and members with steady weights."""
    if rng.random() < 0.6:
        return ALONE, ()
    sources = {o.source for o in case.group.operands if o.kind == "read" and o.source >= 0}
    held = tuple(sorted(s for s in sources if rng.random() < 0.7))
    learned = [o.maker for o in case.group.operands if o.kind == "weights"]
    steady = tuple(case.members[m] for m in learned if rng.random() < 0.3)
    return Residents(held, (), (), int(rng.integers(0, 9))), steady


def costs_as_told(found: GroupCost, told: Account) -> None:
    """Hold the cost of a nest against an account of all its iterations."""
    figures = (found.dram_reads, found.dram_writes, found.own_words, found.prefetch, found.tiles)
    assert figures == (told.reads, told.writes, told.peak, told.prefetch, told.tiles)
    # each sum of a layer, level and tensor is rounded to 2**-8 pJ, an iteration's is not
    assert found.dynamic_pj == pytest.approx(told.energy_pj, rel=1e-9, abs=0.25)
    assert found.latency_cycles == told.latency


def compare(
    seed: int, most: int = 9, cases: Cases = random_case, mapper: WordMapper = MAPPER
) -> str:
    """Compare a random nest on a random design; returns what came of it.

    Features and positions are up to ``most``.
    """
    rng = np.random.default_rng(seed)
    case = cases(rng, most)
    skips = NestWalk(case.group, case.nest).masked is not None
    residents, steady = random_residents(rng, case)
    group = FusionGroup(case.members, nest=case.nest, steady=steady)
    held = {
        t
        for t, o in enumerate(case.group.operands)
        if (o.kind == "read" and o.source in residents.held)
        or (o.kind == "weights" and case.members[o.maker] in steady)
    }

    walked = recorded(case.group, case.nest, held, skips)

    def costs(capacity: int) -> tuple[GroupCost | Infeasible, Account | Infeasible]:
        chip = with_capacity(hardware, capacity)
        words = buffer_words(chip) - residents.words
        told = account(walked, chip, mapper, words)
        return group_cost(case.network, group, chip, mapper, residents), told

    hardware = random_hardware(rng, 10_000)
    _, free = costs(10_000)
    least = free.least_words + residents.words if isinstance(free, Account) else 100
    # from too few words for the operands to enough for all transfers
    capacity = max(1, int(least * rng.uniform(0.8, 1.8)))
    found, told = costs(capacity)
    if isinstance(told, Infeasible):
        assert isinstance(found, Infeasible)
        assert found.reason == told.reason, found
        return "no mapping"
    if told.least_words > capacity - residents.words:
        assert isinstance(found, Infeasible)
        assert found.reason == "glb_overflow", found
        assert found.needed == told.least_words
        assert found.available == capacity - residents.words
        enough, _ = costs(told.least_words + residents.words)
        assert not isinstance(enough, Infeasible) or enough.reason == "no_mapping"
        return "too small"
    assert not isinstance(found, Infeasible), found
    costs_as_told(found, told)
    return "ahead" if found.prefetch else "waits"


@pytest.mark.parametrize("seed", sweep(range(400), sample=24))
def test_a_nest_costs_what_its_iterations_cost_one_by_one(seed: int) -> None:
    compare(seed)


@pytest.mark.parametrize("seed", sweep(range(400), sample=16))
def test_tiles_that_add_to_sums_cost_what_a_walk_of_their_mappings_does(seed: int) -> None:
    compare(1000 + seed, mapper=DRAWN)


# the first one is wrong if two iterations at each end of a loop are looked at by themselves: those
# next to them begin sooner or end later than those between
@pytest.mark.parametrize("seed", sweep([394, *range(200)], sample=12))
def test_loops_of_many_iterations(seed: int) -> None:
    compare(seed, most=40)


@pytest.mark.parametrize(
    ("seed", "most"), sweep([(i, 9 + i % 2 * 10) for i in range(400)], sample=16)
)
def test_tiles_that_a_mask_drops_cost_nothing(seed: int, most: int) -> None:
    compare(seed, most, masked_case)
