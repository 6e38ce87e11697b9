"""What simulators are asked: layers, arrays and architectures, as recorded files have them."""

from collections.abc import Iterator
from typing import Any, Final

#: input rows and columns with padding, filter rows and columns, channels, filters, strides. The
#: convolutions are those of ResNet-18; most sizes do not divide the arrays
LAYERS: Final = {
    "conv1": (229, 229, 7, 7, 3, 64, 2, 2),
    "conv2_1": (58, 58, 3, 3, 64, 64, 1, 1),
    "conv3_1": (57, 57, 3, 3, 64, 128, 2, 2),
    "conv4_down": (27, 27, 1, 1, 128, 256, 2, 2),
    "conv5_2": (9, 9, 3, 3, 512, 512, 1, 1),
    # products as SCALE-Sim has them: rows, and inner size twice
    "gemm_197_768_64": (197, 768, 1, 768, 1, 64, 1, 1),
    "gemm_100_50_75": (100, 50, 1, 50, 1, 75, 1, 1),
    "gemm_1_512_1000": (1, 512, 1, 512, 1, 1000, 1, 1),
}

#: rows and columns of arrays
ARRAYS: Final = ((32, 32), (128, 128), (16, 64))
DATAFLOWS: Final = ("ws", "os", "is")

#: KiB for inputs, weights and outputs; half of each is in use, and half is being filled
LARGE: Final = (512, 512, 256)
SMALL: Final = (64, 64, 32)

#: words a cycle of the DRAM for each of the three, in runs that may stall
DRAM_WORDS: Final = 10


def scale_sim() -> Iterator[dict[str, Any]]:
    """Yield what SCALE-Sim is asked: all layers on all arrays, then one with a DRAM that limits."""
    for rows, columns in ARRAYS:
        for dataflow in DATAFLOWS:
            for name in LAYERS:
                yield _scale_sim(name, dataflow, (rows, columns))
    for sram in (LARGE, SMALL):
        for dataflow in DATAFLOWS:
            yield _scale_sim("gemm_197_768_64", dataflow, ARRAYS[0], sram, DRAM_WORDS)


def _scale_sim(
    name: str,
    dataflow: str,
    array: tuple[int, int],
    sram: tuple[int, int, int] = LARGE,
    dram_words: int | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "layer": list(LAYERS[name]),
        "dataflow": dataflow,
        "rows": array[0],
        "columns": array[1],
        "sram_kib": list(sram),
        "dram_words": dram_words,
    }


#: images, filters, channels, output rows and columns, filter rows and columns; and the stride
ZIGZAG_LAYERS: Final = {
    "conv2_1": ((1, 64, 64, 56, 56, 3, 3), 1),
    "conv3_1": ((1, 128, 64, 28, 28, 3, 3), 2),
    "conv4_down": ((1, 256, 128, 14, 14, 1, 1), 2),
    "conv5_2": ((1, 512, 512, 7, 7, 3, 3), 1),
    "fc": ((1, 1000, 512, 1, 1, 1, 1), 1),
}

#: architectures that come with ZigZag, each with the unrolling that comes with it, whose memories
#: lie inside each other, as Archloom's levels do
ARCHITECTURES: Final = {
    "tpu_like": "tpu_like",
    "tesla_npu_like": "tesla_npu_like",
    "eyeriss_like": "default",
}

#: bits of partial sums: as wide as results, and as in ZigZag's own workloads
SUM_BITS: Final = (8, 16)


def zigzag() -> Iterator[dict[str, Any]]:
    """Yield what ZigZag is asked: all layers on all architectures, then with wide partial sums."""
    for architecture in ARCHITECTURES:
        for name in ZIGZAG_LAYERS:
            yield _zigzag(architecture, name, SUM_BITS[0])
    for architecture in ARCHITECTURES:
        yield _zigzag(architecture, "conv5_2", SUM_BITS[1])


def _zigzag(architecture: str, name: str, sum_bits: int) -> dict[str, Any]:
    loops, stride = ZIGZAG_LAYERS[name]
    return {
        "name": f"{name} on {architecture}",
        "hardware": architecture,
        "mapping": ARCHITECTURES[architecture],
        "loops": list(loops),
        "stride": stride,
        "sum_bits": sum_bits,
        "cuts": "uneven",
    }


#: rows and columns of all maps of a chain; channels, filters and kernel of each layer. All maps and
#: weights fit the core
CHAINS: Final = {
    "16-32-64-32, 28 x 28": (28, ((16, 32, 3), (32, 64, 3), (64, 32, 1))),
    "32-64-64, 14 x 14": (14, ((32, 64, 3), (64, 64, 3))),
    "16-64-16-64, 28 x 28": (28, ((16, 64, 1), (64, 16, 3), (16, 64, 1))),
}

#: parts of each layer that are scheduled one by one: the whole layer, and finer
PARTS: Final = (1, 7, 14)


def stream() -> Iterator[dict[str, Any]]:
    """Yield what Stream is asked: chains on the core that comes with it, in ever finer parts."""
    for name, (size, layers) in CHAINS.items():
        for parts in PARTS:
            yield {
                "name": name,
                "hardware": "single_testing_core_offchip",
                "size": size,
                "layers": [list(layer) for layer in layers],
                "parts": parts,
            }
