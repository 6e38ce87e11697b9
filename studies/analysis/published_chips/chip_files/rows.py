"""Measured layers of a chip file: which they are, how they are mapped, and their figures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from archloom.space import Faults, Place, did_you_mean
from archloom.space.mapping import MappingConstraints
from archloom.space.workload import Layer
from archloom.studies.config import (
    NETWORK,
    EntryError,
    Key,
    Reading,
    Workload,
    collecting,
    entry_error,
    text,
)

from .hardware_part import VALUES, ChipHardware, Switch
from .kinds import CHIP_KINDS, CHIP_OF_LEVELS, KINDS, OF_LEVELS, chip_kinds, row_kinds, sense_of
from .layer_names import positions
from .mapping_part import ROW_CONSTRAINTS, WRITTEN, Written, written_cost
from .remarks import MEASURED, Measured, Remarks, check_reason


def _read_share(entry: Any, _: Reading) -> float:
    if type(entry) not in (int, float) or not 0 <= entry < 1:
        raise ValueError(f"{entry!r} must be a share from 0 and below 1")
    return float(entry)


_SHARE: Final = Key(
    _read_share, form=lambda: {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
)

#: keys of a row beside its figures
_KEYS: Final = {
    "mapping": WRITTEN,
    "input_zeros": _SHARE,
    "output_zeros": _SHARE,
    "weight_zeros": _SHARE,
    "constraints": ROW_CONSTRAINTS,
    "change": VALUES,
    "explains": text(),
    "source": text(),
    "reason": text(),
}

_LAYERS: Final = "layers"
_NETWORK: Final = "network"

#: most rows of a file; networks that people measure have fewer layers
_MOST_ROWS: Final = 2000

#: of a row for several layers, which have different values of these
_OF_ONE: Final = ("mapping", "input_zeros", "output_zeros", "weight_zeros")

#: a row that has one of these says something without a figure
_SETTINGS: Final = {*_OF_ONE, "constraints", "change"}


@dataclass(frozen=True)
class Row:
    """Layers that were measured together, one in most rows.

    Attributes:
        name: of the row: the layer's, or what the file calls several.
        layers: their positions in the network.
        network: whose layers they are: the file's, or the row's own.
        figures: what was measured, by key.
        mapping: of the layer; None for what a search finds.
        density: shares of nonzero weights and inputs.
        written: share of nonzero outputs, for packed feature maps.
        explains: name of the row that this one repeats with other assumptions; none for most.
        constraints: on the mappings of the row's layers, in place of the file's; None for those.
        change: values of the hardware for this row, by key path, beside those of the file.
        remarks: of all figures of the row.
        entry: as it stands in the file.
    """

    name: str
    layers: tuple[int, ...]
    network: Workload | None
    figures: Mapping[str, Measured]
    mapping: Written | None = None
    density: tuple[float, float] = (1.0, 1.0)
    constraints: MappingConstraints | None = None
    change: Mapping[str, Any] = field(default_factory=dict)
    remarks: Remarks = field(default_factory=Remarks)
    entry: Any = field(default=None, compare=False)
    written: float = 1.0
    explains: str = ""

    @property
    def settles(self) -> bool:
        """Whether the row says how its layer runs."""
        return self.mapping is not None or (*self.density, self.written) != (1.0,) * 3

    @property
    def runs_of(self) -> str:
        """Stands for the network of the row: rows that name the same one have equal texts."""
        return "" if self.network is None else repr(self.network.reference)

    @property
    def runs_as(self) -> str:
        """Stands for what the row sets for its layers alone; empty if nothing."""
        rules = "" if self.constraints is None else repr(self.constraints)
        if self.explains and self.settles:
            rules += repr((self.mapping, self.density, self.written))
        return rules + (repr(sorted(self.change.items())) if self.change else "")


def _read_rows(entries: Any, beside: Reading) -> tuple[Row, ...]:
    if not isinstance(entries, dict):
        raise ValueError(f"{entries!r} must be a mapping of layers to what was measured of them")
    faults, found = Faults(), list[Row]()
    if len(entries) > _MOST_ROWS:
        raise ValueError(f"has {len(entries)} rows, must have at most {_MOST_ROWS}")
    for name, entry in entries.items():
        with collecting(faults, str(name)):
            found.append(_read_row(str(name), entry, beside))
    for row in _mapped_twice(found):
        faults.add(Place(keys=(row.name,)), "another row has mapping or zeros of the same layer")
    for place, message in _wrong_divisors(found):
        faults.add(place, message)
    for place, message in _wrong_explanations(found):
        faults.add(place, message)
    if faults:
        raise EntryError(faults)
    return tuple(found)


def _mapped_twice(rows: list[Row]) -> Iterator[Row]:
    seen = set[tuple[str, tuple[int, ...]]]()
    for row in rows:
        if row.settles and not row.explains:
            if (row.runs_of, row.layers) in seen:
                yield row
            seen.add((row.runs_of, row.layers))


def _wrong_divisors(rows: list[Row]) -> Iterator[tuple[Place, str]]:
    names = [row.name for row in rows]
    for row in rows:
        for key, measured in row.figures.items():
            other, place = measured.divided_by, Place(keys=(row.name, key, "divided_by"))
            if other is not None and other not in names:
                yield place, f"no row is called {other!r}; {did_you_mean(other, names)}"
            elif other == row.name:
                yield place, "a row divided by itself is 1; name another row"


def _wrong_explanations(rows: list[Row]) -> Iterator[tuple[Place, str]]:
    others = {row.name: row for row in rows if not row.explains}
    for row in (row for row in rows if row.explains):
        place = Place(keys=(row.name, "explains"))
        if row.explains not in others:
            near = did_you_mean(row.explains, others)
            yield place, f"no row that explains no other is called {row.explains!r}; {near}"
        elif not row.figures.keys() & others[row.explains].figures.keys():
            known = ", ".join(others[row.explains].figures)
            yield place, f"needs a figure of {row.explains}, with other assumptions: {known}"


def _read_row(name: str, entry: Any, beside: Reading) -> Row:
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} must be a mapping of figures, such as {{latency_ms: 1.5}}")
    faults, layers = Faults(), tuple[int, ...]()
    if "change" in entry:
        with collecting(faults, "change"):
            beside = _with_changes(VALUES.read(entry["change"], beside), beside)
    chip, workload = beside.before.get("hardware"), beside.before.get("network")
    if _NETWORK in entry:
        workload = None
        with collecting(faults, _NETWORK):
            workload = NETWORK.read(entry[_NETWORK], beside)
    network = None if workload is None else workload.network
    with collecting(faults, *([_LAYERS] if _LAYERS in entry else [])):
        if network is not None:
            # a row with a network of its own is of all its layers if it names none
            layers = positions(entry.get(_LAYERS, "*" if _NETWORK in entry else name), network)
    figures, said = _read_keys(entry, beside, faults)
    for key in (key for key in _OF_ONE if key in entry and len(layers) > 1):
        message = f"is for rows of one layer; {name} has {len(layers)}: give each its own row"
        faults.add(Place(keys=(key,)), message)
    for key in (key for key in ("constraints", "change", "on_chip") if "mapping" in entry):
        if key in entry or beside.before.get(key):
            message = f"is for layers that a search maps; leave it or {key} out"
            faults.add(Place(keys=("mapping",)), message)
    if not faults and not figures and not said.keys() & _SETTINGS:
        faults.add(Place(), f"has no figure; known: {', '.join(KINDS)}")
    density = (1.0 - said.get("weight_zeros", 0.0), 1.0 - said.get("input_zeros", 0.0))
    remarks = Remarks(source=said.get("source"), reason=said.get("reason"))
    settled = (said.get("mapping"), density, said.get("constraints"), said.get("change", {}))
    written = 1.0 - said.get("output_zeros", 0.0)
    explains = said.get("explains", "")
    row = Row(name, layers, workload, figures, *settled, remarks, entry, written, explains)
    if chip is not None and network is not None and len(layers) == 1 and not faults:
        with collecting(faults, "mapping"):
            _check_mapping(row, network.layers[layers[0]], chip, beside.before.get("switches", {}))
    if faults:
        raise EntryError(faults)
    return row


def _with_changes(changes: Mapping[str, Any], beside: Reading) -> Reading:
    """Return what a row reads beside its keys: the hardware with the row's changes."""
    chip = beside.before.get("hardware")
    if chip is None or not changes:
        return beside
    for switch in beside.before.get("switches", {}).values():
        chip.with_changes({**switch.changes, **changes})
    return replace(beside, before={**beside.before, "hardware": chip.changed(changes)})


def _read_keys(
    entry: Mapping[Any, Any], beside: Reading, faults: Faults
) -> tuple[dict[str, Measured], dict[str, Any]]:
    """Return the figures of a row, and the values of its other keys."""
    figures, said = dict[str, Measured](), dict[str, Any]()
    known, ends = _row_keys(beside)
    for key, value in ((str(k), v) for k, v in entry.items() if k not in (_LAYERS, _NETWORK)):
        with collecting(faults, key):
            if key in _KEYS:
                said[key] = _KEYS[key].read(value, beside)
            elif key in known or key.endswith(ends):
                figures[key] = MEASURED.read(value, beside)
                _check_lacks(key, figures[key])
                check_reason(figures[key].reason, beside)
            else:
                near = did_you_mean(key, [*known, *_KEYS, _LAYERS, _NETWORK])
                raise ValueError(f"is an unknown key; {near}")
    with collecting(faults):
        check_reason(said.get("reason"), beside)
    return figures, said


def _check_lacks(key: str, measured: Measured) -> None:
    """Refuse shares of a figure that is no time, energy or area."""
    if measured.lacks and not sense_of(key):
        raise entry_error("is for figures of time, energy, traffic or area; leave it out", "lacks")


def _row_keys(beside: Reading) -> tuple[list[str], tuple[str, ...]]:
    """Return the figures that rows may have; and their ends, if the levels are unknown."""
    chip = beside.before.get("hardware")
    return (list(KINDS), tuple(OF_LEVELS)) if chip is None else (list(row_kinds(chip.design)), ())


def _chip_keys(beside: Reading) -> tuple[list[str], tuple[str, ...]]:
    chip = beside.before.get("hardware")
    if chip is None:
        return list(CHIP_KINDS), tuple(CHIP_OF_LEVELS)
    return list(chip_kinds(chip.design)), ()


def _check_mapping(
    row: Row, layer: Layer, chip: ChipHardware, switches: Mapping[str, Switch]
) -> None:
    """Raise what is wrong with the mapping of a row, on the chip and with each switch."""
    if row.mapping is None:
        return
    written_cost(row.mapping, layer, row.density, chip.design)
    for name, switch in switches.items():
        try:
            written_cost(row.mapping, layer, row.density, switch.design)
        except ValueError as error:
            raise ValueError(f"with switch {name}: {error}") from None


def _row_form() -> dict[str, Any]:
    figures = {key: {**MEASURED.form(), "description": k.about} for key, k in KINDS.items()}
    names = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    return {
        "type": "object",
        "description": _ABOUT,
        "properties": {
            _LAYERS: names,
            _NETWORK: NETWORK.form(),
            **{key: {**read.form(), "description": _ABOUTS[key]} for key, read in _KEYS.items()},
            **figures,
        },
        "patternProperties": _of_levels(OF_LEVELS, MEASURED.form()),
        "additionalProperties": False,
    }


def _of_levels(ends: Mapping[str, str], form: dict[str, Any]) -> dict[str, Any]:
    return {f"{end}$": {**form, "description": about} for end, about in ends.items()}


_ABOUT: Final = """\
What was measured of a layer, or of several layers together.

Attributes:
    layers: names or patterns of the layers, if the row's name is not that of a layer.
    network: another network than the file's, whose layers the row has; all of them without
        ``layers``.
"""
_ABOUTS: Final = {
    "mapping": "mapping of the layer: a list of loops, a text, or a row-stationary pass",
    "input_zeros": "share of zeros among the inputs of the layer",
    "output_zeros": "share of zeros among the outputs of the layer, for packed feature maps",
    "weight_zeros": "share of zeros among the weights of the layer",
    "constraints": "constraints on the mappings of the row's layers, in place of the file's",
    "change": "other values of the hardware for this row, by key path of the template",
    "explains": "another row that this one repeats with other assumptions: a switch of its figures",
    "source": "where the measured values of the row come from",
    "reason": "why the values of the row differ",
}
#: the key that holds measured layers
ROWS: Final = Key(
    _read_rows,
    lambda rows: {row.name: row.entry for row in rows},
    form=lambda: {"type": "object", "additionalProperties": _row_form()},
).like({"conv1": {"latency_ms": 16.5, "power_mw": 332}})


def _read_chip_figures(entries: Any, beside: Reading) -> dict[str, Measured]:
    known, ends = _chip_keys(beside)
    found: dict[str, Measured] = _by_key(entries, beside, MEASURED, known, ends)
    faults = Faults()
    for key in (key for key, measured in found.items() if measured.divided_by is not None):
        faults.add(Place(keys=(key, "divided_by")), "is for figures of layers; leave it out")
    for key, measured in found.items():
        with collecting(faults, key):
            _check_lacks(key, measured)
    if faults:
        raise EntryError(faults)
    return found


def _read_remarks(entries: Any, beside: Reading) -> dict[str, Remarks]:
    (known, ends), (of_chip, chip_ends) = _row_keys(beside), _chip_keys(beside)
    return _by_key(entries, beside, Key(Remarks.read), [*known, *of_chip], (*ends, *chip_ends))


def _by_key(
    entries: Any, beside: Reading, key: Key, known: list[str], ends: tuple[str, ...]
) -> dict[str, Any]:
    """Return entries by their figures, which are known or have one of these ends."""
    if not isinstance(entries, dict):
        raise ValueError(f"{entries!r} must be a mapping of figures")
    faults, found = Faults(), dict[str, Any]()
    for name, entry in ((str(k), v) for k, v in entries.items()):
        with collecting(faults, name):
            if name not in known and not name.endswith(ends):
                raise ValueError(f"is an unknown figure; {did_you_mean(name, known)}")
            found[name] = key.read(entry, beside)
            check_reason(found[name].reason, beside)
    if faults:
        raise EntryError(faults)
    return found


#: the key that holds figures of the whole chip
CHIP_FIGURES: Final = Key(
    _read_chip_figures,
    form=lambda: {
        "type": "object",
        "properties": {
            key: {**MEASURED.form(), "description": kind.about} for key, kind in CHIP_KINDS.items()
        },
        "patternProperties": _of_levels(CHIP_OF_LEVELS, MEASURED.form()),
        "additionalProperties": False,
    },
).like({"area_mm2": 12.25})

#: the key that holds what is said of all figures of a kind
REMARKS: Final = Key(
    _read_remarks,
    form=lambda: {
        "type": "object",
        "properties": {key: Remarks.form() for key in (*KINDS, *CHIP_KINDS)},
        "patternProperties": {f"{end}$": Remarks.form() for end in (*OF_LEVELS, *CHIP_OF_LEVELS)},
        "additionalProperties": False,
    },
).like({"latency_ms": {"allowed": [0.8, 1.0], "reason": "fill and drain are not modelled"}})
