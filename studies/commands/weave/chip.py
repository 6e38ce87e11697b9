"""Chips that networks share: an NPU of the Layerweaver paper, or any hardware, split."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.evaluators.weaving import (
    NPUS,
    Npu,
    WeightStationary,
    split_hardware,
)
from archloom.space import Infeasible, did_you_mean
from archloom.space.design_space import PRESETS, TEMPLATES
from archloom.studies.config import HOST, find_hardware

from ...errors import UserError

if TYPE_CHECKING:
    from archloom.space.hardware import Hardware

_KIB: Final = 1024


@dataclass(frozen=True)
class Asked:
    """What a command line says of the chip.

    Attributes:
        name: an NPU, a preset, a template or a file.
        settings, technology, word_bits: of hardware, as other commands take them.
        buffer_kib: for weights; None for what the chip has, or half of its outermost memory.
    """

    name: str
    settings: Sequence[str] = ()
    technology: str | None = None
    word_bits: int | None = None
    buffer_kib: int | None = None


@dataclass(frozen=True)
class Chip:
    """A chip that networks share.

    Attributes:
        npu: its engines and buffers.
        array: of an NPU, whose layers need no mappings.
        planned: of other hardware: what plans of each network run on.
    """

    npu: Npu
    array: WeightStationary | None
    planned: "Hardware | None"


def find_chip(asked: Asked) -> Chip:
    """Return the chip that a command line asks for.

    Raises:
        UserError: nothing of that name, options that it does not take, or a buffer for weights that
            leaves nothing for maps.
    """
    size = None if asked.buffer_kib is None else asked.buffer_kib * _KIB
    if asked.name in NPUS:
        return _npu(asked, size)
    names = [*PRESETS, *TEMPLATES, HOST]
    if asked.name not in names and not Path(asked.name).is_file():
        hint = did_you_mean(asked.name, [*NPUS, *names])
        raise UserError(f"{asked.name}: no such NPU, preset, template or file; {hint}")
    hardware = find_hardware(asked.name, asked.settings, asked.technology, asked.word_bits).hardware
    split = split_hardware(hardware, size)
    if isinstance(split, Infeasible):
        option = "" if size is None else f"--buffer-kib {asked.buffer_kib}: "
        raise UserError(f"{option}{split}")
    return Chip(split.npu, None, split.planned)


def _npu(asked: Asked, size: int | None) -> Chip:
    npu, array = NPUS[asked.name]
    given = {
        "--set": asked.settings,
        "--technology": asked.technology,
        "--word-bits": asked.word_bits,
    }
    if refused := [option for option, value in given.items() if value]:
        raise UserError(
            f"{', '.join(refused)}: NPU {asked.name} is fixed as in its paper; these options apply "
            "to presets, templates and template files"
        )
    if size is not None:
        npu = replace(npu, weight_buffer_bytes=size)
    return Chip(npu, array, None)
