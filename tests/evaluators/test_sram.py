import csv
from math import exp2, log2
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archloom.evaluators.sram import BufferCost, SramTable, load_sram_table
from archloom.evaluators.technology import technology

from ..source_tree import ROOT

CSV = ROOT / "evaluators" / "technologies" / "sram_cacti7.csv"
TABLE = load_sram_table(CSV, 45, "itrs-lop")
SIZES = st.floats(min_value=1, max_value=2.0**29)
WIDTHS = st.floats(min_value=0.125, max_value=2048)
GROWTH = st.floats(min_value=1, max_value=64)
HEADER = "node_nm,cell,size_bytes,width_bytes,read_pj,write_pj,leakage_mw,area_mm2\n"


def runs():
    with CSV.open(newline="") as lines:
        rows = [r for r in csv.DictReader(lines) if (r["node_nm"], r["cell"]) == ("45", "itrs-lop")]
    return [
        (
            int(r["size_bytes"]),
            int(r["width_bytes"]),
            BufferCost(*(float(r[c]) for c in ("read_pj", "write_pj", "leakage_mw", "area_mm2"))),
        )
        for r in rows
    ]


def test_it_gives_back_every_run_of_cacti():
    assert len(runs()) == 77
    for size, width, cost in runs():
        assert TABLE.cost(size, width) == pytest.approx(cost, rel=1e-12)


@given(SIZES, GROWTH, WIDTHS)
def test_a_larger_sram_is_never_cheaper(size, growth, width):
    small, large = TABLE.cost(size, width), TABLE.cost(size * growth, width)
    assert all(b >= a * (1 - 1e-9) for a, b in zip(small, large, strict=True))


@given(SIZES, WIDTHS, GROWTH)
def test_a_wider_access_never_takes_less_energy(size, width, growth):
    narrow, wide = TABLE.cost(size, width), TABLE.cost(size, width * growth)
    if width * growth <= 64:
        assert wide.read_pj >= narrow.read_pj * (1 - 1e-9)
        assert wide.write_pj >= narrow.write_pj * (1 - 1e-9)
    else:
        # banks side by side: each is smaller, so the whole may cost less than one wide macro
        banks = width * growth / 64
        assert wide == pytest.approx(TABLE.cost(size / banks, 64).times(banks), rel=1e-9)


@given(st.floats(min_value=512, max_value=2.0**24), st.floats(min_value=4, max_value=64))
def test_between_runs_it_stays_between_them(size, width):
    cost = TABLE.cost(size, width)
    corners = [
        TABLE.cost(s, w)
        for s in (exp2(int(log2(size))), exp2(int(log2(size)) + 1))
        for w in (exp2(int(log2(width))), min(64, exp2(int(log2(width)) + 1)))
    ]
    if size < 2**24:
        for value, around in zip(cost, zip(*corners, strict=True), strict=True):
            assert min(around) * (1 - 1e-9) <= value <= max(around) * (1 + 1e-9)


def test_a_tiny_or_narrow_sram_costs_the_smallest_macro():
    assert TABLE.cost(24, 1) == TABLE.cost(512, 4)


def test_a_large_sram_is_banks_of_which_one_is_accessed():
    one, four = TABLE.cost(2**24, 32), TABLE.cost(2**26, 32)
    assert four == pytest.approx((one.read_pj, one.write_pj, 4 * one.leakage_mw, 4 * one.area_mm2))


def test_a_very_wide_access_goes_to_banks_side_by_side():
    assert TABLE.cost(2**22, 256) == pytest.approx(TABLE.cost(2**20, 64).times(4))


def test_an_access_that_cacti_cannot_lay_out_costs_the_widest_in_proportion():
    laid_out, wide = TABLE.cost(512, 16), TABLE.cost(512, 64)
    assert wide.read_pj == pytest.approx(4 * laid_out.read_pj)
    assert wide.area_mm2 == pytest.approx(4 * laid_out.area_mm2)
    assert wide.leakage_mw == pytest.approx(laid_out.leakage_mw)


def test_left_out_sizes_are_guessed_within_the_documented_error():
    """Drop each inner size in turn and predict it from its neighbours (docs/technology.md)."""
    bounds = {"read_pj": (0.04, 0.15), "write_pj": (0.06, 0.32)}
    bounds |= {"leakage_mw": (0.02, 0.13), "area_mm2": (0.06, 0.24)}
    errors = {name: [] for name in bounds}
    known = {(size, width): cost for size, width, cost in runs()}
    for (size, width), cost in known.items():
        if (size // 2, width) in known and (size * 2, width) in known:
            below, above = known[size // 2, width], known[size * 2, width]
            for name, found in errors.items():
                guess = (getattr(below, name) * getattr(above, name)) ** 0.5
                found.append(abs(guess / getattr(cost, name) - 1))
    for name, (middle, worst) in bounds.items():
        assert len(errors[name]) == 67
        assert median(errors[name]) < middle
        assert max(errors[name]) < worst


@pytest.mark.parametrize(("size", "width"), [(0, 4), (-1, 4), (512, 0), (float("nan"), 4)])
def test_sizes_and_widths_must_be_positive(size, width):
    with pytest.raises(ValueError, match="must be positive"):
        TABLE.cost(size, width)


def test_rows_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"no rows for 28 nm.*45 itrs-lop"):
        load_sram_table(CSV, 28, "itrs-lop")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["512,4,1,1,1,0"], "line 2.*must be positive"),
        (["512,4,2,1,1,1", "1024,4,1,1,1,1", "512,8,2,1,1,1", "1024,8,3,1,1,1"], "read_pj falls"),
        (["512,4,1,1,1,1"], "at least two"),
        (["512,4,1,1,1,1", "512,16,1,1,1,1", "1024,8,2,2,2,2"], "lacks 512 bytes at width 8"),
    ],
)
def test_faulty_tables_are_refused(tmp_path, rows, message):
    path = tmp_path / "runs.csv"
    path.write_text(HEADER + "".join(f"45,x,{row}\n" for row in rows))
    with pytest.raises(ValueError, match=message):
        load_sram_table(path, 45, "x")


def test_a_ragged_grid_is_refused():
    with pytest.raises(ValueError, match="needs 2 each"):
        SramTable((1, 2), (1, 2), (((0.0,) * 4,) * 2, ((0.0,) * 4,)))


def test_the_technology_uses_this_table():
    assert technology("cacti_45nm").sram == TABLE
