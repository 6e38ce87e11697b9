"""Layered layouts: nothing overlaps, nothing is outside, every edge is drawn from end to end."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given, strategies as st

from archloom.studies.rendering.pictures.layered_layout import Layout, Spacing, layered

SPACING = Spacing(drop=20.0, gap=10.0, rows=4)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]], list[tuple[float, float]]]:
    """Ranks, edges and sizes of a graph in which every node but the first reads an earlier one."""
    count = draw(st.integers(1, 25))
    ranks, edges = [0], []
    for node in range(1, count):
        sources = draw(st.sets(st.integers(0, node - 1), min_size=1, max_size=3))
        ranks.append(1 + max(ranks[s] for s in sources))
        edges += [(source, node) for source in sorted(sources)]
    side = st.floats(5, 150)
    return ranks, edges, [(draw(side), draw(st.sampled_from((10.0, 30.0)))) for _ in ranks]


def chain(count: int) -> tuple[list[int], list[tuple[int, int]], list[tuple[float, float]]]:
    return list(range(count)), list(pairwise(range(count))), [(50.0, 20.0)] * count


@given(graphs())
def test_nothing_overlaps_or_sticks_out(
    graph: tuple[list[int], list[tuple[int, int]], list[tuple[float, float]]],
) -> None:
    ranks, edges, sizes = graph
    layout = layered(ranks, edges, sizes, SPACING)
    boxes = [(x, y, w, h) for (x, y), (w, h) in zip(layout.places, sizes, strict=True)]
    for (x, y, w, h), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert abs(x - x2) >= (w + w2) / 2 + 9.99 or abs(y - y2) >= (h + h2) / 2 + 19.99
    for x, y, w, h in boxes:
        assert w / 2 - 1e-6 <= x <= layout.width - w / 2 + 1e-6
        assert h / 2 - 1e-6 <= y <= layout.height - h / 2 + 1e-6
    for x, y in (point for line in layout.lines for point in line):
        assert -1e-6 <= x <= layout.width + 1e-6
        assert -1e-6 <= y <= layout.height + 1e-6


@given(graphs(), st.sampled_from((4, 100)))
def test_every_edge_is_drawn_from_source_to_reader(
    graph: tuple[list[int], list[tuple[int, int]], list[tuple[float, float]]], rows: int
) -> None:
    ranks, edges, sizes = graph
    layout = layered(ranks, edges, sizes, replace(SPACING, rows=rows))
    # only from one column to the next there can be too many lines
    assert set(layout.routes) <= set(edges)
    assert rows == 4 or set(layout.routes) == set(edges)
    assert {line for route in layout.routes.values() for line in route} == set(
        range(len(layout.lines))
    )
    for (source, reader), route in layout.routes.items():
        lines = [layout.lines[i] for i in route]
        (x, y), (x2, y2) = layout.places[source], layout.places[reader]
        assert lines[0][0] == pytest.approx((x, y + sizes[source][1] / 2))
        assert lines[-1][-1] == pytest.approx((x2, y2 - sizes[reader][1] / 2))
        for line, follower in pairwise(lines):
            assert line[-1] == pytest.approx(follower[0])


def test_of_many_lines_into_a_column_those_that_go_farthest_are_left_out() -> None:
    # twelve nodes beside a chain; each is read later by one node of the chain, the first last
    ranks, edges, _ = chain(16)
    ranks += [1] * 12
    far = [(16 + i, 15 - i) for i in range(12)]
    layout = layered(ranks, [*edges, *far], [(20.0, 10.0)] * 28, Spacing(20.0, 10.0, 8))
    missing = set(far) - set(layout.routes)
    assert set(edges) <= set(layout.routes)
    assert 0 < len(missing) < 8
    assert max(reader for _, reader in missing) == 15
    kept = [reader for _, reader in set(far) & set(layout.routes)]
    assert max(kept) < min(reader for _, reader in missing)


@given(graphs())
def test_edges_share_lines_only_if_they_share_their_source(
    graph: tuple[list[int], list[tuple[int, int]], list[tuple[float, float]]],
) -> None:
    layout = layered(*graph, SPACING)
    sources: dict[int, set[int]] = {}
    for (source, _), route in layout.routes.items():
        for line in route:
            sources.setdefault(line, set()).add(source)
    assert all(len(found) == 1 for found in sources.values())


@given(graphs())
def test_the_same_graph_gives_the_same_layout(
    graph: tuple[list[int], list[tuple[int, int]], list[tuple[float, float]]],
) -> None:
    assert layered(*graph, SPACING) == layered(*graph, SPACING)


def columns(layout: Layout) -> list[int]:
    """How many nodes of a chain stand below each other, column by column."""
    counts = [1]
    for (_, y), (_, below) in pairwise(layout.places):
        if below > y:
            counts[-1] += 1
        else:
            counts.append(1)
    return counts


@pytest.mark.parametrize("count", [1, 4, 5, 9, 30])
def test_long_chains_are_folded_into_even_columns(count: int) -> None:
    found = columns(layered(*chain(count), SPACING))
    assert sum(found) == count
    assert max(found) <= SPACING.rows
    assert len(found) == -(-count // SPACING.rows)
    assert max(found) - min(found) <= 1


def test_folds_are_where_few_lines_are_cut() -> None:
    ranks, edges, sizes = chain(7)
    # a second line from 1 to 4: to cut before 3 or 4, the even place, would cut two
    layout = layered(ranks, [*edges, (1, 4)], sizes, Spacing(20.0, 10.0, 5))
    assert columns(layout) == [5, 2]
    # and without it the halves are even
    assert columns(layered(ranks, edges, sizes, Spacing(20.0, 10.0, 5))) == [4, 3]


def test_lines_do_not_cross_if_another_order_avoids_it() -> None:
    layout = layered(
        [0, 0, 0, 1, 1, 1],
        [(0, 5), (1, 4), (2, 3)],
        [(30.0, 20.0)] * 6,
        SPACING,
    )
    x = [place[0] for place in layout.places]
    assert sorted(range(3), key=lambda i: x[i]) == sorted(range(3), key=lambda i: x[5 - i])


def test_a_chain_stands_straight_beside_a_line_around_it() -> None:
    # a residual block: 0 -> 1 -> 2 -> 3 and 0 -> 3
    layout = layered(
        [0, 1, 2, 3], [(0, 1), (1, 2), (2, 3), (0, 3)], [(50.0, 20.0), (90.0, 20.0)] * 2, SPACING
    )
    assert max(x for x, _ in layout.places) - min(x for x, _ in layout.places) < 1
    around = [layout.lines[i] for i in layout.routes[0, 3]]
    sides = {round(x, 3) for x, _ in around[1]}
    assert len(around) == 3
    assert len(sides) == 1  # straight down
    assert abs(sides.pop() - layout.places[1][0]) >= 45 + SPACING.gap


def test_an_empty_graph_has_no_size() -> None:
    assert layered([], [], [], SPACING) == Layout((), (), {}, 0.0, 0.0)
