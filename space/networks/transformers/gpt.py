"""GPT-3 (Brown et al., NeurIPS 2020): the prompt at once, or one token with a cache.

The architecture is that of GPT-2 (section 2.1): norms before each part and at the end, learned
positions, a perceptron of four times the features, biases, and an output layer that shares the
table of embeddings. Kernels are dense unless ``causal`` says otherwise (assumption): all pairs of
positions are scored, though the causal mask drops nearly half of them, and though every other layer
of GPT-3 is banded (the paper does not say how wide).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from archloom.space.workload import Network

from .ragged import Packed, attend, last_tokens, lengths_of
from .transformer import Causal, Heads, SequenceBuilder, check_option

#: byte pairs of the published tokenizer; tokens of context (Brown et al., section 2.1)
_WORDS, _POSITIONS = 50_257, 2048


@dataclass(frozen=True, slots=True)
class GptSizes:
    """Layers and heads of a model."""

    layers: int
    heads: Heads


#: Brown et al., Table 2.1
MODELS: Final[Mapping[str, GptSizes]] = {
    "gpt3_6_7b": GptSizes(32, Heads(32, 128)),
    "gpt3_175b": GptSizes(96, Heads(96, 128)),
}


def gpt_prefill(
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

    Args:
        model: one of :data:`MODELS`.
        sequence_length: tokens of the prompt (the default is ours).
        lengths: tokens of each of several prompts, packed without padding, in place of
            ``sequence_length``.
        cached: tokens before each, whose keys and values are in the cache.
        all_logits: make logits for every token, not for the last one of each prompt alone.
        causal: a group in a loop nest leaves out tiles that the mask drops.

    Raises:
        ValueError: an empty prompt, more tokens than there are positions, or too many prompts.
    """
    name = f"{model}_prefill"
    check_option(name, "cached", cached, least=0, most=_POSITIONS - 1)
    found = lengths_of(name, sequence_length, lengths, _POSITIONS - cached)
    sees = Causal() if causal else None
    sequences = [(length, cached) for length in found]
    return _pass(name, MODELS[model], sequences, all_logits=all_logits, sees=sees)


def gpt_decode(
    model: str, /, *, sequence_length: int = 2048, lengths: tuple[int, ...] = ()
) -> Network:
    """Return the pass that makes one token.

    Args:
        model: one of :data:`MODELS`.
        sequence_length: tokens that attention sees: those in the cache and the new one.
        lengths: the same of each of several sequences, in place of ``sequence_length``. Each gets
            one token.

    Raises:
        ValueError: not even the new token, more tokens than there are positions, or too many
            sequences.
    """
    name = f"{model}_decode"
    found = lengths_of(name, sequence_length, lengths, _POSITIONS)
    return _pass(name, MODELS[model], [(1, length - 1) for length in found])


def _pass(
    name: str,
    sizes: GptSizes,
    sequences: Sequence[tuple[int, int]],
    *,
    all_logits: bool = False,
    sees: Causal | None = None,
) -> Network:
    net, packed = SequenceBuilder(), Packed.of(sequences)
    features = sizes.heads.count * sizes.heads.features
    # the table of words counts once, with the output layer
    words = net.input("tokens", features, packed.tokens)
    places = net.input("positions", features, packed.tokens, entries=_POSITIONS)
    x = net.sum("embedding", words, places)
    for i in range(sizes.layers):
        x = _layer(net, f"layer{i}", x, sizes.heads, packed, sees)
    x = net.layer_norm("norm", x)
    last = x if all_logits else last_tokens(net, x, packed)
    net.linear("logits", last, _WORDS, bias=False)
    return net.network(name)


def _layer(
    net: SequenceBuilder, name: str, source: str, heads: Heads, packed: Packed, sees: Causal | None
) -> str:
    """Attention and a perceptron, each of a norm and with a shortcut."""
    features = net.channels(source)
    x = net.layer_norm(f"{name}.norm1", source)
    x = attend(net, name, heads, net.projected(name, heads, x), packed, sees)
    net.leave(f"{name}.key", f"{name}.value")
    source = net.sum(f"{name}.add1", net.linear(f"{name}.project", x, features), source)
    x = net.layer_norm(f"{name}.norm2", source)
    x = net.linear(f"{name}.expand", x, 4 * features, activation="gelu")
    return net.sum(f"{name}.add2", net.linear(f"{name}.contract", x, features), source)
