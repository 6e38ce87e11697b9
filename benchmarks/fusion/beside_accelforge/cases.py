"""Designs, and which cascades run on them."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from .cascade import Cascade
from .design import Design

#: weights stand in the PEs, columns share inputs, rows add up
STATIONARY: Final = Design("stationary 32x32", 32, 32, "K", "C", (1, 0, 0), 1024, 128, 16)

LARGE: Final = Design("stationary 128x128", 128, 128, "K", "C", (1, 0, 0), 8192, 512, 64)

#: PEs of a column hold rows of weights and inputs of their own and add up along it, columns share
#: weights, as in Eyeriss, with its spads (Chen et al., JSSC 2017)
EDGE: Final = Design(
    "rows stationary 16x16", 16, 16, "P", "C", (224, 12, 24), 128, 32, 4, spad_pj=1.0, buffer_pj=12
)


@dataclass(frozen=True, slots=True)
class Case:
    """A cascade on a design.

    Attributes:
        design, cascade: what runs where.
        imperfect: whether loop bounds need not divide, on both sides.
        unequal: what one side cannot say, and counts otherwise; empty if both count the same.
    """

    design: Design
    cascade: Cascade
    imperfect: bool = False
    unequal: str = ""

    @property
    def name(self) -> str:
        """Names it in files and tables."""
        return self.cascade.name


def attention(
    name: str, queries: int, keys: int, heads: int, features: int, sharing: int = 1
) -> Cascade:
    """Return QK^T and AV; ``sharing`` heads of queries read the same keys and values."""
    q = "q," if sharing > 1 else ""
    lines = f"QK[m,{q}p,h] = Q[m,{q}h,e] * K[p,h,e]", f"AV[m,{q}h,f] = QK[m,{q}p,h] * V[p,h,f]"
    sizes = {"m": queries, "p": keys, "h": heads, "e": features, "f": features}
    return Cascade(name, lines, sizes | ({"q": sharing} if sharing > 1 else {}))


def softmax_attention(name: str, queries: int, keys: int, heads: int, features: int) -> Cascade:
    """Return attention with its softmax."""
    plain = attention(name, queries, keys, heads, features)
    lines = (
        plain.lines[0],
        "S[m,p,h] = softmax(QK[m,p,h])",
        plain.lines[1].replace("QK[m", "S[m"),
    )
    return replace(plain, lines=lines)


def projected_attention(name: str, tokens: int, heads: int, features: int) -> Cascade:
    """Return attention of six products: values, keys, queries, QK^T, AV and the output."""
    lines = (
        *(f"{x}[m,h,e] = I[m,d] * W{x}[h,e,d]" for x in "VKQ"),
        "QK[m,p,h] = Q[m,h,e] * K[p,h,e]",
        "AV[m,h,f] = QK[m,p,h] * V[p,h,f]",
        "Z[m,g] = AV[m,h,f] * WZ[h,f,g]",
    )
    width = heads * features
    sizes = {"m": tokens, "p": tokens, "h": heads, "e": features, "f": features}
    return Cascade(name, lines, sizes | {"d": width, "g": width})


def chain(name: str, tokens: int, *features: int) -> Cascade:
    """Return products of ``tokens`` rows with learned weights, one after another."""
    ranks = "abcdefg"[: len(features)]
    lines = tuple(
        f"T{i + 1}[m,{after}] = {f'T{i}' if i else 'I'}[m,{before}] * W{i + 1}[{before},{after}]"
        for i, (before, after) in enumerate(pairwise(ranks))
    )
    return Cascade(name, lines, {"m": tokens, **dict(zip(ranks, features, strict=True))})


def gated_mlp(name: str, tokens: int, features: int, hidden: int) -> Cascade:
    """Return an MLP whose hidden features are those of one product times those of another."""
    lines = (
        "U[m,c] = I[m,d] * WU[d,c]",
        "G[m,c] = I[m,d] * WG[d,c]",
        "H[m,c] = U[m,c] * G[m,c]",
        "Z[m,j] = H[m,c] * WZ[c,j]",
    )
    return Cascade(name, lines, {"m": tokens, "d": features, "c": hidden, "j": features})


def _of(design: Design, *cascades: Cascade) -> tuple[Case, ...]:
    return tuple(Case(design, cascade) for cascade in cascades)


def _with(kib: int) -> Design:
    return replace(STATIONARY, name=f"{STATIONARY.name}, {kib} KiB", buffer_kib=kib)


#: the first nine were compared first; more of the same kind follow, then other designs
CASES: Final = (
    *_of(
        STATIONARY,
        attention("attention_256", 256, 256, 12, 64),
        attention("attention_1024", 1024, 1024, 12, 64),
    ),
    *_of(_with(256), attention("attention_1024_256k", 1024, 1024, 12, 64)),
    *_of(STATIONARY, attention("attention_1024_wide", 1024, 1024, 32, 128)),
    Case(STATIONARY, attention("attention_197", 197, 197, 12, 64), imperfect=True),
    *_of(
        STATIONARY,
        chain("mlp_197", 197, 768, 3072, 768),
        chain("mlp_256", 256, 768, 3072, 768),
    ),
    *_of(_with(768), projected_attention("projected_256", 256, 8, 64)),
    *_of(_with(256), chain("products_512", 512, 512, 512, 512)),
    *_of(
        STATIONARY,
        attention("attention_512_wide", 512, 512, 16, 64),
        attention("grouped_1024", 1024, 1024, 8, 128, sharing=4),
        attention("multi_query_512", 512, 512, 1, 64, sharing=16),
        attention("cross_256_1500", 256, 1500, 8, 64),
        attention("chunk_128_4096", 128, 4096, 8, 128),
        attention("decode_2048", 1, 2048, 32, 128),
        attention("decode_grouped_2048", 1, 2048, 8, 128, sharing=4),
        chain("chain_of_4", 512, 256, 1024, 256, 1024, 256),
    ),
    *_of(_with(256), chain("large_reduction", 256, 512, 8192, 512)),
    *_of(STATIONARY, gated_mlp("gated_mlp_256", 256, 768, 2048)),
    Case(
        STATIONARY,
        softmax_attention("softmax_256", 256, 256, 12, 64),
        unequal="AccelForge treats softmax as elementwise: one pass, and no sum over keys",
    ),
    *_of(
        EDGE,
        attention("edge_attention_256", 256, 256, 4, 64),
        chain("edge_mlp_128", 128, 256, 1024, 256),
        attention("edge_grouped_256", 256, 256, 2, 64, sharing=4),
        attention("edge_decode_512", 1, 512, 8, 64),
    ),
    *_of(
        LARGE,
        attention("large_attention_2048", 2048, 2048, 16, 128),
        attention("large_grouped_2048", 2048, 2048, 8, 128, sharing=4),
        attention("large_decode_8192", 1, 8192, 8, 128, sharing=4),
        chain("large_mlp_1024", 1024, 1024, 4096, 1024),
        projected_attention("large_projected_1024", 1024, 8, 128),
    ),
    # nothing waits for DRAM: what fusing spares is energy alone
    *_of(
        replace(STATIONARY, name=f"{STATIONARY.name}, fast DRAM", dram_words=64),
        *(chain(f"chain_of_{n}_128", 128, *[128] * (n + 1)) for n in (1, 2, 3, 4)),
    ),
)
