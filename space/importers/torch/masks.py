"""Rules for attention and for masks of scores, of which causal ones can leave pairs out."""

from collections.abc import Sequence

from ..causal_masks import LOW, added_window, causal_window
from ..graph import Tensor
from .call import Call, Result, Unsupported


def attention(call: Call) -> Result:
    """Return scaled dot-product attention, with its causal mask if it has one."""
    inputs = [call["query"], call["key"], call["value"], call["attn_mask"]]
    window, mask = None, call.values(call["attn_mask"])
    if mask is not None:
        window = causal_window(mask) if mask.dtype == bool else added_window(mask)
    elif call["is_causal"] and inputs[0].shape[-2] == inputs[1].shape[-2] > 1:
        # counted from the first query and the first key (PyTorch, scaled_dot_product_attention)
        window = 0
    if window is None:
        return call.emit("attention", inputs)
    return call.emit("attention", inputs, causal=window)


def _apart(
    operands: Sequence[Tensor | float | None],
) -> tuple[list[Tensor], list[Tensor | float | None]]:
    """Feature maps, and what is constant."""
    maps = [t for t in operands if isinstance(t, Tensor) and not t.constant]
    return maps, [t for t in operands if not isinstance(t, Tensor) or t.constant]


def masked_sum(call: Call, kind: str) -> Tensor | None:
    """Return a sum or difference of scores and a causal mask, None for other ones."""
    maps, constants = _apart([call["self"], call["other"]])
    if kind not in ("add", "sub") or call["alpha"] not in (None, 1) or len(maps) != 1:
        return None
    if kind == "sub" and maps[0] is not call["self"]:
        return None
    return added_mask(call, maps[0], constants[0], -1 if kind == "sub" else 1)


def added_mask(
    call: Call, scores: Tensor, mask: Tensor | float | None, factor: int = 1
) -> Tensor | None:
    """Return scores to which a constant is added, if that is a causal mask."""
    values = call.values(mask)
    window = None if values is None else added_window(factor * values)
    return None if window is None or scores.shape != call.shape else call.masked(scores, window)


def _where_seen(
    call: Call, condition: Tensor, filler: Tensor | float | None, *, seen: bool
) -> int | None:
    """Window of a causal mask that lets scores through where a condition is ``seen``; or None."""
    low, value = call.values(filler), call.values(condition)
    if low is None or value is None or not bool((low <= LOW).all()):
        return None
    return causal_window(value.astype(bool) == seen)


def masked_fill(call: Call) -> Result:
    """Return scores of which a constant mask fills some."""
    if isinstance(call["value"], Tensor) and not call["value"].constant:
        raise Unsupported("the value that fills masked positions must be constant")
    if not call["mask"].constant:
        raise Unsupported("the mask must be constant")
    return call.masked(call["self"], _where_seen(call, call["mask"], call["value"], seen=False))


def where(call: Call) -> Result:
    """Return the one feature map that a constant mask lets through."""
    maps, others = _apart([call["self"], call["other"]])
    if not call["condition"].constant or len(maps) != 1 or maps[0].shape != call.shape:
        raise Unsupported("only a constant mask over one feature map is supported")
    seen = maps[0] is call["self"]
    return call.masked(maps[0], _where_seen(call, call["condition"], others[0], seen=seen))
