import csv
from math import exp2, log2
from statistics import median

import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.technology.registry import technology
from archloom.evaluators.technology.sram import BufferCost, SramTable, load_sram_table

from ...source_tree import ROOT

CSV = ROOT / "evaluators" / "technology" / "tables" / "sram_cacti7.csv"
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


def test_left_out_runs_are_guessed_within_the_documented_error():
    """docs/explanation/technology.md: median, 90% and worst, in percent."""
    documented = {
        "size": {
            "read_pj": (3.1, 6.1, 14.5),
            "write_pj": (5.8, 23.7, 31.0),
            "leakage_mw": (1.6, 7.6, 12.7),
            "area_mm2": (5.1, 15.8, 23.1),
        },
        "width": {
            "read_pj": (5.7, 14.2, 23.0),
            "write_pj": (9.2, 23.7, 38.5),
            "leakage_mw": (5.4, 12.4, 18.2),
            "area_mm2": (7.5, 27.2, 42.1),
        },
    }
    for axis, table in documented.items():
        for name, error in TABLE.fit_errors(axis).items():
            assert [100 * share for share in error] == pytest.approx(table[name], abs=0.06)


def test_fit_errors_are_those_of_leaving_runs_out_by_hand():
    """Sizes double from line to line: a guess is the geometric mean of its neighbours."""
    known = {(size, width): cost for size, width, cost in runs()}
    for i, name in enumerate(("read_pj", "write_pj", "leakage_mw", "area_mm2")):
        found = []
        for (size, width), cost in known.items():
            around = [known.get((other, width)) for other in (size // 2, size * 2)]
            if all(around):
                guess = (around[0][i] * around[1][i]) ** 0.5
                found.append(abs(guess / cost[i] - 1))
        assert len(found) == 67
        error = TABLE.fit_errors("size")[name]
        assert error.median == pytest.approx(median(found))
        assert error.worst == pytest.approx(max(found))
        assert sum(off <= error.most * (1 + 1e-9) for off in found) == 61


def test_a_table_of_powers_is_guessed_exactly():
    grid = tuple(tuple((i + j, 2.0 * i, i, j) for j in (0, 1, 3)) for i in (0.0, 1.0, 3.0))
    table = SramTable((1, 2, 8), (1, 2, 8), grid)
    for axis in ("size", "width"):
        for error in table.fit_errors(axis).values():
            assert error == pytest.approx((0, 0, 0), abs=1e-12)


def test_axes_that_are_not_there_and_tables_without_a_middle_are_refused():
    with pytest.raises(ValueError, match="axis must be one of size, width, got 'depth'"):
        TABLE.fit_errors("depth")
    small = SramTable((1, 2), (1, 2), (((0.0,) * 4,) * 2,) * 2)
    with pytest.raises(ValueError, match="no size with neighbours"):
        small.fit_errors("size")


@given(SIZES, WIDTHS, st.tuples(*[st.floats(min_value=0.01, max_value=100)] * 4))
def test_a_scaled_table_costs_the_factors_times_as_much(size, width, factors):
    scaled, cost = TABLE.scaled(*factors).cost(size, width), TABLE.cost(size, width)
    assert scaled == pytest.approx([f * value for f, value in zip(factors, cost, strict=True)])


def test_a_table_scaled_by_one_is_the_same():
    assert TABLE.scaled(1, 1, 1, 1) is TABLE


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
        (["512,4,1,1,1,nan"], "line 2.*must be positive"),
        (["0,4,1,1,1,1"], "line 2.*must be positive"),
        (["512,4,1,1,1,many"], "line 2.*must be numbers"),
        (["512,4,1,1"], "line 2.*must be numbers"),
        (["512,4,2,1,1,1", "1024,4,1,1,1,1", "512,8,2,1,1,1", "1024,8,3,1,1,1"], "read_pj falls"),
        (["512,4,1,1,1,1"], "at least two"),
        (
            ["512,4,1,1,1,1", "512,16,1,1,1,1", "1024,8,2,2,2,2"],
            "no entry for 512 bytes at width 8",
        ),
    ],
)
def test_faulty_tables_are_refused(tmp_path, rows, message):
    path = tmp_path / "runs.csv"
    path.write_text(HEADER + "".join(f"45,x,{row}\n" for row in rows))
    with pytest.raises(ValueError, match=message):
        load_sram_table(path, 45, "x")


def test_columns_that_lack_are_named(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("node_nm,cell,size_bytes\n45,x,512\n")
    with pytest.raises(ValueError, match="must have the columns width_bytes, read_pj"):
        load_sram_table(path, 45, "x")


def test_a_ragged_grid_is_refused():
    with pytest.raises(ValueError, match="needs 2 each"):
        SramTable((1, 2), (1, 2), (((0.0,) * 4,) * 2, ((0.0,) * 4,)))


def test_the_technology_uses_this_table():
    assert technology("cacti_45nm").sram == TABLE
