"""ZigZag beside the model: its loops put into levels cover the layer and move its words."""

from math import ceil, prod

import pytest

from archloom.studies.analysis.published_chips.simulators.recorded_rows import recorded
from archloom.studies.analysis.published_chips.simulators.zigzag_costs import (
    BOTH,
    FILLED,
    IN_TURN,
    PORTS,
    READ,
    UPDATED,
    Compared,
    zigzag,
)
from archloom.studies.analysis.published_chips.simulators.zigzag_mapping import translated

ROWS = recorded("zigzag", "ZigZag", "zigzag-dse").rows
NAMES = [f"{row['name']}, {row['sum_bits']}" for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_the_mapping_covers_the_layer_and_takes_its_steps(row: dict) -> None:
    made = translated(row)
    images, filters, channels, rows, columns, r, s = row["loops"]
    least = (images, 1, filters, channels, rows, columns, r, s)
    assert all(f >= n for f, n in zip(made.mapping.factors, least, strict=True))
    loops = [p for m in row["found"]["operands"]["W"]["levels"] for p in m["temporal"]]
    assert prod(size for _, size in loops) == row["found"]["steps"]
    assert Compared.of_row(row).cost.operations == prod(row["loops"])


#: all but the classifier, whose columns are not whole in ZigZag
ON_TPU = [r for r in ROWS if r["hardware"] == "tpu_like" and r["loops"][1] % 32 == 0]


@pytest.mark.parametrize("row", ON_TPU, ids=lambda row: row["name"])
def test_words_of_the_tpu_are_equal_at_each_memory(row: dict) -> None:
    """In each direction, once repeated words and sums that are begun or leave are counted."""
    one = Compared.of_row(row)
    assert one.made.left_out == ()
    for i, memory, t in one.levels():
        words = {name: n for name, (n, _) in memory.entry["elements"].items()}
        read, filled, updated = one.counts[:, i, t]
        if memory.operand != "O":
            assert read / one.repeats(memory) == words["rd_out_to_low"]
            assert filled == words["wr_in_by_high"]
            continue
        begun = updated - read
        assert updated == words["wr_in_by_low"]
        assert filled + begun == words["rd_out_to_high"]
        assert filled + (begun if filled else 0) == words["wr_in_by_high"]


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_unit_prices_count_what_the_cost_counts(row: dict) -> None:
    one = Compared.of_row(row)
    if row["sum_bits"] == 8:
        # instances of which some work less make whole accesses each
        assert one.counts.sum(axis=0) == pytest.approx(one.cost.words, rel=2e-3)
    assert (one.counts[[READ, FILLED, UPDATED]] >= 0).all()


def test_energies_agree_with_both_conventions() -> None:
    energies = [f for f in zigzag().figures if "energy" in f.name]
    assert len(energies) == len(ROWS)
    for figure in energies:
        near = 0.06 if "eyeriss" in figure.name else 0.01
        assert figure.switched[BOTH] / figure.theirs == pytest.approx(1, abs=near)


def test_cycles_lie_between_ports_for_all_and_no_overlap() -> None:
    for figure in zigzag().figures:
        if figure.name.endswith("cycles"):
            assert figure.theirs <= figure.switched[IN_TURN]
            if not figure.name.startswith("fc"):
                assert figure.switched[PORTS] <= figure.theirs


def test_a_stride_over_single_pixels_reads_a_box_in_the_model() -> None:
    (row,) = (r for r in ROWS if r["name"] == "conv4_down on tpu_like")
    plain, box = Compared.of_row(row), Compared.of_row(row, box=True)
    side = 13 * row["stride"] + 1
    assert plain.cost.words[-1, 1] == 128 * 14 * 14
    assert box.cost.words[-1, 1] == 128 * side**2
    assert ceil(box.cost.dram_cycles) > plain.cost.dram_cycles
