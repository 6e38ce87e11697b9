"""Paths of least product, against all paths of small graphs."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.search.fusion.joint.shortest_path import LeastProductPaths

Steps = list[tuple[int, int, float, float]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Steps]:
    """Nodes, and steps (start, end, energy, latency); several may join the same nodes."""
    nodes = draw(st.integers(2, 6))
    cost = st.integers(1, 40).map(float)
    starts = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    edges = draw(st.lists(st.tuples(st.sampled_from(starts), cost, cost), max_size=18))
    return nodes, [(a, b, energy, latency) for (a, b), energy, latency in edges]


def every_path(nodes: int, edges: Steps, node: int = 0) -> Iterator[tuple[float, float]]:
    if node == nodes - 1:
        yield 0.0, 0.0
    for start, end, energy, latency in edges:
        if start == node:
            for more_energy, more_latency in every_path(nodes, edges, end):
                yield energy + more_energy, latency + more_latency


def paths_of(nodes: int, edges: Steps) -> tuple[LeastProductPaths, np.ndarray, np.ndarray]:
    starts, ends, energy, latency = (
        np.array([edge[i] for edge in edges], kind)
        for i, kind in enumerate((np.int64, np.int64, np.float64, np.float64))
    )
    return LeastProductPaths(nodes, starts, ends), energy, latency


@settings(max_examples=400, deadline=None)
@given(graphs())
def test_no_path_has_a_smaller_product(graph: tuple[int, Steps]) -> None:
    nodes, edges = graph
    products = [energy * latency for energy, latency in every_path(nodes, edges)]
    paths, energy, latency = paths_of(nodes, edges)
    found = paths.least_product(energy, latency)
    assert (found is None) == (not products)
    if found is not None:
        assert found.product == pytest.approx(min(products), rel=1e-12)
        walked = [edges[i] for i in found.edges]
        assert walked[0][0] == 0
        assert walked[-1][1] == nodes - 1
        assert all(a[1] == b[0] for a, b in pairwise(walked))
        assert found.energy == sum(edge[2] for edge in walked)
        assert found.latency == sum(edge[3] for edge in walked)


def test_the_best_path_may_be_neither_the_thriftiest_nor_the_fastest() -> None:
    edges = [(0, 1, 1.0, 100.0), (0, 1, 6.0, 6.0), (0, 1, 100.0, 1.0)]
    paths, energy, latency = paths_of(2, edges)
    found = paths.least_product(energy, latency)
    assert found is not None
    assert found.edges == (1,)


def test_steps_that_cannot_be_taken_are_infinite() -> None:
    edges = [(0, 1, np.inf, np.inf), (0, 2, 5.0, 5.0), (1, 2, 1.0, 1.0)]
    paths, energy, latency = paths_of(3, edges)
    found = paths.least_product(energy, latency)
    assert found is not None
    assert found.edges == (1,)
    assert paths.least_product(energy + np.inf, latency) is None
