"""Times that the cost model expects of kernels on this machine."""

from dataclasses import dataclass, replace
from typing import Final

from archloom.evaluators.loopnest import MappingProblem, mapped_cost
from archloom.space.hardware import Hardware, StorageLevel

from ..kernel import KernelSpec
from ..schedules import Schedule
from ..shape import ConvShape
from .loop_nests import layer_of, loop_nest, mapping_of

#: cycles until a vector of products can be added to again (assumption, after Fog, Instruction
#: tables: 4 on AMD since Zen 3 and on Intel since Skylake)
PRODUCT_LATENCY: Final = 4


@dataclass(frozen=True, slots=True)
class Prediction:
    """Cycles of a kernel on one core.

    Attributes:
        products: of its vectors of products alone, with all vector units busy.
        nest: of its loops in the cost model, with all levels of memory.
        copies: that make columns or tiles first, at the bandwidth of the memory that holds them.
        chains: of its products where each waits for the one before it in its accumulator.
        frame: that copy the map into a frame of zeros; none where no window reads over an edge.
    """

    products: float
    nest: float
    copies: float
    chains: float
    frame: float


def predicted(spec: KernelSpec, schedule: Schedule, host: Hardware) -> Prediction | None:
    """Return what the model expects of a kernel; None if its loops or its tile are not known to it.

    Args:
        spec, schedule: the kernel.
        host: one core of the machine.
    """
    nest = loop_nest(spec, schedule, host.array[0])
    if nest is None:
        return None
    mapping = mapping_of(nest, host)
    problem = MappingProblem.of_layer(nest.layer, host)
    if mapping.factors != problem.bounds:
        problem = replace(problem, loop_bounds=mapping.factors)
    try:
        cost = mapped_cost(problem, mapping)
    except ValueError:
        # a tile that registers do not hold: the kernel spills, which the model has no word for
        return None
    units = host.array[1]
    products = nest.layer.macs / (nest.lanes[1] * units)
    return Prediction(
        products,
        cost.latency_cycles,
        nest.copied_words * _cycles_of_a_copy(nest.copy_bytes, host),
        products * max(1.0, PRODUCT_LATENCY * units / nest.accumulators),
        _frame_words(spec.shape) * _cycles_of_a_copy(4 * _frame_words(spec.shape), host),
    )


def _frame_words(shape: ConvShape) -> int:
    """Return the words of a map with zeros around it, as it is copied before windows read it."""
    rows, columns = shape.padded
    return 0 if rows <= shape.h and columns <= shape.w else shape.c * rows * columns


def _cycles_of_a_copy(size: int, host: Hardware) -> float:
    """Cycles to write a word and to read it again, in the innermost cache that holds so much."""
    home = _home(size, host)
    most = home.bandwidth_words
    return 1 / min(home.write_bandwidth_words, most) + 1 / min(home.read_bandwidth_words, most)


def _home(size: int, host: Hardware) -> StorageLevel:
    """Return the innermost memory outside the registers that holds so many bytes."""
    *caches, last = host.levels[1:]
    return next((level for level in caches if size <= level.total_bytes), last)


def warm(host: Hardware, spec: KernelSpec) -> Hardware:
    """Return the machine as a kernel finds it that runs again and again.

    Its operands are in the innermost cache that holds all of them, so all that is further out
    gives words as fast as that cache does.
    """
    shape = spec.shape
    maps = shape.c * shape.h * shape.w + shape.k * shape.p * shape.q
    home = _home(4 * (layer_of(shape).weights + maps), host)
    place = host.levels.index(home)
    outer = (
        replace(
            level,
            bandwidth_words=home.bandwidth_words,
            read_bandwidth_words=home.read_bandwidth_words,
            write_bandwidth_words=home.write_bandwidth_words,
        )
        for level in host.levels[place:]
    )
    return replace(host, levels=(*host.levels[:place], *outer))
