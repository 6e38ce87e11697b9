"""Whisper (Radford et al., ICML 2023): the encoder of half a minute of speech, and its decoder.

Two convolutions over a log-mel spectrogram, the second of stride 2, and a transformer with norms
before each part (section 2.2). Keys have no bias, as in the reference implementation. A decoded
token reads the cache of all tokens before it, and in each layer keys and values that were made of
the encoder's result once for all tokens (``cross.keys``, ``cross.values``); the network without
such a cache is ``first``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from archloom.space.workload import INPUT, Network, conv1d

from .transformer import Heads, SequenceBuilder, check_option

#: mel channels, frames of 10 ms (section 2.2); byte pairs and text positions (published models)
_MELS, _FRAMES, _WORDS, _POSITIONS = 80, 3000, 51_865, 448
_ENCODED: Final = _FRAMES // 2


@dataclass(frozen=True, slots=True)
class WhisperSizes:
    """Layers of encoder and of decoder, and heads."""

    layers: int
    heads: Heads


#: Radford et al., Table 1
MODELS: Final[Mapping[str, WhisperSizes]] = {
    "whisper_base": WhisperSizes(6, Heads(8, 64)),
    "whisper_large": WhisperSizes(32, Heads(20, 64)),
}


def whisper_encoder(model: str, /) -> Network:
    """Return the encoder of one of :data:`MODELS` over 30 s of speech.

    Positions are sines and cosines, nothing learned.
    """
    sizes = MODELS[model]
    features = sizes.heads.count * sizes.heads.features
    net = SequenceBuilder((_MELS, _FRAMES, 1))
    x = net.append(conv1d("conv1", _MELS, features, _FRAMES, 3, 1, 1, activation="gelu"), INPUT)
    x = net.append(conv1d("conv2", features, features, _FRAMES, 3, 2, 1, activation="gelu"), x)
    x = net.sum("embedding", x, net.input("positions", features, _ENCODED))
    for i in range(sizes.layers):
        name = f"layer{i}"
        normed = net.layer_norm(f"{name}.norm1", x)
        x = _attended(net, name, x, net.cached_attention(name, sizes.heads, normed, key_bias=False))
        x = _perceptron(net, name, x)
    net.layer_norm("norm", x)
    return net.network(f"{model}_encoder")


def whisper_decoder(model: str, /, *, sequence_length: int = 448, first: bool = False) -> Network:
    """Return the pass of the decoder that makes one token.

    Args:
        model: one of :data:`MODELS`.
        sequence_length: tokens that attention sees: those in the cache and the new one.
        first: also make the keys and values of the encoder's result, as for the first token.

    Raises:
        ValueError: not even the new token, or more tokens than there are positions.
    """
    name = f"{model}_decoder"
    check_option(name, "sequence_length", sequence_length, most=_POSITIONS)
    heads = MODELS[model].heads
    features = heads.count * heads.features
    net = SequenceBuilder()
    # the table of words counts once, with the output layer
    words = net.input("tokens", features, 1)
    x = net.sum("embedding", words, net.input("positions", features, 1, entries=_POSITIONS))
    speech = net.input("speech", features, _ENCODED) if first else ""
    for i in range(MODELS[model].layers):
        layer = f"layer{i}"
        normed = net.layer_norm(f"{layer}.norm1", x)
        made = net.cached_attention(layer, heads, normed, sequence_length - 1, key_bias=False)
        net.leave(f"{layer}.key", f"{layer}.value")
        x = _attended(net, layer, x, made)
        x = _crossed(net, f"{layer}.cross", x, heads, speech)
        x = _perceptron(net, layer, x)
    x = net.layer_norm("norm", x)
    net.linear("logits", x, _WORDS, bias=False)
    return net.network(name)


def _crossed(net: SequenceBuilder, name: str, source: str, heads: Heads, speech: str) -> str:
    """Attention to what the encoder made."""
    features = net.channels(source)
    query = net.linear(f"{name}.query", net.layer_norm(f"{name}.norm", source), features)
    if speech:
        key = net.linear(f"{name}.key", speech, features, bias=False)
        value = net.linear(f"{name}.value", speech, features)
        net.leave(key, value)
    else:
        # the layers that made them are no part of this pass, but of the model
        key = net.input(f"{name}.keys", features, _ENCODED, values=features * features)
        value = net.input(f"{name}.values", features, _ENCODED, values=features * (features + 1))
    return _attended(net, name, source, net.attention(name, heads, query, key, value))


def _attended(net: SequenceBuilder, name: str, source: str, made: str) -> str:
    x = net.linear(f"{name}.project", made, net.channels(source))
    return net.sum(f"{name}.add1", x, source)


def _perceptron(net: SequenceBuilder, name: str, source: str) -> str:
    features = net.channels(source)
    x = net.layer_norm(f"{name}.norm2", source)
    x = net.linear(f"{name}.expand", x, 4 * features, activation="gelu")
    return net.sum(f"{name}.add2", net.linear(f"{name}.contract", x, features), source)
