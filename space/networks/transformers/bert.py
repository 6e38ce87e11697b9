"""BERT (Devlin et al., NAACL 2019), the encoder with embeddings and pooler."""

from archloom.space.workload import Network

from .ragged import Packed, attend, lengths_of, tokens_at
from .transformer import Heads, SequenceBuilder

#: word pieces, positions and segments with an embedding (reference implementation)
_WORDS, _POSITIONS, _SEGMENTS = 30_522, 512, 2


def bert(
    name: str,
    layers: int,
    features: int,
    heads: int,
    /,
    *,
    sequence_length: int = 128,
    lengths: tuple[int, ...] = (),
) -> Network:
    """Return BERT over one sequence of ``sequence_length`` word pieces, or over several of some
    ``lengths``, packed without padding.

    Layers, features and heads are L, H and A of Devlin et al., section 3; the perceptron has
    4 H. All pairs of positions are scored: no word is padding. The pooler, a layer with tanh
    on the first position, belongs to the reference implementation, and so do the states of all
    positions as a result; heads of its training do not.

    Raises:
        ValueError: a sequence that is empty or longer than there are positions, or too many.
    """
    found = lengths_of(name, sequence_length, lengths, _POSITIONS)
    net, packed = SequenceBuilder(), Packed.of([(length, 0) for length in found])
    tables = {"words": _WORDS, "positions": _POSITIONS, "segments": _SEGMENTS}
    x = net.sum(
        "embedding",
        *(net.input(t, features, packed.tokens, entries=n) for t, n in tables.items()),
    )
    x = net.layer_norm("embedding.norm", x)
    for i in range(layers):
        x = _layer(net, f"layer{i}", x, Heads(heads, features // heads), packed)
    net.leave(x)
    net.linear("pooler", tokens_at(net, "first", x, packed.first), features, activation="tanh")
    return net.network(name)


def _layer(net: SequenceBuilder, name: str, source: str, heads: Heads, packed: Packed) -> str:
    """Attention and a perceptron, each with a shortcut and a norm after it."""
    features = net.channels(source)
    query, key, value = (
        net.linear(f"{name}.{part}", source, features) for part in ("query", "key", "value")
    )
    x = attend(net, name, heads, (query, key, value), packed, None)
    x = net.linear(f"{name}.project", x, features)
    source = net.layer_norm(f"{name}.norm1", net.sum(f"{name}.add1", x, source))
    x = net.linear(f"{name}.expand", source, 4 * features, activation="gelu")
    x = net.linear(f"{name}.contract", x, features)
    return net.layer_norm(f"{name}.norm2", net.sum(f"{name}.add2", x, source))
