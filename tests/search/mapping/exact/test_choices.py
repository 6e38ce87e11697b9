"""What rules out choices before they are bounded, against their bounds."""

import numpy as np
import pytest

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.choices import choices_of
from archloom.search.mapping.exact.spatial.unrollings import touched
from archloom.search.mapping.exact.subproblem.noc_hops import wired_bounds
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS

from ....cases.small_designs import casco_edge, resnet_conv
from ....cases.small_problems import drawn_problem
from ....cases.sweeps import sweep
from ....contracts.mapping_search import PROBLEMS

GO_ON = np.zeros(1, np.uint8)


def least_ratio(problem: MappingProblem, most: int = 300) -> float:
    """Return the least ratio of what fills cost in a choice to what they cost at least, by level,
    of so many choices at the most.
    """
    setup = problem.setup._replace(extras=None)
    choices = choices_of(setup, touched(setup), GO_ON)
    assert choices is not None
    subproblem, ratio = choices.subproblem, np.inf
    pairs = [
        (way, spread)
        for way in range(len(choices.keeps))
        for prefix in range(len(choices.prefixes))
        for rest in range(len(choices.rests))
        if not (setup.bounds % (spread := choices.spread(prefix, rest)).prod(axis=0)).any()
    ]
    rng = np.random.default_rng(1)
    for i in rng.permutation(len(pairs))[:most]:
        way, spread = pairs[i]
        subproblem.keep[:], subproblem.spread[:] = choices.keeps[way], spread
        subproblem.guess[:] = 0
        wired_bounds(setup, subproblem)
        paid = np.where(subproblem.parent >= 0, subproblem.least_pj, 0).sum(axis=1)
        least = choices.fills_pj[way]
        ratio = min(ratio, *(paid[least > 0] / least[least > 0]), np.inf)
    return float(ratio)


@pytest.mark.parametrize("block", sweep(range(20), 5))
def test_no_choice_fills_levels_for_less_than_the_least(block: int) -> None:
    for number in range(block * 20, (block + 1) * 20):
        assert least_ratio(drawn_problem(number), 60) >= 1 - 1e-9, number


@pytest.mark.parametrize("name", [*PROBLEMS, *PRESETS])
def test_the_least_holds_on_published_designs(name: str) -> None:
    problem = PROBLEMS.get(name) or MappingProblem.of_layer(resnet_conv(), preset(name))
    assert least_ratio(problem) >= 1 - 1e-9


def test_some_choice_fills_levels_for_no_more_than_the_least() -> None:
    assert least_ratio(MappingProblem.of_layer(resnet_conv(), casco_edge())) == pytest.approx(1)
