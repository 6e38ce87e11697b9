"""Values of constants in an exported program, which PyTorch computes when they are asked for."""

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Final

from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import ExportedProgram
    from torch.fx import Node

#: Elements of the largest tensor whose values are looked at (assumption: masks of 8,192 positions
#: are as large, and weights need not be read).
MOST_READ: Final = 2**26

#: operators whose results depend on the sizes of what they read, not on its values
_BY_SIZE: Final = frozenset(
    form.format(name) for form in ("{}_like", "new_{}") for name in ("full", "zeros", "ones")
)


class Constants:
    """Values that depend on buffers and on nothing that is learned or comes from outside."""

    def __init__(self, program: "ExportedProgram") -> None:
        signature = program.graph_signature
        names = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        held: Mapping[str, Any] = {**program.state_dict, **program.constants}
        self._held = {node: held[name] for node, name in names.items() if name in held}
        self._known: dict[str, Any] = {}

    def read(self, node: "Node", result: int | None) -> NDArray[Any] | None:
        """Return the values of a node, or of one of its results; None if they are not known."""
        import torch

        with torch.no_grad():
            found = self._value(node)
        if result is not None and isinstance(found, tuple | list):
            found = found[result]
        if not isinstance(found, torch.Tensor) or found.is_complex():
            return None
        plain: NDArray[Any] = (found if found.dtype == torch.bool else found.double()).numpy()
        return plain

    def _value(self, last: "Node") -> Any:
        """Return what a node is; the nodes that it needs are computed before, without recursion."""
        stack = [last]
        while stack:
            node = stack[-1]
            waiting = [] if _by_size(node) else node.all_input_nodes
            waiting = [n for n in waiting if n.name not in self._known]
            if node.name in self._known or not waiting:
                self._known.setdefault(stack.pop().name, self._computed(node))
            else:
                stack += waiting
        return self._known[last.name]

    def _computed(self, node: "Node") -> Any:
        from torch.fx.node import map_arg

        if node.op == "placeholder":
            return self._placed(node)
        target: Any = node.target
        if node.op != "call_function" or not _is_pure(target) or not _is_small(node):
            return None
        by_size, needed = _by_size(node), node.all_input_nodes
        sources = {n.name: _sized(n) if by_size else self._known[n.name] for n in needed}
        if any(value is None for value in sources.values()):
            return None
        args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda n: sources[n.name])
        return target(*args, **kwargs)

    def _placed(self, node: "Node") -> "Tensor | None":
        import torch

        held = self._held.get(node.name)
        small = isinstance(held, torch.Tensor) and held.numel() <= MOST_READ
        return held.detach().cpu() if small and held is not None else None


def _name(target: Any) -> str:
    return str(getattr(getattr(target, "overloadpacket", None), "__name__", ""))


def _by_size(node: "Node") -> bool:
    return node.op == "call_function" and _name(node.target) in _BY_SIZE


def _is_pure(target: Any) -> bool:
    """Whether a function is one of PyTorch's own that changes nothing that it reads."""
    if getattr(target, "__module__", "") == "_operator":
        return True
    schema = getattr(target, "_schema", None)
    own = getattr(target, "namespace", "") in ("aten", "prims")
    return own and schema is not None and not schema.is_mutable


def _is_small(node: "Node") -> bool:
    value = node.meta.get("val")
    each = value if isinstance(value, tuple | list) else [value]
    return all(prod(getattr(v, "shape", ())) <= MOST_READ for v in each)


def _sized(node: "Node") -> "Tensor | None":
    """Return a tensor as large as a node's, whatever its values are."""
    import torch

    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not _is_small(node):
        return None
    return torch.zeros(tuple(value.shape), dtype=value.dtype)
