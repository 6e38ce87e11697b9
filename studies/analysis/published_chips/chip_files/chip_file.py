"""A chip file as a whole: what it may hold, and everything that is wrong with it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final

from archloom.space import Faults
from archloom.space.workload import Tensor
from archloom.studies.config import (
    NETWORK,
    ConfigError,
    Reading,
    Section,
    Workload,
    collecting,
    file_text,
    read_document,
    text,
)

from .hardware_part import HARDWARE, SWITCHES, ChipHardware, Switch
from .mapping_part import SEARCH, MappingSearch
from .on_chip import ON_CHIP
from .remarks import Measured, Remarks
from .rows import CHIP_FIGURES, REMARKS, ROWS, Row

_FOLDER: Final = Path(__file__).with_name("chips")

#: parts that have figures
_ORDER: Final = ("chip", "layers")


@dataclass(frozen=True, kw_only=True)
class ChipFile(Section):
    """Measured figures of a chip, and what runs on it.

    Attributes:
        title: chip and network, for headings (default: the file's name).
        about: what was measured and how the chip is described, in Markdown.
        source: where the measured values come from.
        hardware: the chip: a preset or template, or a mapping with its values.
        network: what runs: a network of the catalogue or a file, as in study files, with its batch
            (default: none; then each row names its own).
        switches: by name, changes of the hardware with which all figures are computed once more.
            Only figures without a switch are checked.
        on_chip: tensors that are in the outermost buffer of the chip before and after a layer
            runs, and not in DRAM, where they fit: in this order (default: none).
        mapping: search for mappings of layers whose mapping the file does not give.
        figures: by figure, its name, allowed ratio, source and reason in all rows.
        chip: measured figures of the whole chip.
        layers: measured figures of layers, by the name of the layer, or by another name with the
            key ``layers``.
    """

    title: Annotated[str, text()] = ""
    about: Annotated[str, text()] = ""
    source: Annotated[str, text("(?s).*\\S", form="say where the values come from")]
    hardware: Annotated[ChipHardware, HARDWARE]
    network: Annotated[Workload | None, NETWORK.or_none()] = None
    switches: Annotated[Mapping[str, Switch], SWITCHES] = field(default_factory=dict)
    on_chip: Annotated[tuple[Tensor, ...], ON_CHIP] = ()
    mapping: Annotated[MappingSearch, SEARCH] = field(default_factory=MappingSearch)
    figures: Annotated[Mapping[str, Remarks], REMARKS] = field(default_factory=dict)
    chip: Annotated[Mapping[str, Measured], CHIP_FIGURES] = field(default_factory=dict)
    layers: Annotated[tuple[Row, ...], ROWS] = ()
    #: the parts that have figures, as they stand in the file
    order: tuple[str, ...] = _ORDER


def own_chips() -> dict[str, Path]:
    """Return the files that come with archloom, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.yaml"))}


def read_chip(path: Path) -> ChipFile:
    """Return what a chip file holds.

    Raises:
        ConfigError: everything that is wrong in it.
        UserError: it cannot be read.
    """
    content, faults = file_text(path), Faults()
    document = read_document(path, content, faults, "a chip file needs source, hardware, network")
    wrong = Faults()
    with collecting(wrong):
        found = ChipFile.read(document.data, Reading(path.parent))
    for fault in wrong:
        faults.add(document.place(fault.place.keys), fault.message)
    for row in () if faults else found.layers:
        if row.network is None:
            lacks = "needs a network: that of the file, or its own"
            faults.add(document.place(("layers", row.name)), lacks)
    if not faults and not found.chip and not any(row.figures for row in found.layers):
        faults.add(document.place(()), "has no measured figure; give some under layers or chip")
    if faults:
        raise ConfigError(path, faults)
    order = tuple(key for key in document.data if key in _ORDER)
    return replace(found, title=found.title or path.stem, order=order)
