"""SCALE-Sim beside the model: recorded cycles follow its paper's formula, and so do the model's."""

from math import ceil, inf

import pytest
from hypothesis import given, settings, strategies as st

from archloom.studies.analysis.published_chips.simulators.recorded_rows import recorded
from archloom.studies.analysis.published_chips.simulators.scale_sim_arrays import (
    FULL,
    IN_PLACE,
    WORDS,
    Product,
    Run,
    scale_sim,
)

ROWS = recorded("scale_sim", "SCALE-Sim", "scalesim").rows


@pytest.mark.parametrize("row", [row for row in ROWS if row["dram_words"] is None], ids=str)
def test_recorded_cycles_are_those_of_the_formula(row: dict) -> None:
    """2 r + c + T - 2 for each fold (Samajdar et al., ISPASS 2020); of ``os`` r less in 3.0.0."""
    run = Run.of_row(row)
    product = run.product
    m, k, n = product.rows, product.inner, product.columns
    down, across, steps = {"ws": (k, n, m), "os": (m, n, k), "is": (k, m, n)}[run.dataflow]
    folds = ceil(down / run.rows) * ceil(across / run.columns)
    shifts = 1 if run.dataflow == "os" else 2
    each = shifts * run.rows + run.columns + steps - 2
    assert row["found"]["cycles"] + 1 == folds * each
    assert run.folds == folds


def test_switches_leave_nothing_of_the_cycles() -> None:
    cycles = [f for f in scale_sim().figures if f.name.endswith("cycles")]
    assert len(cycles) == 72
    for figure in cycles:
        assert figure.switched[IN_PLACE] == figure.theirs
        if ", os," not in figure.name:
            assert figure.switched[FULL] == figure.theirs


def test_its_words_of_dram_explain_results_and_stalls() -> None:
    figures = scale_sim().figures
    written = [f for f in figures if "results written" in f.name]
    assert len(written) == 9
    assert all(f.switched[WORDS] == pytest.approx(f.theirs, rel=1e-3) for f in written)
    stalled = [f for f in figures if "words/cycle" in f.name]
    assert len(stalled) == 6
    assert all(0.88 < f.switched[WORDS] / f.theirs <= 1 for f in stalled)
    assert all(f.ratio < 0.5 for f in stalled)


def test_a_convolution_is_the_product_of_its_windows() -> None:
    assert Product.of_layer([229, 229, 7, 7, 3, 64, 2, 2]) == Product(112 * 112, 147, 64)
    assert Product.of_layer([1, 512, 1, 512, 1, 1000, 1, 1]) == Product(1, 512, 1000)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 70),
    st.integers(1, 70),
    st.integers(1, 70),
    st.sampled_from(["ws", "os", "is"]),
    st.sampled_from([(4, 4), (8, 3), (3, 16)]),
)
def test_cycles_of_full_arrays_follow_the_formula(
    rows: int, inner: int, columns: int, dataflow: str, array: tuple[int, int]
) -> None:
    run = Run(Product(rows, inner, columns), dataflow, *array, inf)
    steps = {"ws": rows, "os": inner, "is": columns}[dataflow]
    r, c = array
    assert run.whole().cost().latency_cycles == run.folds * (2 * r + c + steps - 2)
    assert run.cost().latency_cycles <= run.whole().cost().latency_cycles
