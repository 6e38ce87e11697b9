"""Mappings that need no search: one that always fits, and one with the run in the buffer."""

from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.errors import Infeasible
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.workload.dims import TENSORS

ONES = (1,) * 8


def word_by_word(problem: MappingProblem, level: int = -1) -> Mapping:
    """Return the mapping with all loops at one level (DRAM unless said) and none unrolled.

    Optional levels are used at and above that level alone.
    """
    levels = len(problem.hardware.levels)
    at = level % levels
    buffer = problem.hardware.fusion_level
    rows = []
    for i, storage in enumerate(problem.hardware.levels):
        homes = [staged and i == buffer for staged in problem.staged]
        keeps = tuple(
            t in storage.keeps and (not storage.optional or i >= at or home)
            for t, home in zip(TENSORS, homes, strict=True)
        )
        temporal = problem.bounds if i == at else ONES
        rows.append(LevelMapping(temporal, tuple(range(8)), ONES, ONES, keeps))
    return Mapping(tuple(rows))


class BufferMapper:
    """Runs every layer from the level below DRAM, so that DRAM sends each word once."""

    def __init__(self) -> None:
        self.asked: list[MappingProblem] = []
        self._memo: dict[str, LayerCost] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        self.asked.append(problem)
        if problem.key not in self._memo:
            self._memo[problem.key] = mapped_cost(problem, word_by_word(problem, -2))
        return self._memo[problem.key]
