"""Translation of ONNX's attention, position embeddings and recurrent cells."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from archloom.space.workload import no_causal_mask

from ..causal_masks import added_window, causal_window
from .arithmetic import Translator
from .call import Call
from .data_movement import reshaped, transposed
from .value import OnnxError, Value

#: Steps of recurrent cells in a network, each of which becomes layers of its own (assumption: a
#: search over more of them would not end; so many are read in a few seconds).
MOST_STEPS: Final = 8192


def _attention(call: Call) -> tuple[Value | None, ...]:
    """Attention of opset 23, with the heads in a dimension of their own or side by side."""
    flat = len(call.x(0).shape) == 3
    query, key, value = (_heads(call, i) for i in range(3))
    past = [call.optional(i) for i in (4, 5)]
    key, value = (
        _joined(call, before, now) for before, now in zip(past, (key, value), strict=True)
    )
    if key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise OnnxError(
            f"{key.shape[1]} heads of keys must divide the {query.shape[1]} heads of queries"
        )
    mask = call.optional(3)
    seen = _causal(call, mask, query.shape[2], key.shape[2])
    if mask is not None and (not mask.name or (mask.constant and not mask.learned)):
        mask = None
    mask = None if mask is None or call.forget(mask) is not mask else mask
    shape = (*query.shape[:3], value.shape[3])
    found = call.op("attention", [query, key, value, mask], shape, **seen)
    if flat:
        found = reshaped(call, transposed(call, found, (0, 2, 1, 3)), call.shape())
    return found, key, value, None


def _causal(call: Call, mask: Value | None, queries: int, keys: int) -> dict[str, int]:
    """Return the attribute of attention with a causal mask; nothing if it has none.

    With a cache the last query's own key is the last one; without one the first query's own is the
    first (onnx's Attention: attributes is_causal, left_window_size and right_window_size; input
    nonpad_kv_seqlen is data, so nothing is known of what it leaves).
    """
    left, right = (call.number(f"{side}_window_size", -1) for side in ("left", "right"))
    if (call.number("is_causal") or right == 0) and not call.has(6) and queries > 1:
        window = left + 1 if 0 <= left < keys - 1 else 0
        if (queries == keys or call.has(4)) and not no_causal_mask(queries, keys, window):
            return {"causal": window}
    values = mask.read() if mask is not None and mask.constant else None
    if values is None or (mask is not None and call.forget(mask).learned):
        return {}
    found = causal_window(values.astype(bool)) if values.dtype == bool else added_window(values)
    return {} if found is None else {"causal": found}


def _heads(call: Call, index: int) -> Value:
    """Return an input as (batch, heads, positions, features)."""
    value = call.x(index)
    if len(value.shape) == 4:
        return value
    name = "kv_num_heads" if index else "q_num_heads"
    heads = call.number(name)
    if len(value.shape) != 3 or heads < 1 or value.shape[2] % heads:
        raise OnnxError(f"{name} is {heads}, must divide the last dimension of {value.shape}")
    batch, positions, features = value.shape
    apart = reshaped(call, value, (batch, positions, heads, features // heads))
    return transposed(call, apart, (0, 2, 1, 3))


def _joined(call: Call, before: Value | None, now: Value) -> Value:
    """Return keys or values of earlier positions and of these."""
    if before is None or before.size == 0:
        return now
    if len(before.shape) != 4 or before.shape[:2] != now.shape[:2]:
        raise OnnxError(f"a cache of shape {before.shape} does not fit {now.shape}")
    shape = (*now.shape[:2], before.shape[2] + now.shape[2], now.shape[3])
    return call.op("concat", [before, now], shape, axis=2)


def _rotary(call: Call) -> Value:
    return call.op("rotary", [call.x()], call.x().shape)


class _Cell(NamedTuple):
    """Kind of recurrent cell.

    Attributes:
        gates: whose weights stand above each other.
        functions: that it must have.
        states: that it hands on.
    """

    gates: int
    functions: tuple[str, ...]
    states: int = 1


_CELLS: Final[Mapping[str, _Cell]] = {
    "lstm": _Cell(4, ("Sigmoid", "Tanh", "Tanh"), 2),
    "gru": _Cell(3, ("Sigmoid", "Tanh")),
    "rnn": _Cell(1, ("Tanh",)),
}
_DIRECTIONS: Final = ("forward", "reverse", "bidirectional")


def _recurrent(kind: str) -> Translator:
    def translate(call: Call) -> tuple[Value | None, ...]:
        return _unrolled(call, kind, _CELLS[kind])

    return translate


def _unrolled(call: Call, kind: str, cell: _Cell) -> tuple[Value | None, ...]:
    direction = call.text("direction", "forward")
    if direction not in _DIRECTIONS:
        raise OnnxError(
            f"direction {direction} is not supported; supported: {', '.join(_DIRECTIONS)}"
        )
    named = _variant(call, kind, cell.functions)
    states = [call.optional(i) for i in (4, 5, 6)[: cell.states + 1]]
    if any(state is not None and not state.constant for state in states) or call.has(7):
        raise OnnxError(
            "computed sequence lengths, computed initial states and peepholes are not supported"
        )
    x, directions = call.x(), 1 + (direction == "bidirectional")
    weights, hidden = _gates(call, directions, cell.gates)
    first = bool(call.number("layout"))
    positions, batch = x.shape[:2][::-1] if first else x.shape[:2]
    lead = (batch, positions) if first else (positions, batch)
    call.maker.steps += positions * directions
    if call.maker.steps > MOST_STEPS:
        raise OnnxError(
            f"{positions} positions; at most {MOST_STEPS} steps of recurrent cells are "
            "supported in all"
        )
    y, *last = call.ops(
        kind,
        [x, *weights],
        [(*lead, directions * hidden), *[(directions, batch, hidden)] * cell.states],
        hidden=hidden,
        directions=directions,
        backward=direction == "reverse",
        batch_first=first,
        **named,
    )
    # results have the directions in a dimension of their own: before the batch, or before the
    # features if that comes first
    y = reshaped(call, y, (*lead, directions, hidden))
    if first:
        return y, *(transposed(call, state, (1, 0, 2)) for state in last)
    if directions == 1:
        return reshaped(call, y, (positions, 1, batch, hidden)), *last
    return transposed(call, y, (0, 2, 1, 3)), *last


def _variant(call: Call, kind: str, functions: tuple[str, ...]) -> dict[str, Any]:
    """Return what cells of one kind may differ in.

    Raises:
        OnnxError: their functions are none that can be lowered.
    """
    given = call.attributes.get("activations")
    known = [functions, ("Relu",)] if kind == "rnn" else [functions]
    found = functions
    if isinstance(given, tuple) and given:
        alike = [each for each in known if given == each * (len(given) // len(each))]
        if not alike:
            usual = " or ".join(str(each) for each in known)
            raise OnnxError(f"activations {given} are not supported; supported: {usual}")
        found = alike[0]
    if kind == "gru":
        return {"reset_after": bool(call.number("linear_before_reset"))}
    return {"function": found[0].lower()} if kind == "rnn" else {}


def _gates(call: Call, directions: int, gates: int) -> tuple[list[Value | None], int]:
    """Return the weights of each direction: of inputs, of states, and both biases."""
    x, w, r, b = call.x(0), call.x(1), call.x(2), call.learned(3)
    if not (w.constant and r.constant):
        raise OnnxError("its weights are computed at run time; they must be constants")
    hidden = r.shape[-1] if len(r.shape) == 3 else 0
    rows = gates * hidden
    shapes = {
        "W": (w.shape, (directions, rows, x.shape[-1])),
        "R": (r.shape, (directions, rows, hidden)),
        "B": (b.shape if b else (), (directions, 2 * rows) if b else ()),
    }
    for name, (have, wanted) in shapes.items():
        if have != wanted or len(x.shape) != 3:
            raise OnnxError(f"{name} has shape {have}, must have {wanted} for inputs of {x.shape}")
    found: list[Value | None] = []
    for i in range(directions):
        found += [call.piece(w, i, w.shape[1:]), call.piece(r, i, r.shape[1:])]
        found += [call.piece(b, 2 * i + j, (rows,)) for j in range(2) if b is not None]
    return found, hidden


SEQUENCES: Final[Mapping[str, Translator]] = {
    "Attention": _attention,
    "RotaryEmbedding": _rotary,
    **{kind.upper(): _recurrent(kind) for kind in _CELLS},
}
"""How each of them is translated."""
