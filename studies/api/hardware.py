"""Hardware: presets, templates with values for their parameters, designs of studies."""

from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from typing import Any, TypeAlias

from archloom.space.hardware import Hardware as Chip, StorageLevel
from archloom.studies.analysis import Details, hardware_details
from archloom.studies.config import Wording, find_hardware

from ..errors import UserError
from .boundary import mendable
from .cells import cell, short_table


@dataclass(frozen=True)
class Level:
    """One level of storage.

    Attributes:
        name: name of the level.
        storage: ``register``, ``sram`` or ``dram``.
        instances: number of instances.
        capacity_bytes: capacity of one instance with all its buffers; None for DRAM.
        bandwidth_words_per_cycle: words that one instance reads and writes per cycle; may be
            infinite.
        keeps: tensors that the level can hold: weights, inputs, outputs.
    """

    name: str
    storage: str
    instances: int
    capacity_bytes: float | None
    bandwidth_words_per_cycle: float
    keeps: tuple[str, ...]

    @classmethod
    def _of(cls, level: StorageLevel) -> "Level":
        capacity = None if level.capacity_bytes is None else level.total_bytes
        return cls(
            level.name,
            level.storage,
            level.instances,
            capacity,
            level.bandwidth_words,
            tuple(level.keeps),
        )


@dataclass(frozen=True, repr=False)
class Hardware:
    """An accelerator, from :func:`load_hardware` or a design of a study.

    Area and TDP follow from its technology table.
    """

    _chip: Chip

    @property
    def name(self) -> str:
        """Name of the preset, or of the template with its parameters."""
        return self._chip.name

    @property
    def technology(self) -> str:
        """Name of the technology table."""
        return self._chip.technology

    @property
    def frequency_mhz(self) -> float:
        """Clock frequency."""
        return self._chip.frequency_mhz

    @property
    def word_bits(self) -> int:
        """Bits of a word."""
        return self._chip.word_bits

    @property
    def macs(self) -> int:
        """Number of multiply-accumulate units on the chip."""
        return self._chip.macs

    @property
    def pe_mesh(self) -> tuple[int, int]:
        """PEs along x and y."""
        return self._chip.pe_mesh

    @property
    def dram(self) -> str:
        """Type of DRAM, such as ``lpddr4``."""
        return self._chip.dram

    @property
    def dram_gbytes_per_s(self) -> float:
        """Peak bandwidth of the DRAM."""
        return self._chip.dram_gbytes_per_s

    @property
    def on_chip_bytes(self) -> float:
        """Total capacity of the on-chip storage."""
        return self._chip.on_chip_bytes

    @property
    def levels(self) -> tuple[Level, ...]:
        """Storage levels, from the innermost one to DRAM."""
        return tuple(map(Level._of, self._chip.levels))

    @property
    def area_mm2(self) -> float:
        """Area of the chip."""
        return float(sum(self._details["area_mm2"].values()))

    @property
    def tdp_w(self) -> float:
        """Thermal design power."""
        return float(sum(self._details["tdp_w"].values()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: all parts, with the area and power of each."""
        return dict(self._details)

    @cached_property
    def _details(self) -> Details:
        try:
            return hardware_details(self._chip)
        except (ValueError, OverflowError) as error:
            raise UserError(f"{self.name}: {error}") from None

    def __repr__(self) -> str:
        return (
            f"<archloom.Hardware {self.name}: {self.macs:,} MACs at {self.frequency_mhz:g} MHz, "
            f"{self.on_chip_bytes / 1024:,.1f} KiB on chip, {self.technology}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            [
                level.name,
                level.storage,
                level.instances,
                level.capacity_bytes,
                f"{level.bandwidth_words_per_cycle:g}",
                ", ".join(level.keeps),
            ]
            for level in self.levels
        ]
        note = (
            f"{self.macs:,} MACs at {self.frequency_mhz:g} MHz, {self.area_mm2:.4g} mm², TDP "
            f"{self.tdp_w:.4g} W, {self.dram} at {self.dram_gbytes_per_s:g} GB/s, {self.technology}"
        )
        heads = ("level", "storage", "instances", "bytes each", "words/cycle each", "keeps")
        return cell(self.name, [note], short_table(heads, rows, "levels"))


#: what stands for a hardware wherever one is asked for
HardwareLike: TypeAlias = Hardware | str | PathLike[str]

#: what messages call keyword arguments
_WORDS = Wording("", "technology", "word_bits")


@mendable
def load_hardware(
    source: HardwareLike,
    *,
    technology: str | None = None,
    word_bits: int | None = None,
    **parameters: float | str,
) -> Hardware:
    """Load hardware from a preset or a template.

    Args:
        source: name of a preset or template, ``host`` (this machine), or the path of a template.
        technology: technology table to use instead of its own.
        word_bits: word width to use instead of its own, with the same capacities in bytes.
        parameters: values of the template's parameters, such as ``pe_x=16``.

    Raises:
        ArchloomError: an unknown name, invalid values (all are listed), a design that breaks a rule
            of its template, or one that needs entries that the technology table lacks.
    """
    if isinstance(source, Hardware):
        changes = {"technology": technology, "word_bits": word_bits, **parameters}
        given = [name for name, value in changes.items() if value is not None]
        if given:
            raise UserError(f"{given[0]}: {source.name} is loaded already; choose it there")
        return source
    settings = [f"{name}={value}" for name, value in parameters.items()]
    found = find_hardware(fspath(source), settings, technology, word_bits, _WORDS)
    return priced(found.hardware)


def priced(chip: Chip) -> Hardware:
    """Return a hardware that its technology table has all prices of.

    Raises:
        UserError: it has not.
    """
    from archloom.evaluators import access_costs

    made = Hardware(chip)
    try:
        access_costs(chip)
    except (ValueError, OverflowError) as error:
        raise UserError(f"{chip.name}: {error}") from None
    _ = made._details
    return made
