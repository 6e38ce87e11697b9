"""Experts: several perceptrons of which each token gets some (Shazeer et al., ICLR 2017).

Which expert a token gets depends on its values. Here tokens are spread evenly over the active
experts (assumption: training balances them, and no layer depends on values), and each expert has
room for as many tokens as any (its capacity: Lepikhin et al., ICLR 2021, section 2.2). Those
perceptrons are one layer with a group for each expert. A copy brings each token to its experts,
another one the results back; the product with the router's weights is left out, as a value leaves
the array (ours). Images of a batch share the active experts.
"""

from dataclasses import dataclass, replace

from archloom.space.workload import Layer, Piece, add, conv2d, copy, mul, softmax

from .transformer import SequenceBuilder


@dataclass(frozen=True, slots=True)
class Experts:
    """Sizes of the perceptrons of a layer.

    Attributes:
        count: how many there are.
        chosen: how many of them a token gets.
        hidden: features inside of each.
        shared: features inside of one that all tokens get; 0 for none.
        active: how many get tokens, if there are enough; 0 for all.
    """

    count: int
    chosen: int
    hidden: int
    shared: int = 0
    active: int = 0

    def capacity(self, tokens: int) -> tuple[int, int]:
        """Return how many experts get tokens, and for how many each has room."""
        routes = tokens * self.chosen
        active = min(self.active or self.count, routes)
        return active, -(-routes // active)


def routed(net: SequenceBuilder, name: str, source: str, experts: Experts) -> str:
    """Add a router, the perceptrons of the chosen experts, and the sum of what they make."""
    features, tokens, _ = net.shape(source)
    active, room = experts.capacity(tokens)
    router = net.linear(f"{name}.router", source, experts.count, bias=False)
    net.append(softmax(f"{name}.router_softmax", experts.count, tokens), router)
    # an expert's room beyond its tokens holds zeros
    sent = copy(f"{name}.dispatch", (active * features, room, 1), [features * tokens])
    x = net.append(sent, source)
    first = _grouped(f"{name}.expert_gate", active, features, experts.hidden, room)
    # what experts without tokens learned
    idle = (experts.count - active) * 3 * features * experts.hidden
    gate = net.append(replace(first, activation="silu", extra_params=idle), x)
    up = net.append(_grouped(f"{name}.expert_up", active, features, experts.hidden, room), x)
    x = net.append(mul(f"{name}.expert_gated", active * experts.hidden, (room, 1)), gate, up)
    x = net.append(_grouped(f"{name}.expert_down", active, experts.hidden, features, room), x)
    whole = (experts.chosen * features, tokens, 1)
    x = net.append(copy(f"{name}.collect", whole, [active * features * room]), x)
    parts: list[Piece] = [net.columns(x, i * features, features) for i in range(experts.chosen)]
    if experts.shared:
        parts.append(net.gated(f"{name}.shared", source, experts.shared))
    return net.append(add(f"{name}.experts", features, (tokens, 1), len(parts)), *parts)


def _grouped(name: str, groups: int, inner: int, outputs: int, rows: int) -> Layer:
    """Return a matrix product in which each group of features has weights of its own."""
    sizes = (groups * inner, groups * outputs, (rows, 1))
    return conv2d(name, *sizes, 1, groups=groups, bias=False)
