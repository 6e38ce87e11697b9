"""Tensors that stay on the chip: which operands of a layer are in its buffer and not in DRAM."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from archloom.evaluators.loopnest import MappingProblem
from archloom.space import did_you_mean
from archloom.space.hardware import Hardware
from archloom.space.workload import TENSORS, Layer, Network, Tensor
from archloom.studies.config import Key, Reading


def _read(entry: Any, beside: Reading) -> tuple[Tensor, ...]:
    if not isinstance(entry, list):
        raise ValueError(f"{entry!r} must be a list of tensors: {', '.join(TENSORS)}")
    for name in entry:
        if name not in TENSORS:
            raise ValueError(f"{name!r} is no tensor; {did_you_mean(str(name), TENSORS)}")
    if len(set(entry)) < len(entry):
        raise ValueError(f"{entry!r} must name each tensor once")
    chip = beside.before.get("hardware")
    if chip is not None and entry:
        _check(entry, chip.design)
    return tuple(entry)


def _check(names: Sequence[str], hardware: Hardware) -> None:
    level = hardware.fusion_level
    if level is None:
        raise ValueError(
            f"{hardware.name} has no buffer that could hold whole tensors: the outermost level on "
            "the chip must be one SRAM for inputs and outputs; leave on_chip out"
        )
    buffer = hardware.levels[level]
    for name in names:
        if name not in buffer.keeps:
            raise ValueError(
                f"{name}: level {buffer.name} of {hardware.name} keeps {', '.join(buffer.keeps)}"
            )


#: the key that holds the tensors that stay on the chip
ON_CHIP: Final = Key(
    _read,
    list,
    form=lambda: {
        "type": "array",
        "items": {"enum": list(TENSORS)},
        "uniqueItems": True,
    },
).like(["inputs", "outputs"])


def resident(
    problem: MappingProblem, layer: Layer, network: Network, tensors: Sequence[str]
) -> MappingProblem:
    """Return the problem of a layer some tensors of which are in the buffer from start to end.

    Tensors are taken in this order, each if it fits beside those before it and leaves room for
    the tiles of the others. Weights are there before the layer runs only if those of all layers
    of the network fit; a group of maps is there only for this layer.

    Args:
        problem: of the layer, with its operands in DRAM.
        layer: that runs.
        network: whose layer it is.
        tensors: that stay on the chip where they fit.
    """
    level = problem.hardware.fusion_level
    if level is None:
        return problem
    hardware = problem.hardware
    capacity = hardware.levels[level].capacity_bytes
    assert isinstance(capacity, int | float), "a fusion level is one buffer for all its tensors"
    free = int(capacity * 8 // hardware.word_bits)
    words = {
        "weights": sum(one.weight_words for one in network.layers),
        "inputs": layer.input_words,
        "outputs": layer.output_words,
    }
    for tensor in tensors:
        here = tuple(old or t == tensor for old, t in zip(problem.staged, TENSORS, strict=True))
        left = free - words[tensor]
        if left < 0:
            continue
        more = replace(problem, staged=(here[0], here[1], here[2]), free_words=left)
        if more.impossible() is None:
            problem, free = more, left
    return problem
