"""XLNet (Yang et al., NeurIPS 2019), with the relative attention of Transformer-XL.

The score of position i for position j is (q_i + u) k_j + (q_i + v) r_(i-j) (Dai et al., ACL 2019,
section 3.3): a product with the content of j and one with the distance to it.
"""

from dataclasses import dataclass
from typing import Final

from archloom.space.workload import Network, add

from .transformer import Heads, SequenceBuilder, check_option

#: pieces with an embedding, and the one that stands for a word to guess (published models)
_WORDS: Final = 32_000 + 1
#: vectors of the segment scores of a layer: two segments and a bias (Yang et al., section 2.5)
_OF_SEGMENTS: Final = 2 + 1


@dataclass(frozen=True, slots=True)
class _Shape:
    """Attention of one layer: ``distances`` names the input with what stands for them."""

    heads: Heads
    distances: str


def xlnet(
    name: str, layers: int, features: int, heads: int, /, *, sequence_length: int = 128
) -> Network:
    """Return XLNet's encoder over one sequence of one segment, with nothing from before it.

    Layers, features and heads are those of Yang et al., appendix A.3; the perceptron has four
    times the features. As in the reference implementation there are 2 ``sequence_length``
    distances, projected in each layer anew, and every position is scored for all of them. The
    shift after that takes for each position its ``sequence_length``: a box of as many words
    stands for them, and no work is counted. Parameters of segments count but are not read: in
    one segment their score is the same for all positions, which the softmax takes out.

    Raises:
        ValueError: an empty sequence.
    """
    check_option(name, "sequence_length", sequence_length)
    net = SequenceBuilder()
    x = net.input("words", features, sequence_length, entries=_WORDS)
    # sines and cosines, nothing learned
    distances = net.input("distances", features, 2 * sequence_length)
    shape = _Shape(Heads(heads, features // heads), distances)
    for i in range(layers):
        x = _layer(net, f"layer{i}", x, shape)
    return net.network(name)


def _layer(net: SequenceBuilder, name: str, source: str, shape: _Shape) -> str:
    """Attention and a perceptron, each with a shortcut and a norm after it."""
    features = net.channels(source)
    x = net.linear(f"{name}.o", _attention(net, name, source, shape), features, bias=False)
    source = net.layer_norm(f"{name}.norm1", net.sum(f"{name}.add1", x, source))
    x = net.linear(f"{name}.expand", source, 4 * features, activation="gelu")
    x = net.linear(f"{name}.contract", x, features)
    return net.layer_norm(f"{name}.norm2", net.sum(f"{name}.add2", x, source))


def _attention(net: SequenceBuilder, name: str, source: str, shape: _Shape) -> str:
    features, positions, _ = net.shape(source)
    q, k, v = (net.linear(f"{name}.{p}", source, features, bias=False) for p in "qkv")
    r = net.linear(f"{name}.r", shape.distances, features, bias=False)
    u = net.input(f"{name}.content_bias", features, 1, entries=1 + _OF_SEGMENTS)
    content = net.sum(f"{name}.q_content", q, u, broadcast=True)
    content = net.scores(f"{name}.content", shape.heads, content, k)
    u = net.input(f"{name}.position_bias", features, 1, entries=1)
    position = net.sum(f"{name}.q_position", q, u, broadcast=True)
    position = net.scores(f"{name}.position", shape.heads, position, r)
    scores = shape.heads.count * positions
    shifted = net.columns(position, 0, scores)
    both = net.append(add(f"{name}.scores", scores, (positions, 1)), content, shifted)
    return net.weigh(name, shape.heads, both, v)
