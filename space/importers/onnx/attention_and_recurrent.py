"""Translation of ONNX's attention, position embeddings and recurrent cells."""

from collections.abc import Mapping
from typing import Final

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
    if mask is not None and (not mask.name or (mask.constant and not mask.learned)):
        mask = None
    mask = None if mask is None or call.forget(mask) is not mask else mask
    shape = (*query.shape[:3], value.shape[3])
    found = call.op("attention", [query, key, value, mask], shape)
    if flat:
        found = reshaped(call, transposed(call, found, (0, 2, 1, 3)), call.shape())
    return found, key, value, None


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


def _lstm(call: Call) -> tuple[Value | None, ...]:
    direction = call.text("direction", "forward")
    if direction not in ("forward", "bidirectional"):
        raise OnnxError(
            f"direction {direction} is not supported; supported: forward, bidirectional"
        )
    usual = ("Sigmoid", "Tanh", "Tanh")
    given = call.attributes.get("activations")
    if isinstance(given, tuple) and given != usual * (len(given) // 3):
        raise OnnxError(f"activations {given} are not supported; supported: {usual}")
    states = [call.optional(i) for i in (4, 5, 6)]
    if any(state is not None and not state.constant for state in states) or call.has(7):
        raise OnnxError(
            "computed sequence lengths, computed initial states and peepholes are not supported"
        )
    x, directions = call.x(), 1 + (direction == "bidirectional")
    weights, hidden = _gates(call, directions)
    first = bool(call.number("layout"))
    positions, batch = x.shape[:2][::-1] if first else x.shape[:2]
    lead = (batch, positions) if first else (positions, batch)
    state = (directions, batch, hidden)
    call.maker.steps += positions * directions
    if call.maker.steps > MOST_STEPS:
        raise OnnxError(
            f"{positions} positions; at most {MOST_STEPS} steps of recurrent cells are "
            "supported in all"
        )
    y, h, c = call.ops(
        "lstm",
        [x, *weights],
        [(*lead, directions * hidden), state, state],
        hidden=hidden,
        directions=directions,
        batch_first=first,
    )
    # results have the directions in a dimension of their own: before the batch, or before the
    # features if that comes first
    y = reshaped(call, y, (*lead, directions, hidden))
    if first:
        return y, transposed(call, h, (1, 0, 2)), transposed(call, c, (1, 0, 2))
    if directions == 1:
        return reshaped(call, y, (positions, 1, batch, hidden)), h, c
    return transposed(call, y, (0, 2, 1, 3)), h, c


def _gates(call: Call, directions: int) -> tuple[list[Value | None], int]:
    """Return the weights of each direction: of inputs, of states, and both biases."""
    x, w, r, b = call.x(0), call.x(1), call.x(2), call.learned(3)
    if not (w.constant and r.constant):
        raise OnnxError("its weights are computed at run time; they must be constants")
    hidden = r.shape[-1] if len(r.shape) == 3 else 0
    shapes = {
        "W": (w.shape, (directions, 4 * hidden, x.shape[-1])),
        "R": (r.shape, (directions, 4 * hidden, hidden)),
        "B": (b.shape if b else (), (directions, 8 * hidden) if b else ()),
    }
    for name, (have, wanted) in shapes.items():
        if have != wanted or len(x.shape) != 3:
            raise OnnxError(f"{name} has shape {have}, must have {wanted} for inputs of {x.shape}")
    found: list[Value | None] = []
    for i in range(directions):
        found += [call.piece(w, i, w.shape[1:]), call.piece(r, i, r.shape[1:])]
        found += [call.piece(b, 2 * i + j, (4 * hidden,)) for j in range(2) if b is not None]
    return found, hidden


SEQUENCES: Final[Mapping[str, Translator]] = {
    "Attention": _attention,
    "RotaryEmbedding": _rotary,
    "LSTM": _lstm,
}
"""How each of them is translated."""
