"""Chips that come with archloom, by the names that ``archloom validate`` has for them."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from .chip_files import Tell, chip_chapter, own_chips, read_chip
from .figures import Chapter

#: the chips of docs/validation/validation.md, in its order
PAGE: Final = (
    *("eyeriss_alexnet", "tpu_v3_efficientnet"),
    *("eyeriss_v2", "scnn", "dual_side_tensor_core"),
)


def built_in() -> Mapping[str, Callable[[Tell], Chapter]]:
    """Return what computes the figures of each chip; it tells how far it is."""
    from .dual_side_products import dual_side_tensor_core
    from .eyeriss_v2_networks import eyeriss_v2
    from .nvdla_networks import nvdla
    from .scnn_networks import scnn
    from .simulators import gemmini, scale_sim, stream, zigzag

    files = {name: partial(_of_file, path) for name, path in own_chips().items()}
    files["tpu_v3_efficientnet"] = partial(_with_vector_unit, own_chips()["tpu_v3_efficientnet"])
    in_python = (eyeriss_v2, scnn, dual_side_tensor_core)
    beside = (scale_sim, zigzag, stream, gemmini, nvdla)
    return (
        files
        | {made.__name__: partial(_told, made, "zeros at random places") for made in in_python}
        | {made.__name__: partial(_told, made, "recorded layers") for made in beside}
    )


def _of_file(path: Path, tell: Tell) -> Chapter:
    return chip_chapter(read_chip(path), tell)


def _with_vector_unit(path: Path, tell: Tell) -> Chapter:
    """Compute the chapter of TPU v3, with its depthwise layers on either unit."""
    from .vector_unit import with_vector_unit

    chip = read_chip(path)
    (row,) = (row for row in chip.layers if row.name == "depthwise layers")
    assert row.network is not None, "a file without a network is not read"
    layers = [row.network.network.layers[i] for i in row.layers]
    return with_vector_unit(chip_chapter(chip, tell), layers, chip.hardware.design)


def _told(made: Callable[[], Chapter], step: str, tell: Tell) -> Chapter:
    """Compute a chapter that is one step to whoever watches."""
    tell(step, 0, 1)
    return made()
