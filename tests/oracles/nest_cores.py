"""Slow oracles of loop nests on several cores: each core walks its iterations by itself.

Every core moves coordinates in a buffer of its own. Iterations of the outermost loop are dealt out
here anew, and coordinates are those of the whole group, so that it shows if a core lacks what
another one made. The account goes through the iterations of all cores side by side, in plain
numbers.

Independent of: the smaller groups that stand for shares of cores, the iterations that are looked at
for others, and the traffic, energy and latency of nests on cores.
"""

from math import ceil

from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import STREAMED
from archloom.space.workload.dims import OUTPUTS, WEIGHTS

from .nest_account import ROW_OPERATIONS, Account, Books, Recorder
from .nest_simulator import Iteration


def shares(nest, group, cores):
    """Return the iterations of the outermost loop of each core that has any."""
    loop = nest.loops[0]
    count = ceil(group.ranks.sizes[loop.rank] / loop.tile)
    # each runs as few as one of so many can
    most = next(n for n in range(1, count + 1) if n * cores >= count)
    if nest.in_turn:
        working = next(n for n in range(1, cores + 1) if n * most >= count)
        return [range(core, count, working) for core in range(working)]
    return [range(first, min(first + most, count)) for first in range(0, count, most)]


def simulate_cores(group, nest, cores, skips=False):
    """Return the walk of each core, past tiles of which masks leave nothing if it ``skips`` them;
    raises AssertionError where they do not compute the group."""
    walks = [Recorder(group, nest, (), skips, own) for own in shares(nest, group, cores)]
    for walk in walks:
        walk.simulate()
    for t, operand in enumerate(group.operands):
        if operand.exported:
            gone = sum(walk.gone[t] for walk in walks)
            assert (gone == 1).all(), f"{group.layers[operand.maker].name}: did not leave once"
    return walks


def own_rounds(walk):
    """Return when a core runs each of its iterations: rounds are in the order of these.

    The first iterations of the outermost loop are side by side, and so are the second ones. Where
    they are tiles of queries, so are the first tiles of keys that each core's queries see.
    """
    found = []
    for iteration in walk.run.iterations:
        key = list(iteration.index)
        key[0] = list(walk.turns[0]).index(key[0])
        if walk.pair and walk.pair[0] == 0:
            query, tile = walk.tile_at(iteration.index)
            seen = sorted(k for q, k in walk.live if q == query)
            key[walk.pair[1]] = seen.index(tile)
        found.append(tuple(key))
    assert found == sorted(set(found)), "a core goes from round to round"
    return found


def align(walks):
    """Let cores wait in rounds in which they run nothing, with what stays until their end."""
    rounds = [own_rounds(walk) for walk in walks]
    for walk, own in zip(walks, rounds, strict=True):
        boxes = [walk.box(t) for t, lasts in enumerate(walk.lasting) if lasts]
        held = sum(boxes) + sum(map(walk.statistics, walk.online))
        at = dict(zip(own, zip(walk.run.iterations, walk.layer_runs, strict=True), strict=True))
        iterations, runs = [], []
        for key in sorted(set().union(*rounds)):
            nothing = [held if key < own[-1] else 0 for _ in walk.members]
            iteration, some = at.get(key, (Iteration((), held=nothing), []))
            iterations.append(iteration)
            runs.append(some)
        walk.run.iterations, walk.layer_runs = iterations, runs


def core_account(group, nest, hardware, cores, mapper, capacity, skips=False):
    """Return what a nest costs on so many cores, ``hardware`` being one of them; as of
    :func:`.nest_account.account`."""
    books = _CoreBooks(simulate_cores(group, nest, cores, skips), hardware, mapper, capacity)
    if books.result.least_words > capacity:
        return books.result
    return books.layers() or books.finished()


class _CoreBooks:
    def __init__(self, walks, hardware, mapper, capacity):
        self.walks, self.hardware = walks, hardware
        self.group, self.nest = walks[0].group, walks[0].nest
        self.rate, self.port = (hardware.levels[k].bandwidth_words for k in (-1, -2))
        tiles = sum(len(walk.run.iterations) for walk in walks)
        align(walks)
        self.length = len(walks[0].run.iterations)
        self.books = [Books(w, w.run.iterations, hardware, mapper, capacity) for w in walks]
        # cores map tiles alike
        for m in walks[0].members:
            words = [b.left[m] for b in self.books if b.left[m] is not None]
            for book in self.books:
                book.left[m] = min(words) if words else None
        self.result = Account(
            tiles=tiles,
            least_words=max(b.result.least_words for b in self.books),
        )
        apart = {self.nest.loops[0].rank}
        if walks[0].pair and walks[0].pair[0] == 0:
            # in a round cores are at other keys
            apart.add(self.nest.loops[walks[0].pair[1]].rank)
        several = len(walks) > 1 and "weights" in hardware.levels[-1].multicast
        self.sent = {
            t
            for t, o in enumerate(self.group.operands)
            if several and o.kind == "weights" and not apart & set(o.ranks) and self.together(t)
        }
        self.body, self.dram = [0] * self.length, [0] * self.length

    def together(self, t):
        """Whether in each round all cores that have an iteration want weights, or none of them."""
        return all(
            len({now.coming[t] > 0 for now in round_ if now.index}) < 2
            for round_ in zip(*(walk.run.iterations for walk in self.walks), strict=True)
        )

    def access(self, level, tensor, words, write):
        self.books[0].access(level, tensor, words, write)

    # layers

    def layers(self):
        """Add the layers of all iterations; returns why one has no mapping, or None."""
        for i in range(self.length):
            for m in self.walks[0].members:
                runs = {
                    c: run
                    for c, walk in enumerate(self.walks)
                    for run in walk.layer_runs[i]
                    if run.member == m
                }
                failed = self.layer(i, m, runs) if runs else None
                if failed is not None:
                    return failed
        return None

    def layer(self, i, m, runs):
        """One layer on the cores that run it in an iteration."""
        chip, dram, lanes = 0, 0, self.hardware.vector_lanes
        streamed = {t for t in self.group.weights[m] if self.nest.depth[t] == STREAMED}
        once = bool(streamed & self.sent)
        for kind in sorted({(run.bounds, run.found > 0) for run in runs.values()}):
            alike = [c for c, run in runs.items() if (run.bounds, run.found > 0) == kind]
            cost = self.books[0].cost(runs[alike[0]])
            if isinstance(cost, Infeasible):
                return cost
            dram += self.tiles_of_dram(cost, len(alike), once)
            for c in alike:
                chip = max(chip, self.one_core(i, c, runs[c], cost, lanes))
        self.body[i] += max(chip, dram)
        self.dram[i] += dram
        return None

    def tiles_of_dram(self, cost, cores, once):
        """Add what some cores that run the same tile get from DRAM and send there; its cycles."""
        copies = 1 if once else cores
        weights = int(cost.words[-1, WEIGHTS])
        reads = copies * weights + cores * (cost.dram_reads - weights)
        self.result.reads += reads
        self.result.writes += cores * cost.dram_writes
        far = cost.energy_pj[-1]
        self.result.energy_pj += copies * far[WEIGHTS] + cores * (far.sum() - far[WEIGHTS])
        every = cores * cost.dram_cycles
        if not once or cores == 1:
            return every
        return min(every, ceil((reads + cores * cost.dram_writes) / self.rate))

    def one_core(self, i, c, run, cost, lanes):
        """Add what one core does by itself; its cycles."""
        again = run.rescaled + 2 * run.rows
        operations = run.rescaled + run.rows * ROW_OPERATIONS
        self.books[c].ports[i] += int(cost.words[-2].sum()) + 2 * again
        near = float(cost.energy_pj[:-1].sum()) + cost.compute_pj
        self.result.energy_pj += near + operations * self.books[0].prices.vector_op_pj
        self.access(-2, OUTPUTS, again, write=False)
        self.access(-2, OUTPUTS, again, write=True)
        return cost.chip_cycles + (ceil(operations / lanes) if run.rescaled else 0)

    # transfers

    def coming(self, i):
        """Words of weights for all that come for an iteration, and all words that DRAM sends; of
        the former one copy for all cores that want them."""
        common = 0
        every = 0
        for walk in self.walks:
            mine = {t: n for t, n in walk.run.iterations[i].coming.items() if n}
            some = sum(n for t, n in mine.items() if t in self.sent)
            assert not common or not some or common == some, "cores want other weights"
            common = max(common, some)
            every += sum(mine.values()) - some
        return common, common + every

    def transfers(self):
        """Pay for what crosses DRAM's pins between iterations."""
        for i in range(self.length):
            paid = set()
            for book in self.books:
                now = book.iterations[i]
                for t, words in now.coming.items():
                    kind = self.group.operands[t].kind
                    column = {"weights": 0, "read": 1, "made": 2}[kind]
                    self.access(-2, column, words, write=True)
                    if t not in paid:
                        self.access(-1, column, words, write=False)
                    paid |= {t} & self.sent
                for words in now.leaving.values():
                    self.access(-1, OUTPUTS, words, write=True)
            self.result.reads += self.coming(i)[1]
            self.result.writes += sum(book.stored[i] for book in self.books)

    def moves(self):
        """Return for each core and iteration words for the next one that come meanwhile, those of
        the last one that leave, and words that nothing takes; and words that DRAM sends ahead."""
        found = [book.ahead() for book in self.books]
        sent = []
        for i in range(self.length - 1):
            common, _ = self.coming(i + 1)
            wanting = [c for c, w in enumerate(self.walks) if common and self.wants(w, i + 1)]
            shared = min([common, *(found[c][i][0] for c in wanting)])
            total = shared
            for c, book in enumerate(self.books):
                ahead, behind, room = found[c][i]
                if c in wanting:
                    most = shared + book.fetched[i + 1] - common
                    found[c][i] = min(ahead, most), behind, room + max(0, ahead - most)
                    total -= shared
                total += found[c][i][0]
            sent.append(total)
        return found, [*sent, 0]

    def wants(self, walk, i):
        return any(t in self.sent and n for t, n in walk.run.iterations[i].coming.items())

    # time

    def finished(self):
        self.transfers()
        moves, sent = self.moves()
        fetched = [self.coming(i)[1] for i in range(self.length)]
        stored = [sum(book.stored[i] for book in self.books) for i in range(self.length)]
        gone = [sum(of_core[i][1] for of_core in moves) for i in range(self.length)]
        for book, of_core in zip(self.books, moves, strict=True):
            for i, (ahead, behind, _) in enumerate(of_core):
                used = max(book.steps[i].values(), default=max(book.iterations[i].held))
                self.result.peak = max(self.result.peak, used + ahead + behind)
        last, busy, late, idle, waiting = self.length - 1, [], [], [], 0
        for i in range(self.length):
            through = max(b.ports[i] + b.fetched[i] + b.stored[i] for b in self.books)
            busy.append(max(self.body[i], ceil(through / self.port)))
            dram = self.dram[i] + ceil(sent[i] / self.rate) + ceil(gone[i] / self.rate)
            dram += ceil(fetched[0] / self.rate) if i == 0 else 0
            dram += ceil(stored[last] / self.rate) if i == last else 0
            late.append(max(0, dram - busy[i]))
            idle.append(max(0, busy[i] - dram))
            for words in (
                fetched[i] - sent[i - 1] if i else 0,
                stored[i] - gone[i + 1] if i < last else 0,
            ):
                waiting += ceil(words / self.rate)
                self.result.prefetch &= words == 0
        self.spread(moves, sent, gone, late, idle)
        self.result.latency = sum(busy) + sum(late) + waiting
        self.result.energy_pj += sum(book.result.energy_pj for book in self.books)
        return self.result

    def spread(self, moves, sent, gone, late, idle):
        """Let DRAM begin an iteration sooner, or end one later, where it is idle and each core has
        room."""
        inner = range(1, self.length - 1)
        for i in inner:
            if all(of_core[i][0] <= of_core[i - 1][2] for of_core in moves):
                cycles = min(late[i], ceil(sent[i] / self.rate), idle[i - 1])
                late[i] -= cycles
                idle[i - 1] -= cycles
        for i in inner:
            if all(of_core[i][1] <= of_core[i + 1][2] for of_core in moves):
                late[i] -= min(late[i], ceil(gone[i] / self.rate), idle[i + 1])
