"""What lowering makes no values of means what it means in Python."""

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from archloom.evaluators.arrays import Floats, Ints
from archloom.evaluators.jit import helper, lean, lowering
from archloom.evaluators.jit.references import passed
from archloom.evaluators.jit.short_forms import ShortForms

CELL = np.dtype([("pair", np.int64, (2, 3)), ("one", np.float64)])


class Board(NamedTuple):
    """More than eight words, so that it is passed by reference."""

    table: Ints
    cells: np.ndarray  # of CELL
    cube: Ints
    line: Floats


@helper
def loops(board: Board, first: int, last: int, by: int) -> int:
    """Go through ranges of each kind: empty, left early, gone through again."""
    found, i = 0, 7
    for _ in range(3):
        for i in range(first, last):
            if i == 3:
                continue
            found = 3 * found + board.table[i, -1]
        for i in range(last - 1, first - 1, -1):
            found = 5 * found + board.table[i, 0]
            if found > 10**12:
                found %= 1009
                break
        else:
            found += 1
        for j in range(first, last, by):
            found = 7 * found + j
        found %= 100_003
    return 10 * found + i


@helper
def items(board: Board, row: int, column: int) -> float:
    """Read and write by constants, by tuples, by what changes meanwhile, and from the end."""
    table, where = board.table, (row, column)
    table[0, 1] = table[row, column] + board.table[-1, -2]
    for row in range(2):
        for column in range(2, -1, -1):
            table[row, column] += row + board.table[where[0], column]
    cell = board.cells[1]
    cell.pair[row, column] += 4
    found = cell.pair[1, 2] + 10 * cell.pair[row - 1, 0] + cell.one
    board.line[0] = found
    return found + 100 * board.line[0] + 1000 * table[row, 1]


@helper
def rows(board: Board, row: int, column: int) -> float:
    """Read and write rows, and rows of rows, by constants, tuples and from the end."""
    cube, whole = board.cube, board.table[-1]
    whole[0] += 1
    found = whole.sum() + len(cube[0]) + 10 * cube[0].size
    for i in range(cube.shape[0]):
        face, edge = cube[i], cube[i, row]
        edge[column] = face[0, 0] + 1
        cube[(i + 2) % 3, -1][0] += edge[1]
        found += face[1].sum() * edge[0] * (i + 1)
    return found + cube[-1][row].strides[0] + board.table[row][column]


@helper
def choices(board: Board, some: int, other: float) -> float:
    """Choose among numbers of several types; of a number that is none, as Python does."""
    none = board.line[2] / board.line[3]
    found = max(some, 3, board.table[0, 0]) + 10 * min(some, other)
    found += 100 * max(other, none, 2.5) if max(other, none, 2.5) == 2.5 else 7
    return found + (1000 if min(none, other) == other else 2000)


@lean
def all_of_it(board: Board, first: int, last: int, by: int, other: float) -> float:
    """Call the parts."""
    before = loops(board, first, last, by)
    before += rows(board, first % 2, 2)
    return before + items(board, first, last % 3) / 3 + choices(board, by, other)


def a_board() -> Board:
    cells = np.zeros(3, CELL)
    cells["pair"] = np.arange(18).reshape(3, 2, 3)
    cells["one"] = [0.5, 0.25, 0.125]
    table = np.arange(2, 20, dtype=np.int64).reshape(6, 3)
    cube = np.arange(18, dtype=np.int64).reshape(3, 2, 3)
    return Board(table, cells, cube, np.array([1.0, 2.0, 0.0, 0.0]))


@pytest.mark.parametrize("given", [(0, 3, 1), (1, 2, 2), (2, 2, 1), (2, 0, -1), (0, 1, 3)])
@pytest.mark.parametrize("other", [-1.0, 2.75])
def test_kernels_do_what_python_does(given: tuple[int, int, int], other: float) -> None:
    compiled, plain = a_board(), a_board()
    # what kernels know by name, Python does of this
    plain = plain._replace(cells=plain.cells.view(np.recarray))
    with np.errstate(invalid="ignore"):
        wanted = all_of_it.py_func(plain, *given, other)  # type: ignore[attr-defined]
    assert all_of_it(compiled, *given, other) == wanted
    assert np.array_equal(compiled.table, plain.table)
    assert np.array_equal(compiled.cells, plain.cells)
    assert np.array_equal(compiled.line, plain.line)
    assert np.array_equal(compiled.cube, plain.cube)


def test_each_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[ShortForms] = []
    search = lowering.short_forms

    def remembered(*given: Any) -> ShortForms:
        found.append(search(*given))
        return found[-1]

    monkeypatch.setattr(lowering, "short_forms", remembered)
    board = passed(numba.typeof(a_board()))
    for part, integers in ((loops, 3), (items, 2)):
        # anew, whatever has been compiled
        again: Any = helper(part.py_func)  # type: ignore[attr-defined]
        again.compile((board, *[numba.types.int64] * integers))
    for kind in ("fields", "indices", "ranges", "loops", "steps"):
        assert any(getattr(one, kind) for one in found), kind
