"""DeepSeek-V2-Lite (DeepSeek-AI, arXiv:2405.04434): attention to latents, and experts.

Keys and values of a token are made of one latent vector for all heads, and of one rotated key that
heads share; the cache holds these two (section 2.1). A prompt makes keys and values of all heads of
the latents. A decoded token does not: what would make keys is applied to its queries, and what
would make values to the result (section 2.1.2), so that all heads are queries of one head of
latents. Parameters are the same.

Kernels are dense unless ``causal`` says otherwise (assumption), as those of Llama. Which experts a
token gets: ``experts.py``.
"""

from math import prod
from typing import Final

from archloom.space.workload import Network, Piece, conv2d, matmul

from .experts import Experts, routed
from .transformer import Causal, Heads, SequenceBuilder, check_option

#: appendix B.1: layers, features, heads, features of a head, of a latent, of a rotated key
_LAYERS, _FEATURES, _HEADS, _HEAD, _LATENT, _TURNED = 27, 2048, 16, 128, 512, 64
#: the same: two shared experts and 64 of which a token gets 6, in all layers but the first
_EXPERTS: Final = Experts(64, 6, 1408, shared=2 * 1408)
#: the perceptron of the first layer, and tokens (published model)
_HIDDEN, _VOCABULARY = 10_944, 102_400


def deepseek_prefill(
    *, sequence_length: int = 512, all_logits: bool = False, causal: bool = False
) -> Network:
    """Return the pass over a prompt, with keys and values of all heads.

    Args:
        sequence_length: tokens of the prompt (the default is ours).
        all_logits: make logits for every token, not for the last one alone.
        causal: a group in a loop nest leaves out tiles that the mask drops.

    Raises:
        ValueError: an empty prompt.
    """
    name = "deepseek_v2_lite_prefill"
    check_option(name, "sequence_length", sequence_length)
    logits, sees = sequence_length if all_logits else 1, Causal() if causal else None
    return _pass(name, sequence_length, 0, logits, sees=sees)


def deepseek_decode(*, sequence_length: int = 2048) -> Network:
    """Return the pass that makes one token, with attention to the latents themselves.

    Args:
        sequence_length: tokens that attention sees: those in the cache and the new one.

    Raises:
        ValueError: not even the new token.
    """
    name = "deepseek_v2_lite_decode"
    check_option(name, "sequence_length", sequence_length)
    return _pass(name, 1, sequence_length - 1, 1, absorbed=True)


def _pass(
    name: str,
    tokens: int,
    cached: int,
    logits: int,
    *,
    absorbed: bool = False,
    sees: Causal | None = None,
) -> Network:
    net = SequenceBuilder()
    x = net.input("tokens", _FEATURES, tokens, entries=_VOCABULARY)
    for i in range(_LAYERS):
        layer = f"layer{i}"
        normed = net.rms_norm(f"{layer}.norm1", x)
        if absorbed:
            made = _absorbed(net, layer, normed, cached)
        else:
            made = _expanded(net, layer, normed, sees)
        x = net.sum(f"{layer}.add1", net.linear(f"{layer}.project", made, _FEATURES, bias=False), x)
        normed = net.rms_norm(f"{layer}.norm2", x)
        made = routed(net, layer, normed, _EXPERTS) if i else net.gated(layer, normed, _HIDDEN)
        x = net.sum(f"{layer}.add2", made, x)
    x = net.rms_norm("norm", x)
    last = x if logits == tokens else net.position(x, tokens - 1)
    net.linear("logits", last, _VOCABULARY, bias=False)
    return net.network(name)


def _cached(net: SequenceBuilder, name: str, source: str) -> tuple[str, str]:
    """Add the latents and the rotated key, both of which leave for the cache."""
    both = net.linear(f"{name}.latent", source, _LATENT + _TURNED, bias=False)
    latent = net.rms_norm(f"{name}.latent_norm", net.columns(both, 0, _LATENT))
    key = net.rotary(f"{name}.turned_key", net.columns(both, _LATENT, _TURNED))
    net.leave(latent, key)
    return latent, key


def _queries(net: SequenceBuilder, name: str, source: str) -> tuple[Piece, str]:
    """Add the queries: those for what latents make, and rotated ones; heads lie side by side."""
    query = net.linear(f"{name}.query", source, _HEADS * (_HEAD + _TURNED), bias=False)
    plain = net.columns(query, 0, _HEADS * _HEAD)
    turned = net.columns(query, _HEADS * _HEAD, _HEADS * _TURNED)
    return plain, net.rotary(f"{name}.turned_query", turned)


def _expanded(net: SequenceBuilder, name: str, source: str, sees: Causal | None) -> str:
    plain, turned = _queries(net, name, source)
    latent, key = _cached(net, name, source)
    both = net.linear(f"{name}.keys_values", latent, _HEADS * 2 * _HEAD, bias=False)
    keys, values = (net.columns(both, i * _HEADS * _HEAD, _HEADS * _HEAD) for i in range(2))
    heads = Heads(_HEADS, _HEAD + _TURNED)
    queries = net.beside(f"{name}.queries", plain, turned)
    # each head gets a copy of the rotated key, as in the reference implementation
    keys_of_all = net.spread(f"{name}.keys", _HEADS * (_HEAD + _TURNED), keys, key)
    scores = net.scores(f"{name}.scores", heads, queries, keys_of_all, sees=sees)
    return net.weigh(name, Heads(_HEADS, _HEAD), scores, values, sees=sees)


def _absorbed(net: SequenceBuilder, name: str, source: str, cached: int) -> str:
    plain, turned = _queries(net, name, source)
    latent, key = _cached(net, name, source)
    sizes = (_HEADS * _HEAD, _HEADS * _LATENT, (1, 1))
    absorbed = conv2d(f"{name}.absorbed_query", *sizes, 1, groups=_HEADS, bias=False)
    queries = net.beside(f"{name}.queries", net.append(absorbed, plain), turned)
    latents: tuple[Piece, ...] = (latent,)
    keys: tuple[Piece, ...] = (key,)
    if cached:
        latents = (net.input(f"{name}.latents", _LATENT, cached), latent)
        keys = (net.input(f"{name}.turned_keys", _TURNED, cached), key)
    # a key is a latent and, below it, the rotated one
    words = tuple(prod(net.shape(piece)) for piece in (*latents, *keys))
    layer = matmul(f"{name}.scores", 1, _HEADS, _LATENT + _TURNED, cached + 1, second=words)
    scores = net.append(layer, queries, *latents, *keys)
    made = net.weigh(name, Heads(1, _LATENT, sharing=_HEADS), scores, *latents)
    value = conv2d(f"{name}.values", *sizes[1::-1], (1, 1), 1, groups=_HEADS, bias=False)
    return net.append(value, made)
