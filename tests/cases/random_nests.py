"""Random groups of transformers' layers, and random loop nests around them that obey the rules."""

from dataclasses import dataclass, replace
from math import ceil, prod

import numpy as np

from archloom.evaluators.fusion.nest import (
    GroupRanks,
    NestGroup,
    depths,
    group_ranks,
    masked_pair,
    nest_faults,
    nest_group,
)
from archloom.space.fusion import STREAMED, LoopNest, NestLoop
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder
from archloom.space.workload import Mask, Network
from archloom.space.workload.layer_builders import activation, matmul, mul
from archloom.space.workload.vector_layer_builders import rotary, softmax

#: iterations of a nest that a walk through all of them may take
MOST_ITERATIONS = 300


@dataclass(frozen=True)
class NestCase:
    """Some layers of a network, and a nest around them."""

    network: Network
    members: tuple[int, ...]
    group: NestGroup
    nest: LoopNest


class Drawing:
    """A network that grows by blocks over one map; features and positions are up to ``most``."""

    def __init__(self, rng: np.random.Generator, most: int = 9) -> None:
        self.rng, self.most = rng, most
        self.builder = SequenceBuilder()
        self.count = 0
        self.maps = [self.input(self.size(), self.size())]

    def size(self, low: int = 2, high: int = 0) -> int:
        return int(self.rng.integers(low, (high or self.most) + 1))

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def input(self, features: int, positions: int) -> str:
        return self.builder.input(self.name("in"), features, positions)

    @property
    def last(self) -> str:
        return self.maps[-1]

    def shape(self, name: str) -> tuple[int, int, int]:
        return self.builder.shape(name)

    def linear(self, source: str, features: int) -> str:
        return self.builder.linear(self.name("linear"), source, features, bias=False)

    def norm(self, source: str) -> str:
        make = self.builder.layer_norm if self.chance(0.5) else self.builder.rms_norm
        return make(self.name("norm"), source)

    def unary(self, source: str) -> str:
        features, positions, _ = self.shape(source)
        layer = activation(self.name("act"), "gelu", features, (positions, 1))
        return self.builder.append(layer, source)

    def product(self, *sources: str) -> str:
        features, positions, _ = self.shape(sources[0])
        return self.builder.append(mul(self.name("mul"), features, (positions, 1)), *sources)

    # blocks: each adds maps of which the next one reads the last

    def chain(self) -> None:
        for _ in range(self.size(1, 4)):
            self.maps.append(self.linear(self.last, self.size()))

    def mlp(self) -> None:
        before = self.last
        source = self.norm(before) if self.chance(0.4) else before
        hidden = self.size()
        up = self.linear(source, hidden)
        if self.chance(0.6):
            gate = self.linear(source, hidden)
            up = self.product(self.unary(gate) if self.chance(0.5) else gate, up)
        elif self.chance(0.5):
            up = self.unary(up)
        down = self.linear(up, self.shape(before)[0] if self.chance(0.7) else self.size())
        self.maps.append(down)
        self.residual(before)

    def residual(self, before: str) -> None:
        if self.shape(before) == self.shape(self.last) and self.chance(0.6):
            self.maps.append(self.builder.sum(self.name("add"), before, self.last))
        if self.chance(0.3):
            self.maps.append(self.norm(self.last))

    def attention(self) -> None:
        """Self or cross attention, projected or not, with or without softmax."""
        heads = Heads(self.size(1, 3), self.size(1, 4), self.size(1, 3))
        width = heads.count * heads.features
        before = self.last
        source = self.norm(before) if self.chance(0.3) else before
        rows = self.shape(source)[1]
        other, length = (source, rows)
        if self.chance(0.5):
            length = self.size(2, 7)
            other = self.input(self.size(2, 5), length)
        queries = self.projected(source, width * heads.sharing, rows)
        keys, values = (self.projected(other, width, length) for _ in range(2))
        if self.chance(0.2):
            values = keys
        scores = self.builder.scores(self.name("scores"), heads, queries, keys)
        context = self.weighed(heads, scores, values)
        self.maps.append(context)
        if self.chance(0.6):
            features = self.shape(before)[0]
            self.maps.append(self.linear(context, features if self.chance(0.8) else self.size()))
            self.residual(before)

    def projected(self, source: str, features: int, positions: int) -> str:
        if self.chance(0.3):
            return self.input(features, positions)
        made = self.linear(source, features)
        if self.chance(0.1):
            made = self.builder.append(rotary(self.name("turn"), features, positions), made)
        return made

    def weighed(self, heads: Heads, scores: str, values: str) -> str:
        if self.chance(0.7):
            return self.builder.weigh(self.name("weigh"), heads, scores, values)
        rows, length = self.shape(scores)[1], self.shape(values)[1]
        layer = matmul(self.name("context"), heads.count, rows, length, heads.features)
        context = self.builder.append(layer, scores, values)
        features = heads.count * heads.sharing * heads.features
        return self.builder.read_as(context, features, rows // heads.sharing)

    def vectors(self) -> None:
        features, positions, _ = self.shape(self.last)
        heads = 2 if features % 2 == 0 and self.chance(0.5) else 1
        layer = softmax(self.name("soft"), features // heads, positions, heads)
        self.maps.append(self.builder.append(layer, self.last))

    def network(self) -> Network:
        names = [m for m in self.builder._shapes if not m.startswith("input")]
        if self.chance(0.3):
            self.builder.leave(str(self.rng.choice(names)))
        return self.builder.network("random").with_batch(self.size(1, 2))


BLOCKS = ("attention", "mlp", "chain", "attention", "vectors")


def random_network(rng: np.random.Generator, most: int = 9) -> Network:
    """Return a network of one or two blocks, of up to ``most`` features and positions."""
    drawing = Drawing(rng, most)
    for _ in range(drawing.size(1, 2)):
        getattr(drawing, BLOCKS[drawing.size(0, len(BLOCKS) - 1)])()
    return drawing.network()


def random_members(rng: np.random.Generator, network: Network) -> tuple[int, ...]:
    """Return layers one after another: mostly all of them."""
    count = len(network.layers)
    first, last = sorted(int(x) for x in rng.integers(0, count, 2))
    return tuple(range(count)) if rng.random() < 0.6 else tuple(range(first, last + 1))


def random_loops(rng: np.random.Generator, ranks: GroupRanks) -> tuple[NestLoop, ...]:
    """Return one to four loops over ranks that loops may be over; none if there are none."""
    free = [r for r, may in enumerate(ranks.loopable) if may]
    chosen = [int(r) for r in rng.permutation(free)[: int(rng.integers(1, 5))]]
    sizes = ranks.sizes
    # small tiles more often: loops of many iterations
    loops = [NestLoop(r, int(rng.integers(1, int(rng.integers(1, sizes[r])) + 1))) for r in chosen]
    while prod(ceil(sizes[x.rank] / x.tile) for x in loops) > MOST_ITERATIONS:
        loops.pop()
    return tuple(loops)


def random_nest(
    rng: np.random.Generator,
    network: Network,
    members: tuple[int, ...],
    tries: int = 20,
    *,
    dealt: bool = False,
) -> tuple[NestGroup, LoopNest] | None:
    """Return a nest that obeys the rules and the group as it sees it; None if none was found."""
    ranks = group_ranks(network, members)
    for _ in range(tries):
        loops = () if ranks is None else random_loops(rng, ranks)
        looped = tuple(loop.rank for loop in loops)
        group = nest_group(network, members, frozenset(looped))
        if not loops or group is None:
            return None
        nest = random_depths(rng, group, loops, dealt=dealt)
        if nest is not None:
            return group, nest
    return None


def random_depths(
    rng: np.random.Generator,
    group: NestGroup,
    loops: tuple[NestLoop, ...],
    *,
    dealt: bool = False,
) -> LoopNest | None:
    """Return a nest of some loops whose operands stay for random times, if the rules let them."""
    ranks, numbers = tuple(loop.rank for loop in loops), range(len(group.operands))
    depth = tuple(int(rng.choice(depths(group, ranks, t))) for t in numbers)
    nest = LoopNest(loops, depth, dealt=dealt)
    for t in numbers:
        depth = tuple(STREAMED if t == other else nest.depth[other] for other in numbers)
        streams = LoopNest(loops, depth, dealt=dealt)
        if rng.random() < 0.15 and not list(nest_faults(group, streams)):
            nest = streams
    return None if list(nest_faults(group, nest)) else nest


def masked_network(rng: np.random.Generator, most: int = 9) -> Network:
    """Return attention with a causal mask, of up to ``most`` tokens, some of whose keys are from
    outside; and what may stand before and behind it."""
    drawing = Drawing(rng, most)
    builder, heads = drawing.builder, Heads(*(drawing.size(1, 3) for _ in range(3)))
    width, before = heads.count * heads.features, drawing.last
    queries = drawing.shape(before)[1]
    keys = queries if drawing.chance(0.7) else queries + drawing.size(1, 4)
    other = before if keys == queries else drawing.input(drawing.size(2, 5), keys)
    window = int(rng.integers(keys - queries + 1, keys + 2)) if drawing.chance(0.5) else 0
    sees = Causal(window)
    query = drawing.projected(before, width * heads.sharing, queries)
    key, value = (drawing.projected(other, width, keys) for _ in range(2))
    if drawing.chance(0.3):
        builder.leave(*(name for name in (key, value) if not name.startswith("input")))
    scores = builder.scores("scores", heads, query, key, sees=sees)
    if drawing.chance(0.7):
        context = builder.weigh("weigh", heads, scores, value, sees=sees)
    else:
        layer = matmul("context", heads.count, queries * heads.sharing, keys, heads.features)
        mask = Mask("c", heads.sharing, window)
        context = builder.append(replace(layer, mask=mask), scores, value)
        context = builder.read_as(context, width * heads.sharing, queries)
    if drawing.chance(0.6):
        drawing.maps.append(drawing.linear(context, drawing.shape(before)[0]))
        drawing.residual(before)
    return builder.network("masked").with_batch(drawing.size(1, 2))


def masked_case(rng: np.random.Generator, most: int = 9) -> NestCase:
    """Return a masked group and a nest around it that obeys the rules, over queries and keys and
    what else it may be over."""
    while True:
        network = masked_network(rng, most)
        members = random_members(rng, network)
        ranks = group_ranks(network, members)
        masked = [m for m, i in enumerate(members) if network.layers[i].mask is not None]
        if ranks is None or not masked:
            continue
        dims, mask = ranks.dims[masked[0]], network.layers[members[masked[0]]].mask
        assert mask is not None
        pair = [some[0] for some in (dims[4], dims["nfkc".index(mask.keys)]) if some]
        if len(pair) < 2 or not all(ranks.loopable[rank] for rank in pair):
            continue
        others = [x for x in random_loops(rng, ranks) if x.rank not in pair][: rng.integers(0, 3)]
        most_tile = [int(rng.integers(1, ranks.sizes[r])) for r in pair]
        loops = [
            NestLoop(r, int(rng.integers(1, tile + 1)))
            for r, tile in zip(pair, most_tile, strict=True)
        ]
        loops = [(*loops, *others)[i] for i in rng.permutation(2 + len(others))]
        if prod(ceil(ranks.sizes[x.rank] / x.tile) for x in loops) > 2 * MOST_ITERATIONS:
            continue
        group = nest_group(network, members, frozenset(loop.rank for loop in loops))
        for _ in range(10):
            nest = None if group is None else random_depths(rng, group, tuple(loops))
            if group is not None and nest is not None:
                return NestCase(network, members, group, nest)


def masked_in_turn(rng: np.random.Generator, most: int = 9) -> NestCase:
    """Return a masked group and a nest around it whose outermost loop is taken in turn; half of
    the time that one is over queries."""
    queries = bool(rng.random() < 0.5)
    while True:
        case = masked_case(rng, most)
        pair, nest = masked_pair(case.group), replace(case.nest, dealt=True, in_turn=True)
        over = pair is not None and nest.loops[0].rank == pair[0]
        if over == queries and not list(nest_faults(case.group, nest)):
            return replace(case, nest=nest)


def random_case(rng: np.random.Generator, most: int = 9, *, dealt: bool = False) -> NestCase:
    """Return a group of a random network and a nest around it that obeys the rules; one that cores
    share out if it is ``dealt``."""
    while True:
        network = random_network(rng, most)
        members = random_members(rng, network)
        case = random_nest(rng, network, members, dealt=dealt)
        if case is not None:
            return NestCase(network, members, *case)
