"""Rules for recurrent layers: stacked layers one by one, each with its directions."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..graph import Tensor
from .call import Call, Result, Unsupported

#: gates of each cell, whose weights stand above each other
_GATES: Final[Mapping[str, int]] = {"rnn": 1, "gru": 3, "lstm": 4}


def _recurrent(kind: str, **attributes: Any) -> Callable[[Call], Result]:
    def rule(call: Call) -> Result:
        return _stacked(call, kind, attributes)

    return rule


def _stacked(call: Call, kind: str, attributes: dict[str, Any]) -> Result:
    """Emit one operator for each stacked layer.

    Raises:
        Unsupported: initial states are computed, or the sequences are packed.
    """
    first, weights = call["hx"], call["params"]
    if first is None or weights is None:
        raise Unsupported("packed sequences are not supported")
    before: list[Tensor] = list(first) if isinstance(first, list | tuple) else [first]
    if not all(state.constant for state in before):
        raise Unsupported("initial states must be constants")
    directions, layers = 1 + bool(call["bidirectional"]), call["num_layers"]
    hidden = weights[0].shape[0] // _GATES[kind]
    output = weights[1].shape[1]
    named = attributes | {
        "hidden": hidden,
        "projected": 0 if output == hidden else output,
        "directions": directions,
        "batch_first": bool(call["batch_first"]),
    }
    x, each, ends = call["input"], len(weights) // layers, []
    states = [(directions, *state.shape[1:]) for state in before]
    for layer in range(layers):
        own = weights[layer * each : (layer + 1) * each]
        x, *last = call.emit_several(kind, [x, *own], [call.shapes[0], *states], named)
        ends.append(last)
    if layers == 1:
        return (x, *ends[0])
    joined = [
        call.emit("concat", [last[i] for last in ends], call.shapes[i + 1], axis=0)
        for i in range(len(states))
    ]
    return (x, *joined)


RECURRENT: Final[dict[str, Callable[[Call], Result]]] = {
    "aten.lstm": _recurrent("lstm"),
    # PyTorch scales a product of the last output by the reset gate, as cuDNN does
    "aten.gru": _recurrent("gru", reset_after=True),
    "aten.rnn_tanh": _recurrent("rnn", function="tanh"),
    "aten.rnn_relu": _recurrent("rnn", function="relu"),
}
"""How each of them is translated."""
