"""SCALE-Sim beside the model: cycles and words of systolic arrays with three dataflows."""

from collections.abc import Iterator, Mapping as Table
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any, Final

from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.space.hardware import Effects, Hardware, StorageLevel
from archloom.space.mapping import Mapping
from archloom.space.workload import TENSORS, C, K, Layer, P, Tensor, linear

from ..figures import Chapter, Figure
from ..fixed_mappings import level
from .recorded_rows import recorded

#: what stands still, the dimension along the columns, that along the rows, and that of time
#: (Samajdar et al., ISPASS 2020, table II)
DATAFLOWS: Final[Table[str, tuple[Tensor, int, int, int]]] = {
    "ws": ("weights", K, C, P),
    "os": ("outputs", K, P, C),
    "is": ("inputs", P, C, K),
}
_WORDS: Final = {"weights": "filter", "inputs": "ifmap", "outputs": "ofmap"}

#: ratios of a count that both have exactly, and of cycles with the same pipeline
EXACT: Final = (0.999, 1.001)

FULL: Final = "full array"
IN_PLACE: Final = "results leave at once"
WORDS: Final = "its DRAM words"
SWITCHES: Final = (FULL, IN_PLACE, WORDS)


@dataclass(frozen=True)
class Product:
    """A layer as SCALE-Sim computes it: a product of the matrix of all windows and the filters."""

    rows: int
    inner: int
    columns: int

    @classmethod
    def of_layer(cls, sizes: list[int]) -> "Product":
        """Return the product of input and filter sizes, channels, filters and strides."""
        height, width, r, s, channels, filters, down, across = sizes
        pixels = ((height - r) // down + 1) * ((width - s) // across + 1)
        return cls(pixels, r * s * channels, filters)

    def layer(self) -> Layer:
        """Return it as a layer."""
        return linear("product", self.inner, self.columns, self.rows, bias=False)


@dataclass(frozen=True)
class Run:
    """A layer on an array, as a row of the recorded file has it."""

    product: Product
    dataflow: str
    rows: int
    columns: int
    dram_words: float

    @classmethod
    def of_row(cls, row: Table[str, Any]) -> "Run":
        """Return the run of a row."""
        words = row["dram_words"] or inf
        product = Product.of_layer(row["layer"])
        return cls(product, row["dataflow"], row["rows"], row["columns"], words)

    @property
    def sizes(self) -> dict[int, int]:
        """Sizes of the product by dimension of the layer."""
        return {P: self.product.rows, C: self.product.inner, K: self.product.columns}

    @property
    def folds(self) -> int:
        """Tiles that stand still one after another."""
        _, x, y, _ = DATAFLOWS[self.dataflow]
        return ceil(self.sizes[x] / self.columns) * ceil(self.sizes[y] / self.rows)

    def hardware(self) -> Hardware:
        """Return the array: cells that hold one word, and memories that are large enough."""
        still = DATAFLOWS[self.dataflow][0]
        array = (self.columns, self.rows)
        cell = StorageLevel("cell", "register", (still,), array, 2.0, inf)
        sram = StorageLevel("sram", "sram", TENSORS, (1, 1), 2.0**33, inf)
        # one interface each for inputs, weights and results
        words = self.dram_words
        dram = StorageLevel(
            *("dram", "dram", TENSORS, (1, 1), None, inf),
            read_bandwidth_words=2 * words,
            write_bandwidth_words=words,
        )
        return Hardware(
            name="scale_sim",
            technology="n16",
            frequency_mhz=1000.0,
            word_bits=8,
            pe_mesh=(1, 1),
            array=array,
            levels=(cell, sram, dram),
            dram="lpddr4",
            vector_lanes=1,
            effects=Effects(fill_drain="exposed"),
        )

    def cost(self) -> LayerCost:
        """Return what the model has for it."""
        still, x, y, inner = DATAFLOWS[self.dataflow]
        across = {x: min(self.columns, self.sizes[x])}
        down = {y: min(self.rows, self.sizes[y])}
        times = {inner: self.sizes[inner]}
        times |= {y: ceil(self.sizes[y] / down[y]), x: ceil(self.sizes[x] / across[x])}
        kept = tuple(tensor == still for tensor in TENSORS)
        cell = level({}, keeps=(kept[0], kept[1], kept[2]))
        mapping = Mapping((cell, level(times, (inner, y, x), x=across, y=down), level({})))
        problem = MappingProblem.of_layer(self.product.layer(), self.hardware())
        return mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping)

    def whole(self) -> "Run":
        """Return the run with sizes that fill the array in every fold."""
        _, x, y, _ = DATAFLOWS[self.dataflow]
        full = self.sizes | {
            x: self.columns * ceil(self.sizes[x] / self.columns),
            y: self.rows * ceil(self.sizes[y] / self.rows),
        }
        return replace(self, product=Product(full[P], full[C], full[K]))


def scale_sim() -> Chapter:
    """Return cycles of every layer on every array, and words of all layers on each."""
    found = recorded("scale_sim", "SCALE-Sim", "scalesim")
    pairs = [(Run.of_row(row), row) for row in found.rows]
    plain = [pair for pair in pairs if pair[1]["dram_words"] is None]
    figures = [figure for run, row in plain for figure in _cycles(run, row, found.source)]
    for array in dict.fromkeys((run.dataflow, run.rows, run.columns) for run, _ in plain):
        same = [p for p in plain if (p[0].dataflow, p[0].rows, p[0].columns) == array]
        figures += _words(same, found.source)
    limited = [pair for pair in pairs if pair[1]["dram_words"] is not None]
    figures += [figure for run, row in limited for figure in _with_dram(run, row, found.source)]
    return Chapter("SCALE-Sim", TEXT, tuple(figures), switches=SWITCHES)


def _named(run: Run) -> str:
    return f"{run.dataflow}, {run.rows} x {run.columns}"


def _cycles(run: Run, row: Table[str, Any], source: str) -> Iterator[Figure]:
    """Yield the cycles of a layer; the package counts from 0, and so prints one less."""
    ours, full = run.cost().latency_cycles, run.whole().cost().latency_cycles
    shifted = run.folds * run.rows if run.dataflow == "os" else 0
    theirs = row["found"]["cycles"] + 1
    alike = run.dataflow != "os"
    partly = ours != full
    reasons = {
        "cells that hold nothing are not filled and drained in the model": partly,
        "in the model results leave through the rows; in the package at once": not alike,
    }
    said = "; ".join(reason for reason, holds in reasons.items() if holds)
    reason = said or "the same folds and the same pipeline"
    yield Figure(
        f"{row['name']}, {_named(run)}, cycles",
        ours,
        theirs,
        source,
        EXACT if alike and not partly else None,
        reason,
        {FULL: full, IN_PLACE: full - shifted, WORDS: ours},
    )


def _words(pairs: list[tuple[Run, Table[str, Any]]], source: str) -> Iterator[Figure]:
    """Yield the words of all layers: what memories hand to the array, and what they get."""
    costs = [run.cost() for run, _ in pairs]
    name = _named(pairs[0][0])
    for t, tensor in enumerate(TENSORS[:2]):
        theirs = sum(row["found"][f"{_WORDS[tensor]}_sram"] for _, row in pairs)
        # ours are those that enter the memory too, each word once
        ours = sum(int(cost.words[1, t] - cost.words[2, t]) for cost in costs)
        yield Figure(
            f"all layers, {name}, {tensor} read from SRAM",
            ours,
            theirs,
            source,
            EXACT,
            "the same folds read the same words",
            dict.fromkeys(SWITCHES, ours),
        )
    results = [run.product.rows * run.product.columns for run, _ in pairs]
    # of sums that enter the memory all but the first are read again
    entered = [(int(cost.words[1, 2]) + own) / 2 for cost, own in zip(costs, results, strict=True)]
    ours, theirs = sum(results), sum(row["found"]["ofmap_dram"] for _, row in pairs)
    still = pairs[0][0].dataflow == "os"
    yield Figure(
        f"all layers, {name}, results written to DRAM",
        ours,
        theirs,
        source,
        EXACT if still else None,
        "sums are complete as they leave the array"
        if still
        else "the package writes every partial sum to DRAM, and reads none; the model adds them up "
        "in the SRAM",
        {FULL: ours, IN_PLACE: ours, WORDS: ours if still else sum(entered)},
    )


def _with_dram(run: Run, row: Table[str, Any], source: str) -> Iterator[Figure]:
    """Yield the cycles of a layer with a DRAM that limits."""
    ours, theirs = run.cost().latency_cycles, row["found"]["whole_cycles"] + 1
    shifted = run.folds * run.rows if run.dataflow == "os" else 0
    found, size = row["found"], row["sram_kib"][0]
    again = found["ifmap_dram"] / (run.product.rows * run.product.inner)
    yield Figure(
        f"{row['name']}, {_named(run)}, cycles with {size} KiB at {run.dram_words:g} words/cycle",
        ours,
        theirs,
        source,
        None,
        f"the package fetches inputs {again:.1f} times, and computes nothing before the first half "
        f"of each memory is full; in the model each word is moved once, and all transfers overlap",
        {
            FULL: run.whole().cost().latency_cycles,
            IN_PLACE: ours - shifted,
            WORDS: _waiting(run, row, ours - shifted),
        },
    )


def _waiting(run: Run, row: Table[str, Any], computed: float) -> float:
    """Cycles with the words that the package moves, after the first half of each memory is full."""
    words = {name: row["found"][f"{name}_dram"] for name in _WORDS.values()}
    halves = dict(
        zip(("ifmap", "filter"), (1024 * kib / 2 for kib in row["sram_kib"]), strict=False)
    )
    first = {name: min(half, words[name]) for name, half in halves.items()}
    later = [words[name] - first.get(name, 0) for name in words]
    return float(max(first.values()) / run.dram_words + max(computed, max(later) / run.dram_words))


TEXT: Final = f"""
SCALE-Sim (Samajdar et al., ISPASS 2020) steps through a systolic array cycle by cycle. It ran
convolutions of ResNet-18 and three matrix products on arrays of 32 x 32, 128 x 128 and 16 x 64
cells, with weights, outputs or inputs that stand still (`ws`, `os`, `is`). In the model the same
array has `fill_drain: exposed`, and a layer is the same product of matrices: its folds, the words
that stand still and the order of the loops are those of the simulator. Nothing was fitted.

The simulator counts cycles from 0, so one is added to the number that it prints. With *{FULL}* the
model fills and drains all cells in every fold, as the simulator does, also those that a small
product leaves empty; cycles are then equal for `ws` and `is`. For `os` the model takes r cycles
more for a fold on r rows than release 3.0.0 does: the formula of the paper, 2 r + c + T - 2, has
them for all dataflows, and the release leaves them out for this one. *{IN_PLACE}* leaves them out
too, and all cycles are equal. *{WORDS}*: the words that the simulator moves to and from DRAM in
place of the model's, with partial sums, and in the last six rows with its order: the first half of
each memory is filled before anything is computed. All columns have ratios.
"""
