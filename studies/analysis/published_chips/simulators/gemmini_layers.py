"""Gemmini's RTL beside the model: cycles of layers with mappings that were run in FireSim."""

import json
from collections.abc import Mapping as Table, Sequence
from dataclasses import replace
from math import exp, inf, log
from statistics import fmean
from typing import Any, Final

from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.space.hardware import Effects, Hardware, StorageLevel
from archloom.space.mapping import LevelMapping, Mapping
from archloom.space.workload import DIMS, TENSORS, Layer, conv2d

from ..figures import Chapter, Figure
from ..fixed_mappings import level
from .gemmini_software import DMA_BYTES, IN_ARRAY, SIDE, Driven, driven, is_product
from .recorded_rows import FOLDER

LOADED: Final = "weights loaded"
EXPOSED: Final = "array refilled"
IN_TURN: Final = "DRAM in turn"
#: the array neither fills nor drains
WAITS_NEVER: Final = Effects()

SWITCHES: Final = (LOADED, EXPOSED, IN_TURN)

#: of convolutions, in the last column of the table
DRIVEN: Final = "as its software runs it"
DRIVEN_IN_TURN: Final = f"{DRIVEN}, DRAM in turn"


def hardware(row: Table[str, Any], effects: Effects = WAITS_NEVER) -> Hardware:
    """Return Gemmini with the memories of a row, and an array that fills and drains or not."""
    cells = StorageLevel("cells", "register", ("weights",), (SIDE, SIDE), 2.0, inf)
    # sums of 32 bits below each column
    sums = StorageLevel(
        *("accumulators", "sram", ("outputs",), (SIDE, 1), row["accumulator_words"] * 4, inf),
        tensor_bits=(("outputs", 32),),
    )
    pad = StorageLevel(
        *("scratchpad", "sram", ("weights", "inputs"), (1, 1), row["scratchpad_bytes"], inf)
    )
    dram = StorageLevel("dram", "dram", TENSORS, (1, 1), None, DMA_BYTES)
    return Hardware(
        name="gemmini",
        technology="n16",
        frequency_mhz=1000.0,
        word_bits=8,
        pe_mesh=(1, 1),
        array=(SIDE, SIDE),
        levels=(cells, sums, pad, dram),
        dram="lpddr4",
        vector_lanes=1,
        effects=effects,
    )


def layer(row: Table[str, Any]) -> Layer:
    """Return the layer of a row, with its padding as part of its input."""
    (r, s), stride = row["kernel"], row["stride"]
    size = ((row["rows"] - 1) * stride + r, (row["columns"] - 1) * stride + s)
    return conv2d("layer", row["channels"], row["kernels"], size, (r, s), stride, bias=False)


def mapping(row: Table[str, Any]) -> Mapping:
    """Return the mapping of a row, which is written outermost level and loop first."""
    words = row["mapping"].split(" - ")
    kept = ((True, False, False), (False, False, True), (True, True, False), (True, True, True))
    return Mapping(
        tuple(_level(word, keeps) for word, keeps in zip(reversed(words), kept, strict=True))
    )


def _level(word: str, keeps: tuple[bool, bool, bool]) -> LevelMapping:
    loops, across, down = dict[int, int](), dict[int, int](), dict[int, int]()
    for loop in reversed(word.split()[1:]):
        unrolled = loop.endswith("X")
        d, factor = DIMS.index(loop[0]), int(loop[1:].rstrip("X"))
        # kernels lie along the columns of the array, channels along its rows
        held = loops if not unrolled else across if loop[0] == "K" else down
        held[d] = factor
    return level(loops, tuple(loops), keeps, across, down)


def cost(row: Table[str, Any], design: Hardware) -> LayerCost:
    """Return what the model has for a row."""
    found = mapping(row)
    problem = MappingProblem.of_layer(layer(row), design)
    return mapped_cost(replace(problem, loop_bounds=found.factors), found)


def gemmini() -> Chapter:
    """Return the cycles of each layer."""
    found = json.loads((FOLDER / "gemmini.json").read_text())
    figures = [_cycles(row, found["source"]) for row in found["rows"]]
    between = sum(f.theirs <= max(f.switched[LOADED], f.switched[IN_TURN]) for f in figures)
    near = sum(f.ratio > 0.8 for f in figures)
    run = [f for f in figures if DRIVEN in f.switched]
    inside = sum(f.switched[DRIVEN] <= f.theirs <= f.switched[DRIVEN_IN_TURN] for f in run)
    text = TEXT.format(
        between=between,
        near=near,
        layers=len(figures),
        means=_means(figures, ("model", *SWITCHES)),
        convolutions=len(run),
        inside=inside,
        means_of_run=_means(run, ("model", DRIVEN, DRIVEN_IN_TURN)),
    )
    return Chapter("Gemmini's RTL", text, tuple(figures), switches=SWITCHES)


def _means(figures: Sequence[Figure], names: Sequence[str]) -> str:
    """Return in words how far ratios are from 1 on average, a half as far as twice."""
    apart = (
        exp(fmean(abs(log(f.switched.get(name, f.ours) / f.theirs)) for f in figures))
        for name in names
    )
    return ", ".join(f"{value:.2f}" for value in apart)


def _cycles(row: Table[str, Any], source: str) -> Figure:
    """Return the cycles of a layer; kernels of one pixel with a stride have no range."""
    plain = cost(row, hardware(row))
    strided = row["stride"] > 1 and row["kernel"] == [1, 1]
    run = None if is_product(row) else driven(row, mapping(row))
    reasons = ["in the model the array never waits"]
    reasons.append(f"Gemmini's own tiles of the layer took {row['auto_cycles']:,}")
    if strided:
        reasons.append("the software loads the pixels that the stride skips too")
    own = {} if run is None else _of_software(run)
    reasons += [f"{value / row['cycles']:.2f} {name}" for name, value in own.items()]
    return Figure(
        f"{row['name']}, cycles",
        plain.latency_cycles,
        row["cycles"],
        source,
        None if strided else (0.4, 1.0),
        "; ".join(reasons),
        {
            LOADED: cost(row, hardware(row, Effects(fill_drain="overlapped"))).latency_cycles,
            EXPOSED: cost(row, hardware(row, Effects(fill_drain="exposed"))).latency_cycles,
            IN_TURN: plain.chip_cycles + plain.dram_cycles,
            **own,
        },
    )


def _of_software(run: Driven) -> dict[str, float]:
    return {DRIVEN: run.overlapped, DRIVEN_IN_TURN: run.in_turn}


TEXT: Final = f"""
The artefact of DOSA has cycles of Gemmini's RTL, simulated in FireSim, for the products of BERT and
the layers of ResNet-50, each with the mapping that was run. The model runs the same mappings on an
array of {SIDE} x {SIDE} with the accumulator and scratchpad of each row and {DMA_BYTES} bytes a
cycle of DRAM (Gemmini's default bus; that the simulated chip has it, and that loops stand
outermost first in the file's mappings, are assumptions). The file's cycles without a mapping
(Gemmini's own tiles) are in the last column. Another file of the artefact, gemmini_test_data.csv,
has very different cycles for some of these layers; it was not used.

The model is a bound: the array never waits. That was chosen after a first look, at which *{LOADED}*
left 7 of {{layers}} layers out of their range, and so was the range: it guards against changes, and
is no prediction. The model is below the RTL for all layers, and for {{near}} of
them by less than a fifth. Columns are ratios with what the array may wait for. *{LOADED}*: tiles
that are worked on for less than {SIDE} cycles wait for their weights (`fill_drain: overlapped`).
*{EXPOSED}*: the array loads, fills and drains for every tile (`exposed`); the RTL is faster, for it
loads the next weights meanwhile. *{IN_TURN}*: DRAM works only while the array does not. Between the
model and the larger of *{LOADED}* and *{IN_TURN}* lie {{between}} of {{layers}} layers. On average
(geometric mean, a half is as far as twice) the model and the three columns are {{means}} times away
from the RTL.

The software that ran the mappings is public (ucb-bar/gemmini-rocc-tests at commit 570dff3), and so
is the RTL's generator. The last column has two more ratios for the {{convolutions}} convolutions,
computed from them; nothing was fitted. *{DRIVEN}*: each call of the software loads its
tile of inputs and weights anew, also where a mapping keeps them. Its convolutions do not use the
option to skip pixels (`downsample` is set to false), so a kernel of one pixel with a stride of two
loads four times the inputs that it needs. The array works on products of up to {SIDE} pixels of a
row with {SIDE} x {SIDE} weights. A product with new weights takes {SIDE} cycles, another one a
cycle for each pixel, at least four. At most five are in the array at once, and {IN_ARRAY} cycles
pass from a product's last pixel until its place is free. Transfers overlap with the array.
*{DRIVEN_IN_TURN}*: they never do.
Between these two lie {{inside}} of {{convolutions}} layers. On average the model and the two are
{{means_of_run}} times away from the RTL for these layers. Commands of the host and the latency of
DRAM are not modelled. Products of matrices (BERT and the classifier) run in another function of the
software, which was not followed.
"""
