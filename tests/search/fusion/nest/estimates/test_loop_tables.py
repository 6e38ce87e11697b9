"""Figures of loops by kernels: those of formulas over arrays, and the best of them are kept."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from archloom.evaluators.arrays import Floats, Ints
from archloom.evaluators.fusion.nest.iterations.when_used import FIRST, LAST
from archloom.evaluators.fusion.nest.rules import dealable
from archloom.search.fusion.nest.estimates.loop_arrays import LoopArrays, stay_prices
from archloom.search.fusion.nest.estimates.loop_search import KEPT, GoodNests, good_nests
from archloom.search.fusion.nest.estimates.loop_tables import LoopTable, loop_table
from archloom.search.fusion.nest.estimates.stays import best_stays, prepare_stays, stay_search
from archloom.search.fusion.nest.facts import NestFacts, shared_out
from archloom.search.fusion.nest.nests import _orders
from archloom.space.fusion.loop_nest import STREAMED

from .....cases.small_nests import cores_case, masked_network, small_case
from .....cases.sweeps import sweep
from .....oracles.nest_estimates import LoopFigures, kept_results, rows_of


def groups(seed: int) -> Iterator[NestFacts]:
    """Yield a small group, one with a mask, and such that cores share out along some rank."""
    rng = np.random.default_rng(seed)
    for case in (small_case(rng), small_case(rng, masked_network), cores_case(seed)):
        yield from shared_out(NestFacts(case.network, case.layers, case.hardware))
    case = cores_case(seed, masked_network)
    facts = NestFacts(case.network, case.layers, case.hardware)
    yield from (facts.dealing(rank) for rank in facts.ranks if dealable(facts.group, rank))


def orders(facts: NestFacts, seed: int) -> list[tuple[int, ...]]:
    """Return some orders of one to three loops."""
    known = dict[tuple[int, ...], float]()
    for count in (1, 2, 3):
        known |= dict.fromkeys(_orders(facts, count, known), float(count))
    every = sorted(known)
    picked = np.random.default_rng(seed).permutation(len(every))[:6]
    return [every[n] for n in picked.tolist()]


def table_of(facts: NestFacts, ranks: tuple[int, ...], made: tuple[int, ...]) -> LoopTable:
    return loop_table(*LoopArrays(facts).of(ranks), np.array(made, np.int64))


@pytest.mark.parametrize("seed", sweep(range(120), sample=4))
def test_figures_are_those_of_formulas_over_arrays(seed: int) -> None:
    for facts in groups(seed):
        for ranks in orders(facts, seed):
            for made in kept_results(facts, ranks):
                agree(table_of(facts, ranks, made), LoopFigures(facts, ranks, made))


def agree(table: LoopTable, figures: LoopFigures) -> None:
    """Check every figure of a table."""
    options, shape = table.options, figures.shape
    energy, cycles, later = figures.layers()
    np.testing.assert_allclose(table.layer_pj, energy, rtol=1e-12)
    np.testing.assert_allclose(options.layer_cycles, cycles, rtol=1e-12)
    np.testing.assert_allclose(options.later_cycles, later, rtol=1e-9, atol=1e-9)
    base = energy.sum(axis=0) + figures.rescaled().ravel()
    np.testing.assert_allclose(options.base_pj, base, rtol=1e-12)
    np.testing.assert_allclose(table.runs, figures.runs().ravel(), rtol=1e-12)
    members = range(options.there.shape[1])
    uses, around = figures.walk.uses.members, 1.0
    for at, rank in enumerate(figures.ranks):
        once = [all(use in (FIRST, LAST) for use in uses[m][at:]) for m in members]
        here = [uses[m][at] in (FIRST, LAST) for m in members]
        for row, inside in ((at, False), (len(shape) + at, True)):
            some = here if inside else once
            assert options.once[row].astype(bool).tolist() == some
            np.testing.assert_array_equal(options.rounds[row], rows_of([around], shape)[0])
            assert (options.inside[row] > 0).all() == inside
        tiles = figures.facts.tiles[rank].reshape([-1, *(1,) * (len(shape) - at - 1)])
        around = around * np.ceil(figures.facts.group.ranks.sizes[rank] / tiles)
    for t, (begin, end) in enumerate(pairwise(options.begin.tolist())):
        choices = figures.choices(t)
        assert [choice.depth for choice in choices] == table.depth[begin:end].tolist()
        there = [[m in choice.steps for m in members] for choice in choices]
        assert there == options.there[begin:end].astype(bool).tolist()
        operand = figures.group.operands[t]
        made = [operand.kind == "made" and choice.depth != STREAMED for choice in choices]
        expected = [operand.maker if stays else -1 for stays in made]
        assert options.sums[begin:end].tolist() == expected
        columns = zip(*((c.energy, c.words, c.held, c.piece) for c in choices), strict=True)
        parts = options.energy, options.words, options.held, options.piece
        for part, column in zip(parts, columns, strict=True):
            np.testing.assert_allclose(part[begin:end], rows_of(column, shape), rtol=1e-12)


@pytest.mark.parametrize("seed", sweep(range(60), sample=3))
def test_the_best_sizes_of_tiles_are_kept(seed: int) -> None:
    for facts in groups(seed):
        for ranks in orders(facts, seed)[:2]:
            parts = *LoopArrays(facts).of(ranks), stay_prices(facts)
            every = good_nests(*parts, np.inf)
            for way, made in enumerate(kept_results(facts, ranks)):
                first = 2 * KEPT * way
                table = table_of(facts, ranks, made)
                same(every, first, best_choices(facts, table), facts, table)
                same(every, first + KEPT, streaming(facts, table), facts, table)
            found = np.sort(every.edp[every.cell >= 0])
            if len(found) > 2:
                some = good_nests(*parts, float(found[2]))
                assert np.sort(some.edp[some.cell >= 0]).tolist() == pytest.approx(
                    found[found < found[2]].tolist()
                )


def same(nests: GoodNests, first: int, choices: Ints, facts: NestFacts, table: LoopTable) -> None:
    """Check that rows from one on are the least of what is chosen for each size of tiles."""
    edp = np.sort(estimates(facts, table, choices))[:KEPT]
    rows = slice(first, first + KEPT)
    there = nests.cell[rows] >= 0
    np.testing.assert_allclose(nests.edp[rows][there], edp[np.isfinite(edp)], rtol=1e-12)


def estimates(facts: NestFacts, table: LoopTable, choices: Ints) -> Floats:
    """float64[cells], energy x latency with the options of each operand; infinite where none are
    or they do not fit."""
    options, prices, cells = table.options, stay_prices(facts), np.arange(len(table.runs))
    at = np.maximum(choices, 0)
    words = options.words[at, cells].sum(axis=0) / prices.rate
    members = range(len(options.layer_cycles))
    streams = [(options.streams[at] == m) * options.words[at, cells] for m in members]
    passing = np.array([some.sum(axis=0) for some in streams]) / prices.rate
    stays = np.array([(options.sums[at] == m).any(axis=0) for m in members])
    busy = np.maximum(options.layer_cycles + stays * options.later_cycles, passing)
    latency = np.maximum(busy.sum(axis=0), words)
    energy = options.base_pj + options.energy[at, cells].sum(axis=0)
    used = np.einsum("tnm,tn->mn", options.there[at].astype(float), options.held[at, cells])
    rows = zip(options.once.astype(bool), options.rounds, options.inside, strict=True)
    for once, rounds, inside in rows:
        pieces = 2 * options.piece[at, cells].sum(axis=0)
        ahead = rounds * np.minimum(prices.capacity - used.max(axis=0), pieces) / prices.rate
        left = (words - passing[once].sum(axis=0)) * (1 - inside) - ahead
        left = np.maximum(left, 0.0)
        alone = busy[once].sum(axis=0)
        latency = np.where(alone > 0, np.maximum(latency, alone + left), latency)
    aside = np.where((table.depth[at] == STREAMED).any(axis=0), prices.aside, 0.0)
    fits = (used.max(axis=0) + aside <= prices.capacity) & (choices >= 0).all(axis=0)
    return np.where(fits, (energy + prices.leakage_pj * latency) * latency, np.inf)


def best_choices(facts: NestFacts, table: LoopTable) -> Ints:
    """int64[t, cells], the best options for each size of tiles; -1 where nothing fits."""
    options = table.options
    search = stay_search(len(options.begin) - 1, options.there.shape[1])
    found = np.full((len(options.begin) - 1, len(table.runs)), -1)
    for cell in range(len(table.runs)):
        prepare_stays(options, cell, search)
        if best_stays(options, stay_prices(facts), cell, search) < np.inf:
            found[:, cell] = search.best
    return found


def streaming(facts: NestFacts, table: LoopTable) -> Ints:
    """int64[t, cells], options with all streaming that moves no more by it, while others go for
    want of space; -1 where nothing streams or it does not fit."""
    options, capacity = table.options, stay_prices(facts).capacity
    found = np.full((len(options.begin) - 1, len(table.runs)), -1)
    owner = np.repeat(np.arange(len(found)), np.diff(options.begin))
    for cell in range(len(table.runs)):
        chosen = options.begin[:-1].copy()
        for option, t in enumerate(owner.tolist()):
            less = options.words[option, cell] <= options.words[chosen[t], cell]
            if table.depth[option] == STREAMED and less:
                chosen[t] = option
        if not (table.depth[chosen] == STREAMED).any():
            continue
        for _ in range(2 * len(owner)):
            held = options.held[: len(owner), cell, None] * options.there[: len(owner)]
            used = held[chosen].sum(axis=0)
            if used.max() <= capacity:
                found[:, cell] = chosen
                break
            now = chosen[owner]
            freed = (held[now] - held)[:, used.argmax()]
            moved = (options.words[: len(owner)] - options.words[now])[:, cell]
            gain = np.where(freed > 0, freed / (np.maximum(moved, 0.0) + 1.0), 0.0)
            if gain.max() <= 0:
                break
            chosen[owner[gain.argmax()]] = gain.argmax()
    return found
