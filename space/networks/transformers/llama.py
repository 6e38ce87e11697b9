"""Llama-style decoders: the prompt at once (prefill), or one token with a cache (decode).

Grouped-query attention (Ainslie et al., EMNLP 2023), rotary positions (Su et al.,
arXiv:2104.09864), root-mean-square norms before each part (Zhang and Sennrich, NeurIPS 2019) and
a gated perceptron (Shazeer, arXiv:2002.05202), none with biases, as Touvron et al.,
arXiv:2302.13971, section 2.2, put them together.

Keys and values of a token leave the chip for the cache, keys as the rotation made them. A decoded
token reads the cache of all tokens before it. Kernels are dense unless ``causal`` says otherwise
(assumption): a prompt's scores are computed for all pairs of its tokens, though the causal mask
drops nearly half of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from archloom.space.workload import Network

from .experts import Experts, routed
from .ragged import Packed, attend, last_tokens, lengths_of
from .transformer import Causal, Heads, SequenceBuilder, check_option


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
        window: tokens that a token sees, itself among them; 0 for all before it.
        experts: perceptrons of which each token gets some; None for one that all get.
    """

    layers: int
    features: int
    hidden: int
    heads: Heads
    vocabulary: int
    tied: bool = False
    window: int = 0
    experts: Experts | None = None


#: Grattafiori et al., arXiv:2407.21783, Table 3; Llama 3.2 and the vocabulary: published models
MODELS: Final[Mapping[str, Decoder]] = {
    "llama3_8b": Decoder(32, 4096, 14_336, Heads(8, 128, sharing=4), 128_256),
    "llama3_70b": Decoder(80, 8192, 28_672, Heads(8, 128, sharing=8), 128_256),
    "llama32_1b": Decoder(16, 2048, 8192, Heads(8, 64, sharing=4), 128_256, tied=True),
    # Jiang et al., arXiv:2310.06825, Table 1
    "mistral_7b": Decoder(32, 4096, 14_336, Heads(8, 128, sharing=4), 32_000, window=4096),
    # Jiang et al., arXiv:2401.04088, Table 1; no window: the context is 32,768 tokens, dense
    "mixtral_8x7b": Decoder(
        32, 4096, 14_336, Heads(8, 128, sharing=4), 32_000, experts=Experts(8, 2, 14_336)
    ),
}


def llama_prefill(
    model: str,
    /,
    *,
    sequence_length: int = 512,
    lengths: tuple[int, ...] = (),
    cached: int = 0,
    all_logits: bool = False,
    causal: bool = False,
) -> Network:
    """Return the pass over a prompt, or over a chunk of one.

    Of a model with a window, a chunk is at most one window long, unless it is causal. Its tokens
    are scored with each other and with the cached ones that the first of them sees: as published
    (Jiang et al., arXiv:2310.06825, section 2), with what the masks drop computed.

    Args:
        model: one of :data:`MODELS`.
        sequence_length: tokens of the prompt (the default is ours, as that of a decoded token).
        lengths: tokens of each of several prompts, packed without padding, in place of
            ``sequence_length``.
        cached: tokens before each, whose keys and values are in the cache.
        all_logits: make logits for every token, not for the last one of each prompt alone.
        causal: a group in a loop nest leaves out tiles that the mask, or the window, drops.

    Raises:
        ValueError: an empty prompt, one longer than the window, or too many.
    """
    name = f"{model}_prefill"
    given = sequence_length, lengths
    return _chunk(name, MODELS[model], given, cached, all_logits, causal)


def mixtral_prefill(
    *,
    sequence_length: int = 512,
    lengths: tuple[int, ...] = (),
    cached: int = 0,
    all_logits: bool = False,
    active_experts: int = 8,
    causal: bool = False,
) -> Network:
    """Return the pass of Mixtral 8x7B over a prompt, or over a chunk of one.

    Args:
        sequence_length: tokens of the prompt.
        lengths: tokens of each of several prompts, packed without padding, in place of
            ``sequence_length``.
        cached: tokens before each, whose keys and values are in the cache.
        all_logits: make logits for every token, not for the last one of each prompt alone.
        active_experts: over how many experts of each layer the tokens are spread, evenly.
        causal: a group in a loop nest leaves out tiles that the mask drops.

    Raises:
        ValueError: an empty prompt, too many, or no such number of experts.
    """
    name = "mixtral_8x7b_prefill"
    sizes, given = _with_active(name, active_experts), (sequence_length, lengths)
    return _chunk(name, sizes, given, cached, all_logits, causal)


def mixtral_decode(*, sequence_length: int = 2048, lengths: tuple[int, ...] = ()) -> Network:
    """Return the pass of Mixtral 8x7B that makes one token, with two experts in each layer.

    Args:
        sequence_length: tokens that attention sees: those in the cache and the new one.
        lengths: the same of each of several sequences, in place of ``sequence_length``.

    Raises:
        ValueError: not even the new token, or too many sequences.
    """
    return llama_decode("mixtral_8x7b", sequence_length=sequence_length, lengths=lengths)


def _with_active(name: str, active: int) -> Decoder:
    sizes = MODELS["mixtral_8x7b"]
    assert sizes.experts
    least, most = sizes.experts.chosen, sizes.experts.count
    check_option(name, "active_experts", active, least=least, most=most)
    return replace(sizes, experts=replace(sizes.experts, active=active))


def _chunk(
    name: str,
    sizes: Decoder,
    given: tuple[int, tuple[int, ...]],
    cached: int,
    all_logits: bool,
    causal: bool,
) -> Network:
    most = None if causal else sizes.window or None
    lengths = lengths_of(name, *given, most)
    check_option(name, "cached", cached, least=0)
    sees = Causal(sizes.window) if causal else None
    sequences = [(length, cached) for length in lengths]
    return _pass(name, sizes, sequences, all_logits=all_logits, sees=sees)


def llama_decode(
    model: str, /, *, sequence_length: int = 2048, lengths: tuple[int, ...] = ()
) -> Network:
    """Return the pass that makes one token.

    Args:
        model: one of :data:`MODELS`.
        sequence_length: tokens that attention sees: those in the cache and the new one. Of a
            model with a window, tokens before it are neither kept nor read.
        lengths: the same of each of several sequences, in place of ``sequence_length``. Each gets
            one token.

    Raises:
        ValueError: not even the new token, or too many sequences.
    """
    name = f"{model}_decode"
    return decode(name, MODELS[model], *lengths_of(name, sequence_length, lengths))


def prefill(name: str, sizes: Decoder, *lengths: int, all_logits: bool = False) -> Network:
    """Return the pass of any decoder over prompts of some lengths, as :func:`llama_prefill`."""
    return _pass(name, sizes, [(length, 0) for length in lengths], all_logits=all_logits)


def decode(name: str, sizes: Decoder, *lengths: int) -> Network:
    """Return the pass of any decoder that makes the last of ``lengths`` tokens of sequences."""
    return _pass(name, sizes, [(1, length - 1) for length in lengths])


def _pass(
    name: str,
    sizes: Decoder,
    sequences: Sequence[tuple[int, int]],
    *,
    all_logits: bool = False,
    sees: Causal | None = None,
) -> Network:
    """New tokens of sequences after cached ones; logits of all or of the last ones."""
    net = SequenceBuilder()
    # with a window, the first of the new tokens sees itself and so many before it
    most = sizes.window - 1 if sizes.window else None
    seen = [(new, cached if most is None else min(cached, most)) for new, cached in sequences]
    packed = Packed.of(seen)
    # a tied table counts once, with the output layer
    entries = 0 if sizes.tied else sizes.vocabulary
    x = net.input("tokens", sizes.features, packed.tokens, entries=entries)
    for i in range(sizes.layers):
        x = _attention(net, f"layer{i}", x, sizes.heads, packed, sees)
        x = _perceptron(net, f"layer{i}", x, sizes)
    x = net.rms_norm("norm", x)
    last = x if all_logits else last_tokens(net, x, packed)
    net.linear("logits", last, sizes.vocabulary, bias=False)
    return net.network(name)


def _attention(
    net: SequenceBuilder, name: str, source: str, heads: Heads, packed: Packed, sees: Causal | None
) -> str:
    features = net.channels(source)
    width = heads.count * heads.features
    x = net.rms_norm(f"{name}.norm1", source)
    query = net.linear(f"{name}.query", x, width * heads.sharing, bias=False)
    query = net.rotary(f"{name}.turned_query", query)
    key = net.linear(f"{name}.key", x, width, bias=False)
    key = net.rotary(f"{name}.turned_key", key)
    value = net.linear(f"{name}.value", x, width, bias=False)
    net.leave(key, value)
    x = attend(net, name, heads, (query, key, value), packed, sees)
    x = net.linear(f"{name}.project", x, features, bias=False)
    return net.sum(f"{name}.add1", x, source)


def _perceptron(net: SequenceBuilder, name: str, source: str, sizes: Decoder) -> str:
    """A gated perceptron, or some of several, with a norm before and a shortcut."""
    x = net.rms_norm(f"{name}.norm2", source)
    x = routed(net, name, x, sizes.experts) if sizes.experts else net.gated(name, x, sizes.hidden)
    return net.sum(f"{name}.add2", x, source)
