"""Paths of least product, against all paths of small graphs."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.arrays import Floats
from archloom.search.fusion.joint.shortest_path import LeastProductPaths, Path

Steps = list[tuple[int, int, float, float]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Steps]:
    """Nodes, and steps (start, end, energy, latency); several may join the same nodes."""
    nodes = draw(st.integers(2, 6))
    cost = st.integers(1, 40).map(float)
    starts = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    edges = draw(st.lists(st.tuples(st.sampled_from(starts), cost, cost), max_size=18))
    return nodes, sorted((a, b, energy, latency) for (a, b), energy, latency in edges)


def every_path(nodes: int, edges: Steps, node: int = 0) -> Iterator[tuple[float, float]]:
    if node == nodes - 1:
        yield 0.0, 0.0
    for start, end, energy, latency in edges:
        if start == node:
            for more_energy, more_latency in every_path(nodes, edges, end):
                yield energy + more_energy, latency + more_latency


def paths_of(nodes: int, edges: Steps) -> tuple[LeastProductPaths, Floats]:
    """Return paths with an edge of its own kind for each step, and its figures."""
    starts, ends, figures = (
        np.array([edge[i] for edge in edges], kind)
        for i, kind in ((0, np.int64), (1, np.int64), (slice(2, None), np.float64))
    )
    kinds, burdens = np.arange(len(edges)), np.zeros(len(edges))
    return LeastProductPaths(nodes, starts, ends, kinds, burdens), figures.reshape(-1, 2)


def check(nodes: int, edges: Steps, found: Path | None) -> None:
    products = [energy * latency for energy, latency in every_path(nodes, edges)]
    assert (found is None) == (min(products, default=np.inf) == np.inf)
    if found is not None:
        assert found.product == pytest.approx(min(products), rel=1e-12)
        walked = [edges[i] for i in found.edges]
        assert walked[0][0] == 0
        assert walked[-1][1] == nodes - 1
        assert all(a[1] == b[0] for a, b in pairwise(walked))
        assert found.energy == sum(edge[2] for edge in walked)
        assert found.latency == sum(edge[3] for edge in walked)


@settings(max_examples=400, deadline=None)
@given(graphs())
def test_no_path_has_a_smaller_product(graph: tuple[int, Steps]) -> None:
    nodes, edges = graph
    paths, figures = paths_of(nodes, edges)
    check(nodes, edges, paths.least_product(figures))


@settings(max_examples=200, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_none_has_when_figures_grow_either(graph: tuple[int, Steps], rng: Random) -> None:
    """Edges that were left out come back once the best path has grown as dear."""
    nodes, edges = graph
    paths, _ = paths_of(nodes, edges)
    for _ in range(12):
        figures = np.array([edge[2:] for edge in edges]).reshape(-1, 2)
        found = paths.least_product(figures)
        check(nodes, edges, found)
        dearer = rng.choice((found.edges if found else None) or range(len(edges) or 1))
        if edges:
            start, end, energy, latency = edges[dearer]
            grown = rng.choice([(1.0, 0.0), (0.0, 1.0), (9.0, 9.0), (np.inf, np.inf)])
            edges[dearer] = (start, end, energy + grown[0], latency + grown[1])


def test_the_best_path_may_be_neither_the_thriftiest_nor_the_fastest() -> None:
    paths, figures = paths_of(2, [(0, 1, 1.0, 100.0), (0, 1, 6.0, 6.0), (0, 1, 100.0, 1.0)])
    found = paths.least_product(figures)
    assert found is not None
    assert found.edges == (1,)


def test_steps_that_cannot_be_taken_are_infinite() -> None:
    edges = [(0, 1, np.inf, np.inf), (0, 2, 5.0, 5.0), (1, 2, 1.0, 1.0)]
    paths, figures = paths_of(3, edges)
    found = paths.least_product(figures)
    assert found is not None
    assert found.edges == (1,)
    assert paths.least_product(figures + np.inf) is None


def test_edges_have_the_rows_of_their_kind() -> None:
    starts, ends, kinds = np.array([0, 1]), np.array([1, 2]), np.array([0, 0])
    paths = LeastProductPaths(3, starts, ends, kinds, np.zeros(2))
    figures = np.array([[1.0, 1.0], [4.0, 4.0], [2.0, 2.0], [1.0, 1.0]])
    paths.replace(0, [1])
    found = paths.least_product(figures)
    assert found is not None
    assert (found.rows, found.product) == ((1, 1), 64.0)
    paths.insert(1, [2, 3])
    found = paths.least_product(figures)
    assert found is not None
    assert (found.rows, found.product) == ((3, 3), 4.0)
    paths.replace(0, [])
    assert paths.least_product(figures) is None


def test_of_equal_paths_that_of_the_least_burden_is_taken() -> None:
    starts, ends = np.array([0, 0, 1]), np.array([1, 2, 2])
    paths = LeastProductPaths(3, starts, ends, np.array([0, 1, 0]), np.array([1.0, 1.0, 1.0]))
    found = paths.least_product(np.array([[1.0, 1.0], [2.0, 2.0]]), 1e-9)
    assert found is not None
    assert found.edges == (1,)


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_what_is_near_holds_all_paths_that_are_hardly_worse(graph: tuple[int, Steps]) -> None:
    nodes, edges = graph
    paths, figures = paths_of(nodes, edges)
    found = paths.least_product(figures)
    if found is not None:
        near = paths.near(found, 0.004)
        assert near == sorted(set(near))
        assert set(found.edges) <= set(near)
        for n, (start, end, energy, latency) in enumerate(edges):
            before = [edge for edge in edges if edge[1] <= start]
            after = [(a - end, b - end, *cost) for a, b, *cost in edges if a >= end]
            through = [
                (e + energy + f) * (t + latency + u)
                for e, t in every_path(start + 1, before)
                for f, u in every_path(nodes - end, after)
            ]
            assert n in near or min(through, default=np.inf) > found.product * 1.004
