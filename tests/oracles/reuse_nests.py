"""A slow oracle of the five reuses: their loop nests run over coordinates.

A chip holds sets of words. Each multiply-accumulate asserts that its operands and its sum are
there; what enters from DRAM and leaves to it is counted, and the most words of each tensor that
were held: room is set aside for each once and for all.

Independent of: Optimus's formulas of the five reuses; it reads a layer's bounds alone.
"""

from collections import Counter
from itertools import product

from archloom.space.workload.layer import Layer


class Chip:
    """One group of a layer on a chip that can hold anything; counts words."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.images, _, self.k, self.c, self.p, self.q, self.r, self.s = layer.bounds
        self.held, self.done = set(), set()
        self.moved = 0
        self.most = {"in": 0, "w": 0, "out": 0}

    def bring(self, words):
        """Words come from DRAM, but for those that are here."""
        self.moved += len(words - self.held)
        self.make(words)

    def make(self, words):
        self.held |= words
        here = Counter(word[0] for word in self.held)
        self.most = {tensor: max(most, here[tensor]) for tensor, most in self.most.items()}

    def drop(self, words):
        self.held -= words

    def store(self, words):
        assert words <= self.held
        self.moved += len(words)
        self.held -= words

    def spanned(self, rows, images, channels):
        """Words of the input between the first and last row and column that windows read."""
        layer, lines = self.layer, []
        for axis, outputs in enumerate((rows, range(self.q))):
            kernel = (layer.r, layer.s)[axis]
            taps = {
                o * layer.stride[axis] - layer.padding[axis] + t * layer.dilation[axis]
                for o in outputs
                for t in range(kernel)
            }
            span = range(min(taps), max(taps) + 1)
            lines.append([x for x in span if 0 <= x < layer.input_size[axis]])
        return {("in", n, c, y, x) for n, c, y, x in product(images, channels, *lines)}

    def filters(self, ks, cs):
        taps = product(ks, cs, range(self.r), range(self.s))
        return {("w", k, c, r, s) for k, c, r, s in taps}

    def sums(self, images, ks, rows):
        return {("out", n, k, y, x) for n, k, y, x in product(images, ks, rows, range(self.q))}

    def compute(self, weights, sums, taken=None):
        """Do all work of some weights and sums; if ``taken`` is given, only on those inputs."""
        layer = self.layer
        for (_, k, c, r, s), (_, n, of, y, x) in product(weights, sums):
            row = y * layer.stride[0] - layer.padding[0] + r * layer.dilation[0]
            column = x * layer.stride[1] - layer.padding[1] + s * layer.dilation[1]
            inside = 0 <= row < layer.input_size[0] and 0 <= column < layer.input_size[1]
            word = ("in", n, c, row, column)
            if of != k or not inside or (taken is not None and word not in taken):
                continue
            assert {word, ("w", k, c, r, s), ("out", n, k, y, x)} <= self.held
            work = (n, k, c, r, s, y, x)
            assert work not in self.done
            self.done.add(work)

    def finish(self):
        """All work was done, once; return words moved and the most that were held."""
        inside = 0
        layer = self.layer
        for y, x, r, s in product(range(self.p), range(self.q), range(self.r), range(self.s)):
            row = y * layer.stride[0] - layer.padding[0] + r * layer.dilation[0]
            column = x * layer.stride[1] - layer.padding[1] + s * layer.dilation[1]
            inside += 0 <= row < layer.input_size[0] and 0 <= column < layer.input_size[1]
        assert len(self.done) == inside * self.images * self.k * self.c
        return self.moved, sum(self.most.values())


def blocks(count, size):
    return [range(a, min(a + size, count)) for a in range(0, count, size)]


def bands(chip, rows, images):
    """(images, rows) of each band; of several images only whole ones."""
    return list(product(blocks(chip.images, images), blocks(chip.p, rows)))


def band_sizes(layer):
    images, rows = layer.bounds[0], layer.p
    return [(n, 1) for n in range(1, rows + 1)] + [(rows, n) for n in range(2, images + 1)]


def psums(layer, band, block, weights_pass):
    chip = Chip(layer)
    for images, rows in bands(chip, *band):
        for ks in blocks(chip.k, block):
            sums = chip.sums(images, ks, rows)
            chip.make(sums)
            for c in range(chip.c):
                weights, inputs = chip.filters(ks, [c]), chip.spanned(rows, images, [c])
                stays, passes = (inputs, weights) if weights_pass else (weights, inputs)
                chip.bring(stays)
                for word in passes:
                    chip.bring({word})
                    if weights_pass:
                        chip.compute({word}, sums)
                    else:
                        chip.compute(weights, sums, {word})
                    chip.drop({word})
                chip.drop(stays)
            chip.store(sums)
    return chip.finish()


def filters(layer, k_block, c_block):
    chip = Chip(layer)
    for ks in blocks(chip.k, k_block):
        for number, cs in enumerate(blocks(chip.c, c_block)):
            weights = chip.filters(ks, cs)
            chip.bring(weights)
            for n in range(chip.images):
                line = set()
                for y in range(chip.p):
                    ahead = chip.spanned(range(y + 1), [n], cs)
                    rows = chip.spanned([y], [n], cs)
                    # what lies between two windows comes and goes; a row that is here stays
                    chip.moved += len(ahead - line - rows)
                    chip.drop(line - rows)
                    chip.bring(rows)
                    line = line | ahead
                    for total in chip.sums([n], ks, [y]):
                        (chip.bring if number else chip.make)({total})
                        chip.compute(weights, {total})
                        chip.store({total})
                chip.held = set(weights)
            chip.drop(weights)
    return chip.finish()


def inputs(layer, band, block, weights_pass):
    chip = Chip(layer)
    for images, rows in bands(chip, *band):
        for number, cs in enumerate(blocks(chip.c, block)):
            held = chip.spanned(rows, images, cs)
            chip.bring(held)
            for k in range(chip.k):
                weights, sums = chip.filters([k], cs), chip.sums(images, [k], rows)
                stays, passes = (sums, weights) if weights_pass else (weights, sums)
                (chip.make if weights_pass and not number else chip.bring)(stays)
                for word in passes:
                    fresh = not weights_pass and not number
                    (chip.make if fresh else chip.bring)({word})
                    chip.compute(*(({word}, sums) if weights_pass else (weights, {word})))
                    (chip.drop if weights_pass else chip.store)({word})
                (chip.store if weights_pass else chip.drop)(stays)
            chip.drop(held)
    return chip.finish()


def between(chip, images, rows, channels):
    """All that comes up to a band's last row, and what of it lies in rows that it spans."""
    return chip.spanned(range(rows[-1] + 1), images, channels), chip.spanned(rows, images, channels)


def input_channels(layer, band, weights_pass):
    chip, seen = Chip(layer), set()
    for images, rows in bands(chip, *band):
        upto, line = between(chip, images, rows, range(chip.c))
        chip.moved += len(upto - seen - line)
        chip.drop({w for w in chip.held if w[0] == "in"} - line)
        chip.bring(line)
        seen |= upto
        for k in range(chip.k):
            weights, sums = chip.filters([k], range(chip.c)), chip.sums(images, [k], rows)
            stays, passes = (sums, weights) if weights_pass else (weights, sums)
            (chip.make if weights_pass else chip.bring)(stays)
            for word in passes:
                (chip.bring if weights_pass else chip.make)({word})
                chip.compute(*(({word}, sums) if weights_pass else (weights, {word})))
                (chip.drop if weights_pass else chip.store)({word})
            (chip.store if weights_pass else chip.drop)(stays)
    return chip.finish()


def output_channels(layer, band):
    chip, seen = Chip(layer), set()
    todo = bands(chip, *band)
    for t, (images, rows) in enumerate(todo):
        sums = chip.sums(images, range(chip.k), rows)
        chip.make(sums)
        for c in range(chip.c):
            upto, line = between(chip, images, rows, [c])
            chip.moved += len(upto - seen - line)
            chip.bring(line)
            seen |= upto
            for word in chip.filters(range(chip.k), [c]):
                chip.bring({word})
                chip.compute({word}, sums)
                chip.drop({word})
            later = (
                chip.spanned(todo[t + 1][1], todo[t + 1][0], [c]) if t + 1 < len(todo) else set()
            )
            chip.drop(line - later)
        chip.store(sums)
    return chip.finish()


def all_runs(layer, holds_weights):
    """For each reuse the (words moved, most words held) of all its tile sizes."""
    _, _, k, c, *_ = layer.bounds
    ways = (True, False) if holds_weights else (True,)
    sizes, ks, cs = band_sizes(layer), range(1, k + 1), range(1, c + 1)
    return {
        "psums": [psums(layer, *way) for way in product(sizes, ks, ways)],
        "filters": [filters(layer, *way) for way in product(ks, cs)] if holds_weights else [],
        "inputs": [inputs(layer, *way) for way in product(sizes, cs, ways)],
        "input_channels": [input_channels(layer, *way) for way in product(sizes, ways)],
        "output_channels": [output_channels(layer, way) for way in sizes],
    }
