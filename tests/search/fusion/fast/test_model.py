"""FAST's integer program against every choice there is."""

import numpy as np
import pytest

from archloom.search.fusion.fast.ilp import IntegerProgram
from archloom.search.fusion.fast.model import (
    FORMS,
    Form,
    MapRead,
    PinLayer,
    PinnedData,
    PinningProblem,
    Saving,
    linear_cost,
)
from archloom.search.fusion.parametric_search import HullVertex, least_product

from ....cases.pinning_problems import (
    broken_alive,
    broken_in_print,
    choices,
    differs,
    random_problem,
    small_problem,
)

#: problems of each form and kind
CASES = 12


@pytest.mark.parametrize("kind", ["chain", "branching"])
@pytest.mark.parametrize("form", FORMS)
def test_it_finds_the_best_of_all_choices(form: Form, kind: str) -> None:
    """benchmarks/agreement/integer_by_enumeration.py has many more."""
    assert [differs(seed, form, kind) for seed in range(CASES)] == [""] * CASES


@pytest.mark.parametrize("form", FORMS)
def test_no_answer_breaks_an_inequality(form: Form) -> None:
    broken = broken_in_print if form == "printed" else broken_alive
    pinned = 0
    for seed in range(30):
        problem = random_problem(np.random.default_rng([9, seed]), most=60)
        solved = IntegerProgram(problem, form, steady_weights=True).solve(0.0, 1.0)
        assert broken(problem, solved.pinned) == [], seed
        pinned += len(solved.pinned.reads)
    assert pinned > 60


@pytest.mark.parametrize("form", FORMS)
def test_weighted_sums_lead_to_the_least_product(form: Form) -> None:
    broken = broken_in_print if form == "printed" else broken_alive
    for seed in range(CASES):
        problem = small_problem(100 + seed, form, "branching")
        program = IntegerProgram(problem, form, steady_weights=seed % 2 == 0)

        def hull_vertex(
            energy: float, latency: float, program: IntegerProgram = program
        ) -> HullVertex[PinnedData]:
            solved = program.solve(energy, latency)
            return HullVertex(solved.pinned, solved.cost.energy_pj, solved.cost.cycles)

        found = least_product(hull_vertex)
        costs = (
            (linear_cost(problem, pinned, form), pinned)
            for pinned in choices(problem, seed % 2 == 0, only_next=form == "printed")
        )
        for product, pinned in sorted(
            ((cost.energy_pj * cost.cycles, pinned) for cost, pinned in costs),
            key=lambda pair: pair[0],
        ):
            if not broken(problem, pinned):
                assert found.product == pytest.approx(product, rel=1e-7), seed
                break


def test_the_least_product_is_found_with_few_sums() -> None:
    """A hull of 200 corners around a circle: the supporting lines leave most of them out."""
    angles = np.linspace(0.01, np.pi / 2 - 0.01, 200)
    points = [(2 - float(np.cos(a)), 2.5 - float(np.sin(a))) for a in angles]
    asked = []

    def solve(first: float, second: float) -> HullVertex[int]:
        asked.append((first, second))
        at = min(range(200), key=lambda i: first * points[i][0] + second * points[i][1])
        return HullVertex(at, *points[at])

    found = least_product(solve)
    assert found.product == min(a * b for a, b in points)
    assert len(asked) < 20


def layer(reads: tuple[int, ...], owner: int, weights: int = 0, leaves: bool = False) -> PinLayer:
    """A layer whose maps have 10 words; every word saves a cycle."""
    return PinLayer(
        longest_cycles=100.0,
        shortest_cycles=1.0,
        energy_pj=100.0,
        dram_words=100,
        own_words=4,
        map_words=10,
        map_tile_words=2,
        write=Saving(10.0, 10.0, 10),
        leaves=leaves,
        reads=tuple(MapRead(u, 2, Saving(10.0, 10.0, 10)) for u in reads),
        weight_owner=owner,
        weight_words=weights,
        weights=Saving(float(weights), float(weights), weights),
    )


def test_the_limits_of_the_printed_form() -> None:
    """A fan-out: the next reader alone gains, and the write counts as spared though it is not."""
    layers = (layer((), 0), layer((0,), 1), layer((0,), 2), layer((1, 2), 3))
    problem = PinningProblem(layers, 1000)
    printed = IntegerProgram(problem, "printed", True).solve(0.0, 1.0)
    assert printed.pinned.reads == {(0, 1), (2, 3)}
    assert printed.cost.dram_words == 400 - 40
    assert linear_cost(problem, printed.pinned, "live").dram_words == 400 - 30
    live = IntegerProgram(problem, "live", True).solve(0.0, 1.0)
    assert live.pinned.reads == {(0, 1), (0, 2), (1, 3), (2, 3)}
    assert live.cost.dram_words == 400 - 70


def test_a_map_takes_room_until_its_last_reader_is_done() -> None:
    """While layer 2 runs, the result of 0 is in the way of nothing but its own room."""
    layers = (layer((), 0), layer((0,), 1), layer((1,), 2), layer((0, 2), 3, leaves=True))
    # layer 2: 4 words of its own, 10 - 2 more for each of its maps, 10 of layer 0's
    enough = IntegerProgram(PinningProblem(layers, 30), "live", False).solve(0.0, 1.0)
    assert enough.pinned.reads == {(0, 1), (0, 3), (1, 2), (2, 3)}
    short = IntegerProgram(PinningProblem(layers, 29), "live", False).solve(0.0, 1.0)
    assert len(short.pinned.reads) == 3


def test_steady_weights_take_their_room_everywhere() -> None:
    layers = (layer((), 0, weights=30), layer((0,), 1, weights=31))
    rooms = {4 + 30: frozenset({0}), 4 + 31: frozenset({1}), 4 + 61: frozenset({0, 1})}
    for capacity, kept in rooms.items():
        solved = IntegerProgram(PinningProblem(layers, capacity), "printed", True).solve(0.0, 1.0)
        # maps save less than weights do
        assert solved.pinned.steady == kept
