"""Masks of attention: pairs that they leave, layers that they fit, and their form in files."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import linear, matmul
from archloom.space.workload.network import Network
from archloom.space.workload.network_json import from_text, to_text
from archloom.space.workload.slice import Mask
from archloom.space.workload.vector_layer_builders import softmax


def sees(query: int, key: int, before: int, window: int) -> bool:
    """Whether a query sees a key, of which ``before`` come before the first query's own."""
    own = query + before
    return key <= own and (not window or key > own - window)


@given(
    queries=st.integers(1, 12),
    before=st.integers(0, 9),
    rows=st.integers(1, 3),
    more=st.integers(0, 9),
)
def test_pairs_are_those_that_are_seen_one_by_one(
    queries: int, before: int, rows: int, more: int
) -> None:
    keys, window = queries + before, more and before + more
    found = sum(sees(i, j, before, window) for i in range(queries) for j in range(keys))
    mask = Mask("k", rows, window)
    assert mask.pairs(queries, keys) == found
    scores = replace(matmul("scores", 2, queries * rows, 5, keys), mask=mask, n=3)
    assert scores.pairs == (found * rows, queries * rows * keys)
    assert scores.seen_macs == 3 * 2 * 5 * found * rows
    shares = replace(softmax("shares", keys, queries * rows, 2), mask=mask)
    assert shares.seen_ops == 2 * found * rows * shares.vector_ops_per_word
    context = replace(matmul("context", 2, queries * rows, keys, 4), mask=replace(mask, keys="c"))
    assert context.seen_macs == 2 * 4 * found * rows


def test_layers_without_a_mask_are_seen_whole() -> None:
    layer = matmul("scores", 2, 4, 5, 6)
    assert (layer.pairs, layer.seen_macs, layer.seen_ops) == ((1, 1), layer.macs, 0)
    assert softmax("shares", 6, 4).seen_ops == softmax("shares", 6, 4).vector_ops


@pytest.mark.parametrize(
    ("layer", "mask", "message"),
    [
        (linear("x", 4, 4, 4), Mask("k"), "for products of two maps"),
        (softmax("x", 4, 4), Mask("c"), "for products of two maps"),
        (matmul("x", 1, 5, 4, 8), Mask("k", 2), "5 x 1 rows must be 2 for each query"),
        (matmul("x", 1, 9, 4, 8), Mask("k"), "9 queries see 8 keys"),
        (matmul("x", 1, 4, 2, 8), Mask("k", 1, 4), "no query sees the first key; least: 5"),
    ],
)
def test_masks_that_do_not_fit_are_refused(layer: Layer, mask: Mask, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(layer, mask=mask)


@pytest.mark.parametrize(
    ("values", "message"),
    [(("q",), "must be 'k' or 'c'"), (("k", 0), "rows of a mask"), (("k", 1, -1), "window of a")],
)
def test_masks_that_are_none_are_refused(values: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Mask(*values)  # type: ignore[arg-type]


def test_files_keep_masks() -> None:
    layer = replace(matmul("scores", 2, 8, 5, 6), mask=Mask("k", 2, 4))
    net = Network("masked", (layer,), (("input:q", "input:k"),))
    assert from_text(to_text(net)) == net
    assert '"mask": {"keys": "k", "rows": 2, "window": 4}' in to_text(net)
    bad = to_text(net).replace('"rows": 2', '"rows": 3')
    with pytest.raises(ValueError, match="8 x 1 rows must be 3 for each query"):
        from_text(bad)
