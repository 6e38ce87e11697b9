"""Figures of a chip file: what the model computes beside what was measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from archloom.space.hardware import Hardware

from ....errors import UserError
from ..figures import Chapter, Figure
from .chip_file import ChipFile
from .kinds import CHIP_KINDS, LayerRun, Runs, row_kinds
from .mapping_part import searched_cost, written_cost
from .remarks import DEFAULT_ALLOWED, Measured, Remarks, quoted, with_ratios
from .rows import Row

#: hears the layer that is mapped next, how many are done, and of how many
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class _Costed:
    """A hardware, and each measured layer on it, by its position in the network."""

    hardware: Hardware
    runs: Mapping[int, LayerRun]

    def of_row(self, row: Row) -> Runs:
        """Return the layers of a row."""
        return Runs(self.hardware, [self.runs[i] for i in row.layers], list(self.runs.values()))


def chip_chapter(chip: ChipFile, tell: Tell = lambda *_: None) -> Chapter:
    """Return the figures of a chip, and what was run for them.

    Args:
        chip: what its file holds.
        tell: hears how far it is.

    Raises:
        UserError: layers that have no mapping on the hardware, all of them.
    """
    base, *others = _all_costed(chip, tell)
    switched = dict(zip(chip.switches, others, strict=True))
    figures = list[Figure]()
    for part in chip.order:
        found = _of_chip(chip, base, switched) if part == "chip" else _of_rows(chip, base, switched)
        figures += found
    quotes = {name for remarks in _all_remarks(chip) for name in quoted(remarks.reason or "")}
    shown = tuple(name for name in chip.switches if name not in quotes)
    return Chapter(chip.title, chip.about, tuple(figures), tuple(_sentences(chip, shown)), shown)


def _all_costed(chip: ChipFile, tell: Tell) -> list[_Costed]:
    """Return the costs of all layers that are needed, on the chip and with each switch."""
    needed = _needed(chip)
    designs = {"": chip.hardware.design}
    designs |= {f" with switch {name}": switch.design for name, switch in chip.switches.items()}
    given = {row.layers[0]: row for row in chip.layers if len(row.layers) == 1 and row.settles}
    faults, found = list[str](), list[_Costed]()
    for switched, design in designs.items():
        mapper, runs = chip.mapping.mapper(), dict[int, LayerRun]()
        for i in needed:
            layer, row = chip.network.network.layers[i], given.get(i)
            tell(layer.name, len(found) * len(needed) + len(runs), len(designs) * len(needed))
            density = (1.0, 1.0) if row is None else row.density
            try:
                if row is not None and row.mapping is not None:
                    cost = written_cost(row.mapping, layer, density, design)
                else:
                    cost = searched_cost(chip.mapping, mapper, layer, density, design)
                runs[i] = LayerRun(layer, cost)
            except ValueError as error:
                faults.append(f"{chip.title}: {layer.name}{switched}: {error}")
        found.append(_Costed(design, runs))
    if faults:
        raise UserError("\n".join(faults))
    return found


def _needed(chip: ChipFile) -> Sequence[int]:
    """Return the positions of the layers that are measured; all, where a figure is a share."""
    kinds = row_kinds(chip.hardware.design)
    if any(kinds[key].share for row in chip.layers for key in row.figures):
        return [i for i, layer in enumerate(chip.network.network.layers) if layer.uses_macs]
    return sorted({i for row in chip.layers for i in row.layers if row.figures})


def _of_chip(chip: ChipFile, base: _Costed, switched: Mapping[str, _Costed]) -> Iterator[Figure]:
    for key, measured in chip.chip.items():
        kind, remarks = CHIP_KINDS[key], _remarks(chip, key, measured)
        others = {name: kind.of_chip(costed.hardware) for name, costed in switched.items()}
        name = remarks.name or kind.name
        yield _figure(remarks, name, measured, (kind.of_chip(base.hardware), others), chip)


def _of_rows(chip: ChipFile, base: _Costed, switched: Mapping[str, _Costed]) -> Iterator[Figure]:
    kinds = row_kinds(chip.hardware.design)
    for row in chip.layers:
        for key, measured in row.figures.items():
            kind, general = kinds[key], chip.figures.get(key, Remarks())
            others = {name: kind.of_runs(costed.of_row(row)) for name, costed in switched.items()}
            name = measured.name or f"{row.name}, {general.name or kind.name}"
            remarks = _remarks(chip, key, measured, row)
            yield _figure(remarks, name, measured, (kind.of_runs(base.of_row(row)), others), chip)


def _remarks(chip: ChipFile, key: str, measured: Measured, row: Row | None = None) -> Remarks:
    """Return all that is said of a figure: of itself, then of its row, then of its kind."""
    own = measured if row is None else measured.over(row.remarks)
    return own.over(chip.figures.get(key, Remarks()))


def _figure(
    remarks: Remarks,
    name: str,
    measured: Measured,
    ours: tuple[float, Mapping[str, float]],
    chip: ChipFile,
) -> Figure:
    allowed = DEFAULT_ALLOWED if remarks.allowed is None else remarks.allowed
    ratios = {switch: value / measured.measured for switch, value in ours[1].items()}
    return Figure(
        name,
        ours[0],
        measured.measured,
        remarks.source or chip.source,
        (allowed[0], allowed[1]) if allowed else None,
        with_ratios(remarks.reason or "", ratios),
        ours[1],
    )


def _all_remarks(chip: ChipFile) -> Iterator[Remarks]:
    """Yield all that is said of each figure."""
    for key, measured in chip.chip.items():
        yield _remarks(chip, key, measured)
    for row in chip.layers:
        for key, measured in row.figures.items():
            yield _remarks(chip, key, measured, row)


def _sentences(chip: ChipFile, shown: Sequence[str]) -> Iterator[str]:
    """Say what was run, in Markdown."""
    names, design = chip.hardware.names, chip.hardware.design
    values = [f"`{name}: {value}`" for name, value in names.set.items()]
    having = f" with {', '.join(values)}" if values else ""
    batch = chip.network.network.batch
    images = f", {batch} inputs in a pass" if batch > 1 else ""
    yield (
        f"The hardware is `{names.name}`{having}, at {design.frequency_mhz:g} MHz with energies of "
        f"table `{design.technology}`. It runs `{chip.network.label}`{images}."
    )
    if names.change:
        yield f"Changed values of the hardware: {chip.hardware.stated(names.change)}."
    needed = set(_needed(chip))
    given = {row.layers[0] for row in chip.layers if row.mapping is not None}
    if needed - given:
        which = "each layer for which the file gives none" if needed & given else "each layer"
        yield f"The mapping of {which} is {chip.mapping.sentence}."
    elif needed:
        yield "The mapping of each layer is the one that the file gives."
    for name in shown:
        changes = chip.hardware.stated(chip.switches[name].changes)
        yield f"Column *{name}* is the ratio with {changes}. It is not checked."
    if any(remarks.allowed is None for remarks in _all_remarks(chip)):
        low, high = DEFAULT_ALLOWED
        yield f"The allowed range is {low:g} to {high:g} where the file gives none."
