"""Hardware and networks that are small enough to enumerate, for tests of the software search."""

from collections.abc import Iterator

from archloom.search.fusion.partition import Partition, normalise, repair
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import TENSORS
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import INPUT, Network


def two_levels(rf_bytes: int = 16, word_bits: int = 8) -> Hardware:
    """Return four PEs with one shared register file each, straight below DRAM."""
    levels = (
        StorageLevel("rf", "register", TENSORS, (2, 2), rf_bytes, 4),
        StorageLevel("dram", "dram", TENSORS, (1, 1), None, 2.0),
    )
    return _hardware("two-levels", levels, word_bits)


def three_levels(
    glb_bytes: int = 64,
    spad_bytes: tuple[int, int, int] = (4, 4, 2),
    optional: bool = False,
    word_bits: int = 8,
) -> Hardware:
    """Return four PEs with private scratchpads and one buffer."""
    spads = tuple(zip(TENSORS, spad_bytes, strict=True))
    levels = (
        StorageLevel("spad", "register", TENSORS, (2, 2), spads, 4),
        StorageLevel("glb", "sram", TENSORS, (1, 1), glb_bytes, 4, 4, optional=optional),
        StorageLevel("dram", "dram", TENSORS, (1, 1), None, 2.0),
    )
    return _hardware("three-levels", levels, word_bits)


def _hardware(name: str, levels: tuple[StorageLevel, ...], word_bits: int) -> Hardware:
    return Hardware(
        name=name,
        technology="cacti_45nm",
        frequency_mhz=400,
        word_bits=word_bits,
        pe_mesh=(2, 2),
        array=(1, 1),
        levels=levels,
        dram="lpddr4",
        vector_lanes=2,
    )


def casco_edge(l2_kib: int = 512, **other: int) -> Hardware:
    """Return a design of the CASCO edge space: 16 x 16 PEs unless said otherwise."""
    point = {
        "pe_x": 16,
        "pe_y": 16,
        "weight_spad_bytes": 128,
        "input_spad_bytes": 32,
        "output_spad_bytes": 32,
        "l2_kib": l2_kib,
        "dram_channels": 1,
        "clock_mhz": 400,
    }
    built = HardwareSpace.load("casco_edge").build(point | other)
    assert not isinstance(built, Infeasible)
    return built


def conv(name: str = "conv", size: int = 4, channels: int = 4, kernel: int = 3) -> Layer:
    """Return a square convolution that keeps the shape of its map."""
    return Layer(
        name,
        "conv",
        k=channels,
        c=channels,
        p=size,
        q=size,
        r=kernel,
        s=kernel,
        padding=(kernel // 2, kernel // 2),
        input_size=(size, size),
    )


def resnet_conv() -> Layer:
    """Return the 3x3 convolution of ResNet-18's first stage."""
    return conv("stage1", size=56, channels=64)


def chain(length: int, size: int = 16, channels: int = 8) -> Network:
    """Return convolutions one after another, every other one 3x3."""
    kernels = [3 if i % 2 else 1 for i in range(length)]
    layers = tuple(conv(f"c{i}", size, channels, k) for i, k in enumerate(kernels))
    reads = ((INPUT,), *((f"c{i}",) for i in range(length - 1)))
    return Network("chain", layers, reads)


def graph(reads: list[tuple[int, ...]], size: int = 8, channels: int = 4) -> Network:
    """Return a network whose layer ``i`` reads layers ``reads[i]`` (-1 is the input).

    A layer with one operand is a convolution, one with two an add.
    """
    layers = []
    for i, sources in enumerate(reads):
        if len(sources) == 1:
            layers.append(conv(f"l{i}", size, channels, 1))
        else:
            shape = {"g": channels, "p": size, "q": size, "input_size": (size, size)}
            layers.append(Layer(f"l{i}", "add", operands=2, **shape))
    names = tuple(tuple(INPUT if s < 0 else f"l{s}" for s in sources) for sources in reads)
    return Network("graph", tuple(layers), names)


def cheap_evaluator(
    network: Network, hardware: Hardware, evaluations: int = 60
) -> MemoizedPlanEvaluator:
    """Return the real evaluator with little effort for each mapping."""
    return MemoizedPlanEvaluator(network, hardware, Mapper(LocalMapping(), evaluations, seed=5))


def valid_partitions(network: Network) -> list[Partition]:
    """Return every valid partition of a small network."""
    found = (normalise(p) for p in _set_partitions(list(range(len(network.layers)))))
    return [p for p in found if repair(network, p) == p]


def _set_partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for partition in _set_partitions(rest):
        yield [[first], *partition]
        for i, group in enumerate(partition):
            yield [*partition[:i], [first, *group], *partition[i + 1 :]]
