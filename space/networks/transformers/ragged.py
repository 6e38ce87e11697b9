"""Batches of sequences of different lengths (ragged batches): packed tokens, attention of each.

Tokens of all sequences lie one after another in one map, without padding. Layers that treat tokens
alike run over all of them. Attention runs once for each distinct length, over all sequences that
have it: they are more heads of the same products. Longer sequences come first.

The results of attention are put one after another by a copy, as concatenations along rows are
everywhere here (assumption: nothing writes rows into a larger map; kernels for packed batches do,
and save this copy).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Final

from archloom.space.workload import Cut, Slice, copy, matmul, softmax

from .transformer import Causal, Heads, SequenceBuilder, check_option, masks

#: most sequences in one batch: a layer reads at most so many maps
MOST_SEQUENCES: Final = 1024


@dataclass(frozen=True, slots=True)
class Alike:
    """Sequences of the same length, one after another.

    Attributes:
        start: the first token of them all.
        new, cached: tokens of each, and tokens before these, whose keys and values are in a cache.
        count: how many sequences there are.
    """

    start: int
    new: int
    cached: int
    count: int

    @property
    def tokens(self) -> int:
        """New tokens of all of them."""
        return self.new * self.count


@dataclass(frozen=True, slots=True)
class Packed:
    """Sequences whose tokens are packed, longer ones first.

    Attributes:
        sequences: new tokens of each, and tokens before these in a cache.
    """

    sequences: tuple[tuple[int, int], ...]

    @staticmethod
    def of(sequences: Sequence[tuple[int, int]]) -> "Packed":
        """Return sequences in the order in which they are packed."""
        return Packed(tuple(sorted(sequences, reverse=True)))

    @property
    def tokens(self) -> int:
        """New tokens of all sequences."""
        return sum(new for new, _ in self.sequences)

    def alike(self, sharing: int) -> tuple[Alike, ...]:
        """Return the sequences by their lengths; one of as many as heads that share keys by itself.

        Else there would be as many rows of queries as tokens, which are not in the same order.
        """
        found, start = list[Alike](), 0
        for (new, cached), some in groupby(self.sequences):
            count = len(list(some))
            for part in (count - 1, 1) if count == sharing > 1 else (count,):
                found.append(Alike(start, new, cached, part))
                start += found[-1].tokens
        return tuple(found)

    @property
    def first(self) -> tuple[int, ...]:
        """Places of the first token of each sequence."""
        return tuple(
            last + 1 - new for last, (new, _) in zip(self.last, self.sequences, strict=True)
        )

    @property
    def last(self) -> tuple[int, ...]:
        """Places of the last token of each sequence."""
        return tuple(end - 1 for end in accumulate(new for new, _ in self.sequences))


def lengths_of(
    network: str, length: int, lengths: tuple[int, ...], most: int | None = None
) -> tuple[int, ...]:
    """Return the lengths of sequences: of one, its option ``sequence_length``, unless the option
    ``lengths`` says those of several.

    Raises:
        ValueError: too many sequences, or lengths not from 1 to ``most``, all of them at once;
            names the nearest that are.
    """
    if not lengths:
        check_option(network, "sequence_length", length, most=most)
        return (length,)
    if len(lengths) > MOST_SEQUENCES:
        raise ValueError(
            f"network {network}: lengths has {len(lengths)} sequences, must be at most "
            f"{MOST_SEQUENCES}"
        )
    wrong = list[str]()
    for number, one in enumerate(lengths):
        try:
            check_option(network, f"lengths[{number}]", one, most=most)
        except ValueError as error:
            wrong.append(str(error).removeprefix(f"network {network}: "))
    if wrong:
        raise ValueError(f"network {network}: {'; '.join(wrong)}")
    return lengths


def attend(
    net: SequenceBuilder,
    name: str,
    heads: Heads,
    maps: tuple[str, str, str],
    packed: Packed,
    sees: Causal | None,
) -> str:
    """Add attention of sequences to their own tokens and caches; returns its result for all tokens.

    Args:
        net: that it is added to.
        name: of the attention.
        heads: of it.
        maps: queries, keys and values of all tokens.
        packed: the sequences.
        sees: what their queries see.
    """
    query, key, value = maps
    if len(packed.sequences) == 1:
        width, cached = heads.count * heads.features, packed.sequences[0][1]
        old_keys, old_values = (
            (net.input(f"{name}.{part}", width, cached),) if cached else ()
            for part in ("keys", "values")
        )
        scores = net.scores(f"{name}.scores", heads, query, *old_keys, key, sees=sees)
        return net.weigh(name, heads, scores, *old_values, value, sees=sees)
    alike = packed.alike(heads.sharing)
    found = [_attend_alike(net, f"{name}.at_{one.start}", heads, maps, one, sees) for one in alike]
    shape = net.channels(query), packed.tokens, 1
    words = [shape[0] * one.tokens for one in alike]
    return net.append(copy(f"{name}.packed", shape, words), *found)


def _attend_alike(
    net: SequenceBuilder,
    name: str,
    heads: Heads,
    maps: tuple[str, str, str],
    one: Alike,
    sees: Causal | None,
) -> str:
    """Attention of sequences of the same length: as many times the heads."""
    query, key, value = (_rows(net, source, one) for source in maps)
    width, every = heads.count * heads.features, heads.count * one.count
    old_keys, old_values = (
        (net.input(f"{name}.{part}", width * one.count, one.cached),) if one.cached else ()
        for part in ("keys", "values")
    )
    rows, length = one.new * heads.sharing, one.cached + one.new
    words = width * one.count
    pieces = (words * one.cached, words * one.new) if one.cached else ()
    along_k, along_c = masks(heads, sees)
    layer = matmul(f"{name}.scores", every, rows, heads.features, length, second=pieces)
    scores = net.append(replace(layer, mask=along_k), query, *old_keys, key)
    vectors = replace(softmax(f"{name}.softmax", length, rows, every), mask=along_k)
    shares = net.append(vectors, scores)
    layer = matmul(f"{name}.context", every, rows, length, heads.features, second=pieces)
    context = net.append(replace(layer, mask=along_c), shares, *old_values, value)
    return net.read_as(context, width * heads.sharing, one.tokens)


def _rows(net: SequenceBuilder, source: str, one: Alike) -> Cut:
    """Tokens of some sequences, as a box also where there are no others: positions in it are not
    those of its readers."""
    features, _, _ = of = net.shape(source)
    return Cut(source, Slice((0, one.start, 0), (features, one.tokens, 1), of))


def tokens_at(net: SequenceBuilder, name: str, source: str, places: tuple[int, ...]) -> str | Cut:
    """Return the features of some tokens, brought together by a copy if they are several and not
    all."""
    features, tokens, _ = of = net.shape(source)
    if len(places) == 1:
        return net.position(source, places[0])
    if len(places) == tokens:
        return source
    cuts = [Cut(source, Slice((0, place, 0), (features, 1, 1), of)) for place in places]
    return net.append(copy(name, (features, len(places), 1), [features] * len(places)), *cuts)


def last_tokens(net: SequenceBuilder, source: str, packed: Packed) -> str | Cut:
    """Return the features of the last token of each sequence; all if there are no others."""
    if len(packed.sequences) == packed.tokens:
        return source
    return tokens_at(net, "last", source, packed.last)
