"""An exact search that is stopped at any moment keeps its best mapping and a bound that holds."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import inf
from threading import Thread

import numpy as np
import pytest

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.energy_latency_front import front
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.protocol import Progress
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import Effects
from archloom.space.workload.layer import Layer
from archloom.studies.solve.deadline import deadline

from ....cases.small_designs import casco_edge, resnet_conv
from ....cases.small_problems import drawn_problem

PLENTY = 10**9


def flag(value: int = 0) -> np.ndarray:
    return np.full(1, value, np.uint8)


def long_problem() -> MappingProblem:
    """Bounds with so many divisors that half a minute leaves a gap."""
    layer = Layer(
        "composite", "conv", n=48, k=720, c=720, p=60, q=60, r=3, s=3, input_size=(62, 62)
    )
    return MappingProblem.of_layer(layer, casco_edge())


def test_a_stop_before_the_start_leaves_what_was_tried() -> None:
    problem = MappingProblem.of_layer(resnet_conv(), casco_edge())
    found = prove(problem, PLENTY, stop=flag(1))
    assert found.best is not None
    assert found.evaluations == 1
    assert not found.proven
    assert found.bound <= prove(problem, PLENTY).bound
    assert front(problem, PLENTY, stop=flag(1)).points == ()


@pytest.mark.parametrize("number", [3, 14, 46, 79, 90])
def test_a_stop_at_any_report_leaves_a_bound_that_holds(number: int) -> None:
    problem = drawn_problem(number)
    reports: list[Progress] = []
    whole = prove(problem, PLENTY, watch=reports.append)
    assert whole.best is not None
    for last, report in enumerate(reports):
        stop, again = flag(), reports[: last + 1]
        found = prove(problem, PLENTY, stop=stop, watch=partial(stop_at_the_end, again, stop))
        assert again == []
        assert found.best is not None
        assert found.best.score == report.score
        assert report.bound <= found.bound <= whole.best.score + 1e-12
        assert found.proven == (found.bound == found.best.score)


def stop_at_the_end(expected: list[Progress], stop: np.ndarray, progress: Progress) -> None:
    assert progress == expected.pop(0)
    stop[0] = not expected


def test_reports_get_better_until_the_proof() -> None:
    problem = MappingProblem.of_layer(resnet_conv(), casco_edge())
    reports: list[Progress] = []
    found = prove(problem, PLENTY, watch=reports.append)
    assert found.best is not None
    for one, two in pairwise(reports):
        assert two.score < one.score or two.bound > one.bound
        assert two.score <= one.score
        assert two.bound >= one.bound
        assert two.evaluations >= one.evaluations
    last = reports[-1]
    assert (last.score, last.bound) == (found.best.score, found.best.score)
    assert (last.energy_pj, last.cycles) == (found.best.energy_pj, found.best.cycles)


def test_seconds_end_a_search_that_would_go_on() -> None:
    with deadline(0.5) as stop:
        found = prove(long_problem(), 10**15, stop=stop)
    assert not found.proven
    assert found.best is not None
    assert found.best.score < inf


def test_seconds_end_what_is_only_annealed() -> None:
    hardware = replace(preset("eyeriss"), effects=Effects(network="mesh"))
    meshed = MappingProblem.of_layer(resnet_conv(), hardware)
    with deadline(0.1) as stop:
        found = prove(meshed, 10**15, stop=stop)
    assert found.best is not None
    assert 0 < found.evaluations < 10**15


def test_another_thread_goes_on_meanwhile() -> None:
    stop = flag()
    searching = Thread(target=prove, args=(long_problem(), 10**15), kwargs={"stop": stop})
    searching.start()
    stop[0] = 1
    searching.join(60)
    assert not searching.is_alive()


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, 1), (-1.0, 1), (inf, 0), (60.0, 0)])
def test_a_deadline_is_set_when_its_time_is_over(seconds: float, expected: int) -> None:
    with deadline(seconds) as stop:
        assert stop[0] == expected


def test_a_front_counts_what_it_spent_before() -> None:
    problem = drawn_problem(3)
    reports: list[Progress] = []
    whole = front(problem, PLENTY, watch=reports.append)
    spent = [report.evaluations for report in reports]
    assert spent == sorted(spent)
    assert 0 < spent[-1] <= whole.evaluations
    assert {point.cycles for point in whole.points} <= {report.cycles for report in reports}
