"""Llama-style decoders: the prompt at once (prefill), or one token with a cache (decode).

Grouped-query attention (Ainslie et al., EMNLP 2023), rotary positions (Su et al.,
arXiv:2104.09864), root-mean-square norms before each part (Zhang and Sennrich, NeurIPS 2019) and
a gated perceptron (Shazeer, arXiv:2002.05202), none with biases, as Touvron et al.,
arXiv:2302.13971, section 2.2, put them together.

Keys and values of a token leave the chip for the cache, keys as the rotation made them. A decoded
token reads the cache of all tokens before it. Kernels are dense (assumption): a prompt's scores
are computed for all pairs of its tokens, though the causal mask drops nearly half of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from archloom.space.workload import Network, mul, rotary

from .transformer import Heads, SequenceBuilder, check_option


@dataclass(frozen=True, slots=True)
class Decoder:
    """Sizes of a decoder.

    Attributes:
        layers: how many there are.
        features: of a token between layers.
        hidden: features inside the perceptron.
        heads: of keys and values, and how many queries share them.
        vocabulary: tokens.
        tied: the output layer uses the table of embeddings.
    """

    layers: int
    features: int
    hidden: int
    heads: Heads
    vocabulary: int
    tied: bool = False


#: Grattafiori et al., arXiv:2407.21783, Table 3; Llama 3.2 and the vocabulary: published models
MODELS: Final[Mapping[str, Decoder]] = {
    "llama3_8b": Decoder(32, 4096, 14_336, Heads(8, 128, sharing=4), 128_256),
    "llama3_70b": Decoder(80, 8192, 28_672, Heads(8, 128, sharing=8), 128_256),
    "llama32_1b": Decoder(16, 2048, 8192, Heads(8, 64, sharing=4), 128_256, tied=True),
}
#: what people call them
TITLES: Final[Mapping[str, str]] = {
    "llama3_8b": "Llama 3 8B (Grattafiori et al., 2024)",
    "llama3_70b": "Llama 3 70B (Grattafiori et al., 2024)",
    "llama32_1b": "Llama 3.2 1B (Meta, 2024)",
}


def llama_prefill(
    model: str, /, *, sequence_length: int = 512, all_logits: bool = False
) -> Network:
    """Return the pass over a prompt.

    Args:
        model: one of :data:`MODELS`.
        sequence_length: tokens of the prompt (the default is ours, as that of a decoded token).
        all_logits: make logits for every token, not for the last one alone.

    Raises:
        ValueError: an empty prompt.
    """
    name = f"{model}_prefill"
    check_option(name, "sequence_length", sequence_length)
    return prefill(name, MODELS[model], sequence_length, all_logits=all_logits)


def llama_decode(model: str, /, *, sequence_length: int = 2048) -> Network:
    """Return the pass that makes one token.

    Args:
        model: one of :data:`MODELS`.
        sequence_length: tokens that attention sees: those in the cache and the new one.

    Raises:
        ValueError: not even the new token.
    """
    name = f"{model}_decode"
    check_option(name, "sequence_length", sequence_length)
    return decode(name, MODELS[model], sequence_length)


def prefill(name: str, sizes: Decoder, length: int, *, all_logits: bool = False) -> Network:
    """Return the pass of any decoder over a prompt of ``length``, as :func:`llama_prefill`."""
    return _pass(name, sizes, tokens=length, cached=0, logits=length if all_logits else 1)


def decode(name: str, sizes: Decoder, length: int) -> Network:
    """Return the pass of any decoder that makes the ``length``-th token."""
    return _pass(name, sizes, tokens=1, cached=length - 1, logits=1)


def _pass(name: str, sizes: Decoder, tokens: int, cached: int, logits: int) -> Network:
    """``tokens`` new ones after ``cached`` old ones; ``logits`` of all or of the last."""
    net = SequenceBuilder()
    # a tied table counts once, with the output layer
    entries = 0 if sizes.tied else sizes.vocabulary
    x = net.input("tokens", sizes.features, tokens, entries=entries)
    for i in range(sizes.layers):
        x = _attention(net, f"layer{i}", x, sizes, cached)
        x = _perceptron(net, f"layer{i}", x, sizes)
    x = net.rms_norm("norm", x)
    last = x if logits == tokens else net.position(x, tokens - 1)
    net.linear("logits", last, sizes.vocabulary, bias=False)
    return net.network(name)


def _attention(net: SequenceBuilder, name: str, source: str, sizes: Decoder, cached: int) -> str:
    heads = sizes.heads
    width = heads.count * heads.features
    x = net.rms_norm(f"{name}.norm1", source)
    query = net.linear(f"{name}.query", x, width * heads.sharing, bias=False)
    query = _turn(net, f"{name}.turned_query", query)
    key = net.linear(f"{name}.key", x, width, bias=False)
    key = _turn(net, f"{name}.turned_key", key)
    value = net.linear(f"{name}.value", x, width, bias=False)
    net.leave(key, value)
    old_keys, old_values = (
        (net.input(f"{name}.{part}", width, cached),) if cached else ()
        for part in ("keys", "values")
    )
    scores = net.scores(f"{name}.scores", heads, query, *old_keys, key)
    x = net.weigh(name, heads, scores, *old_values, value)
    x = net.linear(f"{name}.project", x, sizes.features, bias=False)
    return net.sum(f"{name}.add1", x, source)


def _turn(net: SequenceBuilder, name: str, source: str) -> str:
    """Rotate each pair of features by an angle that grows with the position."""
    features, positions, _ = net.shape(source)
    return net.append(rotary(name, features, positions), source)


def _perceptron(net: SequenceBuilder, name: str, source: str, sizes: Decoder) -> str:
    """A product of two layers, one of them through a SiLU, and a layer after it."""
    x = net.rms_norm(f"{name}.norm2", source)
    gate = net.linear(f"{name}.gate", x, sizes.hidden, bias=False, activation="silu")
    up = net.linear(f"{name}.up", x, sizes.hidden, bias=False)
    _, positions, _ = net.shape(up)
    x = net.append(mul(f"{name}.gated", sizes.hidden, (positions, 1)), gate, up)
    x = net.linear(f"{name}.down", x, sizes.features, bias=False)
    return net.sum(f"{name}.add2", x, source)
