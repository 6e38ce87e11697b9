"""Figures of a chip file: what the model computes beside what was measured."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from archloom.evaluators.loopnest import LayerCost
from archloom.search.mapping import Mapper
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ....errors import UserError
from ..figures import Chapter, Figure
from .chip_file import ChipFile
from .hardware_part import Switch
from .kinds import LayerRun, Runs, chip_kinds, row_kinds
from .mapping_part import problem_of, searched_cost, written_cost
from .on_chip import resident
from .own_switches import lacking, own_sentences, own_switches, shown_by
from .remarks import DEFAULT_ALLOWED, Measured, Remarks, quoted, with_ratios
from .rows import Row

#: hears the layer that is mapped next, how many are done, and of how many
Tell = Callable[[str, int, int], None]


class _Place(NamedTuple):
    """A layer that runs: its network, its position there, and what its row sets for it.

    Attributes:
        network: as :attr:`.rows.Row.runs_of` names it.
        layer: position in the network.
        settings: as :attr:`.rows.Row.runs_as` names them.
    """

    network: str
    layer: int
    settings: str


@dataclass(frozen=True)
class _Costed:
    """A hardware, that of rows which change it, and each measured layer, by its place."""

    hardware: Hardware
    changed: Mapping[str, Hardware]
    runs: Mapping[_Place, LayerRun]

    def of_row(self, row: Row) -> Runs:
        """Return the layers of a row."""
        own = [self.runs[place] for place in _places(row, row.layers)]
        same = (row.runs_of, row.runs_as)
        everything = [v for p, v in self.runs.items() if (p.network, p.settings) == same]
        design = self.changed.get(row.runs_as, self.hardware)
        return Runs(design, own, everything, _network(row).batch)


def _places(row: Row, layers: Iterable[int]) -> Iterator[_Place]:
    """Yield the places of layers that run as those of a row do."""
    for i in layers:
        yield _Place(row.runs_of, i, row.runs_as)


def _network(row: Row) -> Network:
    assert row.network is not None, "a file without a network is not read"
    return row.network.network


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
    base = {"": Switch({}, chip.hardware.design)}
    designs = base | {f" with switch {name}": switch for name, switch in chip.switches.items()}
    faults, found = list[str](), list[_Costed]()
    for switched, switch in designs.items():
        changed = {
            row.runs_as: chip.hardware.with_changes({**switch.changes, **row.change})
            for row in chip.layers
            if row.change
        }
        costed = _Costed(switch.design, changed, runs := dict[_Place, LayerRun]())
        given = _settled(chip)
        cost_of = _costs_on(chip, costed, given)
        for place, row in needed.items():
            layer = _network(row).layers[place.layer]
            tell(layer.name, len(found) * len(needed) + len(runs), len(designs) * len(needed))
            try:
                settled = _settled_by(row, given.get(place[:2]))
                runs[place] = LayerRun(layer, cost_of(place, row), _nonzero(settled))
            except ValueError as error:
                faults.append(f"{chip.title}: {layer.name}{switched}: {error}")
        found.append(costed)
    if faults:
        raise UserError("\n".join(faults))
    return found


def _settled(chip: ChipFile) -> Mapping[tuple[str, int], Row]:
    """Return the rows that say how a layer runs, by the layer's network and position."""
    return {
        (row.runs_of, row.layers[0]): row
        for row in chip.layers
        if len(row.layers) == 1 and row.settles and not row.explains
    }


def _settled_by(row: Row, given: Row | None) -> Row | None:
    """Return the row that says how a layer of a row runs: itself if it explains another."""
    return row if row.explains and row.settles else given


def _nonzero(row: Row | None) -> tuple[float, float]:
    """Return shares of nonzero inputs and outputs, as far as a row says them."""
    return (1.0, 1.0) if row is None else (row.density[1], row.written)


def _costs_on(
    chip: ChipFile, designs: _Costed, given: Mapping[tuple[str, int], Row]
) -> Callable[[_Place, Row], LayerCost]:
    """Return what costs a layer of a row on the design of its row; it maps equal layers once."""
    mappers = dict[str, Mapper]()

    def cost_of(place: _Place, row: Row) -> LayerCost:
        network = _network(row)
        layer, settled = network.layers[place.layer], _settled_by(row, given.get(place[:2]))
        own = settled is not None and settled.explains
        density = (1.0, 1.0) if settled is None else settled.density
        design = designs.changed.get(place.settings, designs.hardware)
        if settled is not None and settled.mapping is not None and (own or not place.settings):
            return written_cost(settled.mapping, layer, density, design)
        if place.settings not in mappers:
            rules = row.constraints or chip.mapping.constraints
            mappers[place.settings] = replace(chip.mapping, constraints=rules).mapper()
        problem = problem_of(layer, density, design)
        problem = resident(problem, layer, network, chip.on_chip)
        return searched_cost(chip.mapping, mappers[place.settings], problem)

    return cost_of


def _needed(chip: ChipFile) -> Mapping[_Place, Row]:
    """Return the layers that are measured, each with a row of it; all of a network, where a
    figure is a share. They come in the order of their networks.
    """
    kinds = row_kinds(chip.hardware.design)
    found = dict[_Place, Row]()
    divisors = {m.divided_by for row in chip.layers for m in row.figures.values()}
    for row in chip.layers:
        layers: Iterable[int] = row.layers if row.figures or row.name in divisors else ()
        if any(kinds[key].share for key in row.figures):
            layers = [i for i, layer in enumerate(_network(row).layers) if layer.uses_macs]
        found |= dict.fromkeys(_places(row, layers), row)
    networks = list(dict.fromkeys(place.network for place in found))
    return dict(sorted(found.items(), key=lambda item: (networks.index(item[0][0]), item[0])))


def _of_chip(chip: ChipFile, base: _Costed, switched: Mapping[str, _Costed]) -> Iterator[Figure]:
    kinds = chip_kinds(chip.hardware.design)
    for key, measured in chip.chip.items():
        kind, remarks = kinds[key], _remarks(chip, key, measured)
        others = {name: kind.of_chip(costed.hardware) for name, costed in switched.items()}
        name, value = remarks.name or kind.name, kind.of_chip(base.hardware)
        own = lacking(measured, value, kind.sense)
        yield _figure(remarks, name, measured, (value, others, own), chip)


def _of_rows(chip: ChipFile, base: _Costed, switched: Mapping[str, _Costed]) -> Iterator[Figure]:
    kinds, rows = row_kinds(chip.hardware.design), {row.name: row for row in chip.layers}

    def value(row: Row, key: str, costed: _Costed = base) -> float:
        """Return the figure of a row, divided by that of another if there is one."""
        divisor, kind = row.figures[key].divided_by, kinds[key]
        own = kind.of_runs(costed.of_row(row))
        return own if divisor is None else own / kind.of_runs(costed.of_row(rows[divisor]))

    def name_of(row: Row, key: str) -> str:
        measured, general = row.figures[key], chip.figures.get(key, Remarks()).name
        name = measured.name or f"{row.name}, {general or kinds[key].name}"
        if measured.divided_by is None or measured.name is not None:
            return name
        return f"{name.rsplit(', ', 1)[0]}, over that of {measured.divided_by}"

    for row in chip.layers:
        for key, measured in row.figures.items():
            ours, own = value(row, key), own_switches(chip, row, key, value, kinds[key].sense)
            others = {name: value(row, key, costed) for name, costed in switched.items()}
            remarks, shown = _remarks(chip, key, measured, row), shown_by(row, key, rows)
            found = _figure(remarks, name_of(row, key), measured, (ours, others, own), chip)
            yield replace(found, effect_of=name_of(*shown)) if shown else found


def _remarks(chip: ChipFile, key: str, measured: Measured, row: Row | None = None) -> Remarks:
    """Return all that is said of a figure: of itself, then of its row, then of its kind."""
    own = measured if row is None else measured.over(row.remarks)
    return own.over(chip.figures.get(key, Remarks()))


def _figure(
    remarks: Remarks,
    name: str,
    measured: Measured,
    ours: tuple[float, Mapping[str, float], Mapping[str, float]],
    chip: ChipFile,
) -> Figure:
    """Return a figure of its value, of those with switches of the file, and of its own."""
    allowed = DEFAULT_ALLOWED if remarks.allowed is None else remarks.allowed
    ratios = {switch: value / measured.measured for switch, value in ours[1].items()}
    own = (f"{value / measured.measured:.2f} with {name}" for name, value in ours[2].items())
    return Figure(
        name,
        ours[0],
        measured.measured,
        remarks.source or chip.source,
        (allowed[0], allowed[1]) if allowed else None,
        "; ".join(filter(None, (with_ratios(remarks.reason or "", ratios), *own))),
        {**ours[1], **ours[2]},
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
    yield (
        f"The hardware is `{names.name}`{having}, at {design.frequency_mhz:g} MHz with energies of "
        f"table `{design.technology}`."
        + (f" It runs {'; '.join(_networks(chip))}." if chip.layers else "")
    )
    if names.change:
        yield f"Changed values of the hardware: {chip.hardware.stated(names.change)}."
    if chip.on_chip:
        yield _kept_sentence(chip.on_chip, design)
    needed = {place[:2] for place in _needed(chip)}
    given = {(row.runs_of, row.layers[0]) for row in chip.layers if row.mapping is not None}
    if needed - given:
        which = "each layer for which the file gives none" if needed & given else "each layer"
        yield f"The mapping of {which} is {chip.mapping.sentence}."
    elif needed:
        yield "The mapping of each layer is the one that the file gives."
    yield from own_sentences(chip)
    for row in (row for row in chip.layers if row.change):
        yield f"In row *{row.name}* the hardware has {chip.hardware.stated(row.change)}."
    for name in shown:
        changes = chip.hardware.stated(chip.switches[name].changes)
        yield f"Column *{name}* is the ratio with {changes}. It is not checked."
    if any(remarks.allowed is None for remarks in _all_remarks(chip)):
        low, high = DEFAULT_ALLOWED
        yield f"The allowed range is {low:g} to {high:g} where the file gives none."


def _kept_sentence(tensors: Sequence[str], design: Hardware) -> str:
    assert design.fusion_level is not None, "a file that keeps tensors elsewhere is not read"
    level = design.levels[design.fusion_level].name
    whole = "; weights only if those of the whole network do" if "weights" in tensors else ""
    order = " (in this order)" if len(tensors) > 1 else ""
    return (
        f"Before and after a layer runs, {' and '.join(tensors)} are in `{level}` if they fit"
        f"{order}{whole}."
    )


def _networks(chip: ChipFile) -> Iterator[str]:
    """Name the networks that run, each with the inputs of a pass if there are several."""
    for label, batch in dict.fromkeys((_label(row), _network(row).batch) for row in chip.layers):
        yield f"`{label}`" + (f", {batch} inputs in a pass" if batch > 1 else "")


def _label(row: Row) -> str:
    assert row.network is not None, "a file without a network is not read"
    return row.network.label
