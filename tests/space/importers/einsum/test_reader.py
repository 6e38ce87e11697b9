"""Networks of einsums: the same layers as those that the catalogue's builders make."""

import re
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as some

from archloom.space.importers.einsum import read_einsums
from archloom.space.networks.transformers.llama import Decoder, prefill
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder
from archloom.space.workload import INPUT, Builder, Mask, Network, explain_difference
from archloom.space.workload.layer_builders import conv1d, conv2d

from ....cases.einsum_files import einsums

EXAMPLE = Path(__file__).parents[4] / "examples" / "einsum" / "grouped_attention.yaml"


def same(found: Network, expected: Network) -> None:
    assert not explain_difference(found, expected)
    assert (found.macs, found.params) == (expected.macs, expected.params)


def test_attention_is_that_of_the_catalogue() -> None:
    net = SequenceBuilder()
    maps = [net.input(name, 768, 256) for name in "QKV"]
    net.attention("x", Heads(12, 64), *maps)
    ranks = {"b": 1, "h": 12, "q": 256, "k": "q", "d": 64, "e": "d"}
    found = einsums(
        """
        S[b,h,q,k] = Q[b,h,q,d] * K[b,h,k,d]
        P[b,h,q,k] = softmax(S[b,h,q,k], k)
        O[b,h,q,e] = P[b,h,q,k] * V[b,h,k,e]
        """,
        ranks,
    )
    same(found, net.network("x"))
    assert [layer.name for layer in found.layers] == ["S", "P", "O"]
    line = "O[b,h,q,e] = softmax(Q[b,h,q,d] * K[b,h,k,d], k) * V[b,h,k,e]"
    same(einsums(line, ranks), found)
    # factors in the other order mean the same
    same(
        einsums("S[h,q,k] = K[h,k,d] * Q[h,q,d]", ranks),
        einsums("S[h,q,k] = Q[h,q,d] * K[h,k,d]", ranks),
    )


@pytest.mark.parametrize("window", [0, 100])
@pytest.mark.parametrize("cached", [0, 60])
def test_causal_attention_is_that_of_the_catalogue(window: int, cached: int) -> None:
    net, heads, sees = SequenceBuilder(), Heads(2, 16, sharing=3), Causal(window)
    query = net.input("Q", 96, 256)
    key, value = (net.input(name, 32, 256 + cached) for name in "KV")
    scores = net.scores("S", heads, query, key, sees=sees)
    net.weigh("O", heads, scores, value, sees=sees)
    ranks = {"g": 2, "s": 3, "q": 256, "k": f"q+{cached}", "d": 16, "e": "d"}
    causal = "{queries: q, keys: k}" if not window else "{queries: q, keys: k, window: 100}"
    lines = """
        S[g,s,q,k] = Q[q,g,s,d] * K[k,g,d]
        P[g,s,q,k] = softmax(S[g,s,q,k], k)
        O[q,g,s,e] = P[g,s,q,k] * V[k,g,e]
        """
    found = einsums(lines, ranks, causal=causal)
    same(found, net.network("S"))
    assert [layer.mask for layer in found.layers] == [
        Mask("k", 3, window),
        Mask("k", 3, window),
        Mask("c", 3, window),
    ]
    # in one line, and as a batch of images
    line = "O[b,q,g,s,e] = softmax(Q[b,q,g,s,d] * K[b,k,g,d], k) * V[b,k,g,e]"
    same(einsums(line, {"b": 4, **ranks}, causal=causal, batch="b"), found.with_batch(4))


@pytest.mark.parametrize("batch", [1, 3])
def test_an_encoder_layer_with_biases_is_that_of_bert(batch: int) -> None:
    from archloom.space.networks.transformers.bert import _layer
    from archloom.space.networks.transformers.ragged import Packed

    net = SequenceBuilder()
    _layer(net, "x", net.input("X", 48, 10), Heads(4, 12), Packed.of([(10, 0)]))
    found = einsums(
        """
        Q[b,h,q,d] = X[b,q,m] * Wq[h,d,m] + Bq[h,d]
        K[b,h,k,d] = X[b,k,m] * Wk[h,d,m] + Bk[h,d]
        V[b,h,k,e] = X[b,k,m] * Wv[h,e,m] + Bv[h,e]
        O[b,h,q,e] = softmax(Q[b,h,q,d] * K[b,h,k,d] / 3.5, k) * V[b,h,k,e]
        A[b,q,m] = layer_norm(O[b,h,q,e] * Wo[m,h,e] + X[b,q,m] + Bo[m], m)
        F[b,q,f] = gelu(A[b,q,m] * W1[f,m] + B1[f])
        Y[b,q,m] = layer_norm(F[b,q,f] * W2[m,f] + B2[m] + A[b,q,m], m)
        """,
        {"b": batch, "q": 10, "k": "q", "m": "h*d", "h": 4, "d": 12, "e": "d", "f": "4*m"},
        batch="b",
        weights="[Wq, Bq, Wk, Bk, Wv, Bv, Wo, Bo, W1, B1, W2, B2]",
    )
    same(found, net.network("x").with_batch(batch))


def test_grouped_queries_and_a_gated_perceptron_are_those_of_llama() -> None:
    """The example, with a softmax: a whole decoder layer, no word moved for its sake."""
    text = EXAMPLE.read_text().replace(
        "relu(Q[b,q,g,s,d] * K[b,k,g,d])", "softmax(Q[b,q,g,s,d] * K[b,k,g,d], k)"
    )
    found = einsums_of(text)
    whole = prefill("x", Decoder(1, 512, 2048, Heads(2, 64, sharing=4), 7), 256, all_logits=True)
    # without the norm and the logits at the end, and the table of tokens
    layers = (replace(whole.layers[0], extra_params=0), *whole.layers[1:-2])
    same(found, Network("x", layers, whole.reads[:-2], whole.outputs))


def einsums_of(text: str) -> Network:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        (Path(folder) / "net.yaml").write_text(text)
        return read_einsums(Path(folder) / "net.yaml")


def test_convolutions_pools_and_a_classifier() -> None:
    net = Builder((3, 224, 224))
    x = net.conv("A", INPUT, 64, kernel=7, stride=2, batch_norm=False, activation="relu")
    x = net.maxpool("M", x, kernel=3, stride=2, pad=1)
    x = net.conv("B", x, 64, batch_norm=False, bias=False)
    x = net.conv("D", x, 64, kernel=3, groups=64, batch_norm=False, bias=False)
    x = net.conv("G", x, 32, kernel=3, groups=4, batch_norm=False, bias=False)
    found = einsums(
        """
        A[k,p,q] = relu(I[c,2*p+r-3,2*q+s-3] * W1[k,c,r,s] + B1[k])
        M[k,p2,q2] = max(A[k,2*p2+u-1,2*q2+v-1])
        B[k2,p2,q2] = M[k,p2,q2] * W2[k2,k]
        D[k2,p2,q2] = B[k2,p2+u-1,q2+v-1] * W3[k2,u,v]
        G[g,o,p2,q2] = E[g,i,p2+u-1,q2+v-1] * W4[g,o,i,u,v]
        H[g,o] = mean(G[g,o,p2,q2])
        """,
        {"c": 3, "k": 64, "p": 112, "q": "p", "r": 7, "s": 7, "p2": 56, "q2": 56}
        | {"u": 3, "v": 3, "k2": 64, "g": 4, "i": 16, "o": 8},
        inputs="{I: [c, 224, 224]}",
        weights="[W1, B1, W2, W3, W4]",
    )
    by_name = {layer.name: layer for layer in net.network("x").layers}
    for layer in found.layers[:5]:
        assert layer == by_name[layer.name]
    assert (found.layers[5].operator, found.layers[5].map_shape) == ("avgpool", (32, 1, 1))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dilation", [1, 3])
@pytest.mark.parametrize("pad", [0, 2])
def test_every_window_of_a_convolution(stride: int, dilation: int, pad: int) -> None:
    two = conv2d("Y", 4, 6, (19, 17), (3, 5), stride, pad, dilation, bias=False)
    ranks = {"c": 4, "k": 6, "p": two.p, "q": two.q, "r": 3, "s": 5, "t": stride}
    row, column = (f"{stride}*{o}+{dilation}*{k}-{pad}".replace("-0", "") for o, k in ("pr", "qs"))
    line = f"Y[k,p,q] = I[c,{row},{column}] * W[k,c,r,s]"
    assert einsums(line, ranks, inputs="{I: [c, 19, 17]}", weights="[W]").layers == (two,)
    one = conv1d("Y", 4, 6, 19, 3, stride, pad, dilation, bias=False)
    line = f"Y[k,p] = I[c,{row}] * W[k,c,r]"
    assert einsums(line, ranks | {"p": one.p}, inputs="{I: [c, 19]}", weights="[W]").layers == (
        one,
    )


def test_parentheses_sum_over_what_they_have_in_a_product_unless_others_need_it() -> None:
    ranks = {"q": 4, "m": 8, "f": 6, "k": 5, "e": 3}
    # m is summed over in both; k once, for the mask is a factor value by value
    gated = "F[q,f] = silu(X[q,m] * U[m,f]) * (X[q,m] * V[m,f])"
    assert einsums(gated, ranks, weights="[U, V]").macs == 2 * 4 * 8 * 6
    masked = einsums("O[q,e] = (S[q,k] * M[q,k]) * V[k,e]", ranks)
    assert [layer.operator for layer in masked.layers] == ["mul", "matmul"]
    assert masked.macs == 4 * 5 * 3


def test_a_weight_that_two_lines_read_counts_once() -> None:
    lines = "A[q,n] = X[q,m] * W[m,n]\nB[q,m] = A[q,n] * W[m,n]\nC[q,n] = B[q,m] * W[m,n]"
    found = einsums(lines, {"q": 4, "m": 8, "n": 8}, weights="[W]")
    assert found.params == 64
    assert [layer.weights_of for layer in found.layers] == ["", "A", "A"]


def test_sizes_can_be_chosen_and_others_follow() -> None:
    long = read_einsums(EXAMPLE, {"q": 1024})
    assert long.layers[long.index("S")].k == 1024
    assert long.params == read_einsums(EXAMPLE).params
    assert long.outputs == ("K", "V")


_SIZES = some.integers(1, 6)


@given(
    ranks=some.fixed_dictionaries(dict.fromkeys("abcdef", _SIZES)),
    kinds=some.permutations("abcdef"),
    cuts=some.lists(some.integers(0, 6), min_size=3, max_size=3).map(sorted),
    orders=some.tuples(*[some.randoms(use_true_random=False)] * 3),
    learned=some.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_macs_of_any_product_are_the_product_of_its_ranks(ranks, kinds, cuts, orders, learned):
    """Ranks of both and the result, of one and the result, and of both alone, in any order."""
    i, j, k = cuts
    heads, rows, columns, inner = kinds[:i], kinds[i:j], kinds[j:k], kinds[k:]
    if not inner and not (rows and columns):
        inner, heads = [*inner, *heads[:1]], heads[1:]
    sides = [[*heads, *rows, *inner], [*heads, *inner, *columns], [*heads, *rows, *columns]]
    for side, order in zip(sides, orders, strict=True):
        order.shuffle(side)
    x, y, z = (f"{name}[{','.join(side)}]" for name, side in zip("XYZ", sides, strict=True))
    used = {*sides[0], *sides[1]}
    net = einsums(f"{z} = {x} * {y}", ranks, weights="[Y]" if learned else "[]")
    sizes = {rank: ranks[rank] for rank in used}
    layer = net.layers[-1]
    if not inner and not (rows and columns):
        return  # value by value
    assert net.macs == prod(sizes.values())
    assert layer.output_words == prod(ranks[rank] for rank in sides[2])
    assert net.params == learned * prod(ranks[rank] for rank in sides[1])
    if [layer.operator for layer in net.layers] == [layer.operator]:
        assert layer.input_words + layer.weights == sum(
            prod(ranks[rank] for rank in side) for side in sides[:2]
        )


PAGE = Path(__file__).parents[4] / "docs" / "reference" / "einsum.md"
TABLE = [row for row in PAGE.read_text().splitlines() if re.match(r"\| `\w+\[", row)]


@pytest.mark.parametrize("row", TABLE)
def test_every_line_of_the_page_is_a_layer(row: str) -> None:
    first, *others = re.findall(r"`([^`]*\[[^`]*)`", row)
    left = first.partition(" = ")[0]
    for line in [first, *(text if " = " in text else f"{left} = {text}" for text in others)]:
        learned = [name for name in "WB" if f"* {name}[" in line or f"+ {name}[f]" in line]
        weights = [name for name in learned if name == "W" or "W[" in line]
        ranks = dict.fromkeys(sorted(set("hqkdegsmfcpr")), 4) | {"r": 3, "s": 3}
        if "no layer" in row:
            line = f"{line}\nC[k,q] = relu(B[k,q])"
        net = einsums(line, ranks, weights=f"[{', '.join(weights)}]")
        assert len(net.layers) == 1
