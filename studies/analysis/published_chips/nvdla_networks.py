"""NVDLA, small to large: ResNet-50 in its direct convolution, at published sizes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, inf
from typing import Final

from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.space.hardware import Hardware, StorageLevel
from archloom.space.mapping import Mapping
from archloom.space.networks import network
from archloom.space.workload import TENSORS, C, K, Layer, P, Q, R, S

from .figures import Chapter, Figure
from .fixed_mappings import level

SOURCE: Final = "NVDLA Primer (nvdla.org), Example Area and Performance with NVDLA"

#: assumption: the table does not state the clock; 1 GHz
CLOCK_MHZ: Final = 1000.0

#: pixels of a stripe, at most, for which the array holds its weights (NVDLA unit description,
#: Stripe Operation: 16 to 32, limited by the accumulator)
STRIPE: Final = 32

#: pixels in which the weights of the next stripe arrive (ibid.: the lower limit 16 is due to the
#: bandwidth that fetches them)
LOAD: Final = 16

#: faster in Winograd mode (ibid., Winograd Convolution)
WINOGRAD: Final = 2.25

RESIDUALS: Final = "with shortcuts"
IN_TURN: Final = "DRAM in turn"
FAST: Final = "Winograd"
SWITCHES: Final = (RESIDUALS, IN_TURN, FAST)


@dataclass(frozen=True)
class Size:
    """A row of the table.

    Attributes:
        channels, kernels: input channels and kernels that are multiplied in a cycle (atomic-C and
            atomic-K; NVDLA scalability parameters for 2048, 256 and 64 MACs). Assumption: the
            others are as wide or twice as wide in channels.
        buffer_kib: convolution buffer.
        gbytes_per_s: DRAM.
        frames_per_s: of ResNet-50 with 8-bit integers.
    """

    channels: int
    kernels: int
    buffer_kib: int
    gbytes_per_s: float
    frames_per_s: float

    @property
    def macs(self) -> int:
        """Multipliers."""
        return self.channels * self.kernels

    def hardware(self) -> Hardware:
        """Return the design: weights at the MACs, sums in the accumulator, operands in a buffer."""
        array = (self.kernels, self.channels)
        cells = StorageLevel("cells", "register", ("weights",), array, 2.0, inf)
        # a word for each sum: its 34 bits are not priced here
        sums = StorageLevel("sums", "sram", ("outputs",), (1, 1), STRIPE * self.kernels, inf)
        buffer = StorageLevel(
            *("cbuf", "sram", ("weights", "inputs"), (1, 1), self.buffer_kib * 1024, inf),
            # a pixel of inputs in each cycle, and the weights of the next stripe
            read_bandwidth_words=self.channels + self.macs / LOAD,
        )
        words = self.gbytes_per_s * 1e3 / CLOCK_MHZ
        dram = StorageLevel("dram", "dram", TENSORS, (1, 1), None, words)
        return Hardware(
            name=f"nvdla_{self.macs}",
            technology="n16",
            frequency_mhz=CLOCK_MHZ,
            word_bits=8,
            pe_mesh=(1, 1),
            array=array,
            levels=(cells, sums, buffer, dram),
            dram="lpddr4",
            vector_lanes=1,
        )


SIZES: Final = (
    Size(64, 32, 512, 20, 269),
    Size(64, 16, 256, 15, 153),
    Size(32, 16, 256, 10, 93),
    Size(32, 8, 256, 5, 46),
    Size(16, 8, 256, 2, 20),
    Size(8, 8, 128, 1, 7.3),
    Size(8, 4, 128, 0.5, 3.6),
)


def nests(layer: Layer, size: Size) -> Iterator[Mapping]:
    """Yield the direct convolution with each way to cut it into passes that fit the buffer.

    A pass has some of the kernels and some of the rows. Where not all kernels fit, inputs are
    fetched again for the next ones, or weights for the next rows (Primer, on memory bandwidth).
    """
    across, down = {K: min(size.kernels, layer.k)}, {C: min(size.channels, layer.c)}
    if layer.c * layer.s <= size.channels:
        # channel extension of images: the columns of the kernel lie beside the channels
        down[S] = layer.s
    columns = min(layer.q, STRIPE)
    columns = ceil(layer.q / ceil(layer.q / columns))
    stripe = {Q: columns, P: min(layer.p, max(1, STRIPE // columns))}
    inner = {R: layer.r, S: ceil(layer.s / down.get(S, 1)), C: ceil(layer.c / down[C])}
    groups, stripes = ceil(layer.k / across[K]), ceil(layer.p / stripe[P])
    for strips in dict.fromkeys(ceil(stripes / n) for n in range(1, stripes + 1)):
        rows = ceil(stripes / strips)
        reach = ((rows * stripe[P] - 1) * layer.stride[0] + layer.r) * layer.input_size[1]
        room = size.buffer_kib * 1024 - layer.c * min(
            reach, layer.input_size[0] * layer.input_size[1]
        )
        held = int(room // (across[K] * layer.c * layer.r * layer.s))
        if held < 1:
            continue
        passes = ceil(groups / held)
        sums = level(stripe | inner, (Q, P, S, R, C), (False, False, True), across, down)
        tile = {Q: ceil(layer.q / columns), P: rows, K: ceil(groups / passes)}
        held_in = level(tile, (Q, P, K), (True, True, False))
        for order in ((K, P), (P, K)):
            outer = level({K: passes, P: strips}, order)
            yield Mapping((level({}, keeps=(True, False, False)), sums, held_in, outer))
            if passes == 1 or strips == 1:
                break


@cache
def best(layer: Layer, size: Size) -> LayerCost:
    """Return the cost of the fastest nest, and of these the one that moves least."""
    problem = MappingProblem.of_layer(layer, size.hardware())
    costs = []
    for nest in nests(layer, size):
        try:
            costs.append(mapped_cost(replace(problem, loop_bounds=nest.factors), nest))
        except ValueError:
            # padded rows do not fit
            continue
    return min(costs, key=lambda cost: (cost.latency_cycles, cost.dram_cycles))


def nvdla() -> Chapter:
    """Return the frames of ResNet-50 per second, for each size of the table."""
    figures = [_frames(size) for size in SIZES]
    return Chapter("NVDLA on ResNet-50", TEXT, tuple(figures), switches=SWITCHES)


def _frames(size: Size) -> Figure:
    """Return the frames per second of a size; small ones are shown without a range."""
    layers = [layer for layer in network("resnet50").layers if layer.uses_macs]
    costs = [best(replace(layer, name="layer"), size) for layer in layers]
    words = size.hardware().levels[-1].bandwidth_words
    overlapped = [
        max(c.chip_cycles, c.dram_cycles + added / words) for c, added in _shortcuts(costs)
    ]
    fast = [
        max(c.chip_cycles / (WINOGRAD if _in_winograd(layer) else 1.0), c.dram_cycles)
        for layer, c in zip(layers, costs, strict=True)
    ]
    return Figure(
        f"{size.macs} MACs, {size.buffer_kib} KiB, {size.gbytes_per_s:g} GB/s, frames/s",
        _per_second(sum(c.latency_cycles for c in costs)),
        size.frames_per_s,
        SOURCE,
        (1.0, 1.35) if size.macs >= 128 else None,
        "the published figures are estimates too; the model reads no shortcuts, and all transfers "
        "overlap with the MACs"
        + ("" if size.macs >= 128 else "; transfers of such small sizes are not hidden"),
        {
            RESIDUALS: _per_second(sum(overlapped)),
            IN_TURN: _per_second(sum(c.chip_cycles + c.dram_cycles for c in costs)),
            FAST: _per_second(sum(fast)),
        },
    )


def _per_second(cycles: float) -> float:
    return CLOCK_MHZ * 1e6 / cycles


def _in_winograd(layer: Layer) -> bool:
    """Whether a layer can run in Winograd mode: kernels of 3 x 3 at stride 1."""
    return (layer.r, layer.s) == (3, 3) and layer.stride == (1, 1)


def _shortcuts(costs: list[LayerCost]) -> Iterator[tuple[LayerCost, int]]:
    """Yield the layers' costs, each with the words of a shortcut that is added to its results."""
    found = iter(costs)
    last: LayerCost | None = None
    for layer in network("resnet50").layers:
        if layer.uses_macs:
            if last is not None:
                yield last, 0
            last = next(found)
        elif layer.name.endswith("add") and last is not None:
            yield last, layer.output_words
            last = None
    if last is not None:
        yield last, 0


TEXT: Final = f"""
The Primer of NVDLA has a table of sizes, with estimates of ResNet-50's frames per second. In the
model the same numbers of MACs, buffers and bandwidths run each layer in the direct convolution of
the unit description: weights of atomic-C channels and atomic-K kernels stand still for a stripe of
at most {STRIPE} pixels, sums stay in the accumulator until all channels are in, and the weights of
the next stripe arrive in {LOAD} cycles. A layer is cut into passes of kernels or of rows that fit
the buffer, as the Primer says; of these the fastest is taken. The first layer has its columns
beside its channels (channel extension). Its time is the longer of its transfers and its MACs, which
is the Primer's rule too. Assumptions: a clock of {CLOCK_MHZ:g} MHz, which the table does not state;
atomic-C and atomic-K of 1024, 512, 128 and 32 MACs. Nothing was fitted. Area is not compared: the
technology tables have no 28 nm.

Columns are ratios with other assumptions. *{RESIDUALS}*: the layer before an addition also reads
the shortcut. *{IN_TURN}*: no transfer overlaps with the MACs. *{FAST}*: kernels of 3 x 3 at stride
1 take {WINOGRAD:g} times fewer cycles of the MACs, as in the Winograd mode that the large size has.
The published figures lie between the model and the second column for 128 MACs and more. Those of 64
and 32 MACs are 8 to 9% below the second column: there neither transfers nor MACs explain the
estimate alone.
"""
