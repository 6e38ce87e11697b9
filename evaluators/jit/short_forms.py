"""Variables of a part that need no value of their own: what they stand for is known.

numba writes LLVM's code for one statement after another. It loads the eight words of an array for
each item that is read, packs indices into a tuple and takes them out again, and turns a loop over a
``range`` into a structure of two addresses and two words that is copied from place to place: fifty
instructions to begin a loop, thirty to go on. Here these variables are found, by what becomes of
them in all of the part, so that lowering writes what is needed where it is needed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks

from .references import Reference, passed

#: returns the type of a variable
TypeOf = Callable[[str], Any]

#: what becomes of a variable that nothing is said about
_ANYTHING = "anything"

#: statements that write an item
_SETS = ir.SetItem, ir.StaticSetItem


@dataclass(frozen=True)
class ShortForms:
    """Names of variables that never become values.

    Attributes:
        fields: arrays that are fields of records, of which only items are read and written, in the
            block that names them. What is named before a loop is better loaded there.
        indices: tuples of integers that are only indices, in the block that makes them.
        ranges: ``range`` objects of step 1 or -1 that only a loop goes through.
        loops: what goes through them, each with the name of the first variable for it.
        steps: pairs of the next number of a loop and whether there is one.
    """

    fields: frozenset[str] = frozenset()
    indices: frozenset[str] = frozenset()
    ranges: frozenset[str] = frozenset()
    loops: Mapping[str, str] = field(default_factory=dict)
    steps: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """Names of all of them."""
        return self.fields | self.indices | self.ranges | self.steps | frozenset(self.loops)


def index_of(value: Any) -> Any:
    """Return the variable that is the index of an item; None for an index that is no variable."""
    is_static = isinstance(value, ir.StaticSetItem) or _op(value) == "static_getitem"
    return value.index_var if is_static else value.index


def is_plain(array: Any, index: Any) -> bool:
    """Say whether an index is that of one item of an array in C's order."""
    kinds = index.types if isinstance(index, types.BaseTuple) else (index,)
    plain = isinstance(array, types.Array) and array.layout == "C" and array.ndim == len(kinds)
    plain = plain and isinstance(array.dtype, types.Number | types.Boolean)
    return plain and bool(kinds) and all(isinstance(one, types.Integer) for one in kinds)


def is_row(array: Any, index: Any, result: Any) -> bool:
    """Say whether an index is that of the first axes of an array in C's order."""
    kinds = index.types if isinstance(index, types.BaseTuple) else (index,)
    arrays = isinstance(array, types.Array) and isinstance(result, types.Array)
    if not arrays or not kinds or not all(isinstance(one, types.Integer) for one in kinds):
        return False
    return bool(
        array.layout == result.layout == "C"
        and array.ndim == len(kinds) + result.ndim
        and array.dtype == result.dtype
        and result.ndim > 0
    )


def short_forms(blocks: Mapping[int, Any], typed: TypeOf, local: set[str]) -> ShortForms:
    """Find variables that need no value.

    Args:
        blocks: all of a part, with what ends variables (``Del``).
        typed: type of a variable.
        local: variables that are assigned once, and used in the block that does.
    """
    made: dict[str, list[Any]] = defaultdict(list)
    becomes: dict[str, set[str]] = defaultdict(set)
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                made[statement.target.name].append(statement.value)
            for name, role in _uses(statement, typed):
                becomes[name].add(role)
    once = {name: values[0] for name, values in made.items() if len(values) == 1}
    fields = {
        name
        for name, value in once.items()
        if becomes[name] == {"items"} and name in local and _is_field(value, typed, name)
    }
    indices = {
        name
        for name, value in once.items()
        if becomes[name] == {"index"} and name in local and _op(value) == "build_tuple"
    }
    ranges, loops, steps = _loops(once, becomes, typed, local)
    return ShortForms(frozenset(fields), frozenset(indices), ranges, loops, steps)


def steady_records(blocks: Mapping[int, Any], typed: TypeOf) -> frozenset[str]:
    """Return records that are passed to parts, and made once for each call of a function.

    What is made in a loop is another record in each step.
    """
    made: dict[str, int] = defaultdict(int)
    within: dict[str, int] = {}
    given: set[str] = set()
    for label, block in blocks.items():
        for statement in block.find_insts(ir.Assign):
            made[statement.target.name] += 1
            within[statement.target.name] = label
            if _op(statement.value) == "call":
                given |= {one.name for one in statement.value.args}
    records = {
        name
        for name in given
        if made[name] == 1
        and isinstance(typed(name), types.BaseNamedTuple)
        and isinstance(passed(typed(name)), Reference)
    }
    if not records:
        return frozenset()
    loops = compute_cfg_from_blocks(blocks).loops().values()
    again = {label for loop in loops for label in loop.body}
    return frozenset(name for name in records if within[name] not in again)


def _uses(statement: Any, typed: TypeOf) -> Iterator[tuple[str, str]]:
    """Yield the variables that a statement reads, each with what becomes of it there."""
    value = statement.value if isinstance(statement, ir.Assign) else statement
    if isinstance(statement, ir.Del):
        return
    if isinstance(value, ir.Var):
        yield value.name, f"copy {statement.target.name}"
    elif isinstance(value, _SETS) or _op(value) in ("getitem", "static_getitem"):
        array = value.target if isinstance(value, _SETS) else value.value
        index = index_of(value)
        plain = index is not None and is_plain(typed(array.name), typed(index.name))
        yield array.name, "items" if plain else _ANYTHING
        if index is not None:
            yield index.name, "index" if plain else _ANYTHING
        if isinstance(value, _SETS):
            yield value.value.name, _ANYTHING
    elif _op(value) in ("getiter", "iternext", "pair_first", "pair_second"):
        yield value.value.name, f"{value.op} {statement.target.name}"
    elif isinstance(value, ir.Inst):
        for variable in value.list_vars():
            yield variable.name, _ANYTHING


def _op(value: Any) -> str:
    return str(value.op) if isinstance(value, ir.Expr) else ""


def _is_field(value: Any, typed: TypeOf, name: str) -> bool:
    """Say whether a value is an array of a record, or of a structure, whose address is known."""
    if _op(value) != "getattr":
        return False
    kind, of = typed(name), typed(value.value.name)
    if isinstance(kind, types.NestedArray):
        return isinstance(of, types.Record)
    return isinstance(kind, types.Array) and isinstance(of, Reference)


def step_of(call: Any, typed: TypeOf) -> int | None:
    """Return the step of a ``range`` of words, 1 or -1; None for any other value."""
    if _op(call) != "call" or call.kws or call.vararg or not call.args:
        return None
    function = typed(call.func.name)
    if not isinstance(function, types.Function) or function.typing_key is not range:
        return None
    step = getattr(typed(call.args[2].name), "literal_value", 0) if len(call.args) > 2 else 1
    return int(step) if step in (1, -1) else None


def _loops(
    once: Mapping[str, Any],
    becomes: Mapping[str, set[str]],
    typed: TypeOf,
    local: set[str],
) -> tuple[frozenset[str], dict[str, str], frozenset[str]]:
    """Return ranges, what goes through them, and steps of loops, of which all is known."""

    def follow(name: str, kind: str) -> list[str] | None:
        """Return where a variable goes, None where that is not all of one kind."""
        words = [role.split(" ", 1) for role in becomes[name]]
        alike = name in once and all(word[0] in kind.split() for word in words)
        return [word[1] for word in words] if alike else None

    ranges: set[str] = set()
    loops: dict[str, str] = {}
    steps: set[str] = set()
    for name, value in once.items():
        wanted = types.range_state64_type
        if name not in local or typed(name) != wanted or step_of(value, typed) is None:
            continue
        first = follow(name, "getiter")
        if first is None or len(first) != 1:
            continue
        whole, left, found = True, list(first), []
        nexts: list[str] = []
        while left and whole:
            loop = left.pop()
            found.append(loop)
            goes = follow(loop, "copy iternext")
            whole = goes is not None
            copies = [role for role in becomes[loop] if role.startswith("copy ")]
            left += [role.split(" ", 1)[1] for role in copies]
            nexts += [to for to in goes or () if f"copy {to}" not in copies]
        for one in nexts:
            pair = follow(one, "pair_first pair_second")
            whole = whole and pair is not None and one in local
        if whole:
            ranges.add(name)
            loops |= dict.fromkeys(found, first[0])
            steps |= set(nexts)
    return frozenset(ranges), loops, frozenset(steps)
