"""The hardware of a chip file: a preset or template, and values of it that the chip has."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

from archloom.space import Fault, Faults, Place, read_yaml
from archloom.space.design_space import PRESETS, TEMPLATES, Changes, value_at
from archloom.space.hardware import Hardware
from archloom.studies.config import (
    HOST,
    ChosenHardware,
    EntryError,
    Key,
    Reading,
    Section,
    Wording,
    absolute,
    collecting,
    find_hardware,
    text,
    whole,
)

from ....errors import UserError

#: how messages call what a command line calls by options
_WORDS: Final = Wording("set.", "technology", "word_bits")


def _read_values(entry: Any, _: Reading) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} must be a mapping of names to values")
    return {str(name): value for name, value in entry.items()}


#: names with values
VALUES: Final = Key(_read_values, form=lambda: {"type": "object"})


@dataclass(frozen=True, kw_only=True)
class HardwareNames(Section):
    """The hardware of the chip.

    Attributes:
        name: name of a preset or template, or the path of a template file, relative to the chip
            file.
        set: values of the parameters of a template, by name.
        change: other values of keys of the template, by key path, such as
            ``levels.glb.bandwidth_words: 8`` or ``effects.network: mesh``; items of lists are found
            by their name. The output states each of them.
        technology: technology table for energy and area (default: the template's).
        word_bits: word width in bits (default: the template's).
    """

    name: Annotated[str, text().like("eyeriss", "my_chip.yaml")]
    set: Annotated[Mapping[str, Any], VALUES.like({"pe_x": 16})] = field(default_factory=dict)
    change: Annotated[Mapping[str, Any], VALUES.like({"levels.glb.bandwidth_words": 8})] = field(
        default_factory=dict
    )
    technology: Annotated[str | None, text().or_none()] = None
    word_bits: Annotated[int | None, whole(1).or_none()] = None


@dataclass(frozen=True)
class ChipHardware:
    """The hardware of a chip.

    Attributes:
        names: how the file names it.
        chosen: the design, and the template that it is of.
        folder: where relative paths start.
    """

    names: HardwareNames
    chosen: ChosenHardware
    folder: Path

    @property
    def design(self) -> Hardware:
        """What the file describes."""
        return self.chosen.hardware

    def changed(self, changes: Changes) -> "ChipHardware":
        """Return the hardware with further values changed.

        Raises:
            EntryError: they are none of the template, or no hardware has them.
        """
        names = replace(self.names, change={**self.names.change, **changes})
        try:
            return ChipHardware(names, _found(names, names.change, self.folder), self.folder)
        except UserError as error:
            raise _entry_error(error) from None

    def with_changes(self, changes: Changes) -> Hardware:
        """Return the design of :meth:`changed`."""
        return self.changed(changes).design

    def stated(self, changes: Changes) -> str:
        """Return changes in words, each with the value that the template has."""
        data = read_yaml(self.chosen.file, Faults()).data
        texts = []
        for path, value in changes.items():
            before = value_at(data, path)
            template = f"{before} in the template"
            if before in (None, value):
                template = "as in the template" if before == value else "not in the template"
            texts.append(f"`{path}: {value}` ({template})")
        return ", ".join(texts)


def _found(names: HardwareNames, changes: Changes, folder: Path) -> ChosenHardware:
    source = names.name
    if source not in (*PRESETS, *TEMPLATES, HOST):
        source = str(absolute(source, folder))
        if not Path(source).is_file():
            # messages say the name as the user wrote it, with those that are near
            source = names.name
    settings = [f"{name}={value}" for name, value in names.set.items()]
    asked = (settings, names.technology, names.word_bits, _WORDS)
    return find_hardware(source, *asked, changes=changes)


def _entry_error(error: UserError, *keys: str) -> EntryError:
    return EntryError(Fault(Place(keys=keys), line) for line in str(error).splitlines())


def read_hardware(entry: Any, beside: Reading) -> ChipHardware:
    """Return the hardware that an entry names.

    Raises:
        EntryError: everything that is wrong with it.
    """
    names = HardwareNames.read({"name": entry} if isinstance(entry, str) else entry, beside)
    try:
        # what is wrong here is not wrong with the changes
        found = _found(names, {}, beside.folder)
    except UserError as error:
        raise _entry_error(error) from None
    if names.change:
        try:
            found = _found(names, names.change, beside.folder)
        except UserError as error:
            raise _entry_error(error, "change") from None
    return ChipHardware(names, found, beside.folder)


#: the key that holds the hardware
HARDWARE: Final = Key(
    read_hardware,
    lambda hardware: hardware.names.to_dict(),
    form=lambda: {"anyOf": [{"type": "string"}, HardwareNames.form()]},
).like("eyeriss", {"name": "my_chip.yaml", "change": {"levels.glb.bandwidth_words": 8}})


@dataclass(frozen=True)
class Switch:
    """Other values of the hardware, with which all figures are computed once more.

    Attributes:
        changes: of the template, by key path.
        design: the hardware with them.
    """

    changes: Changes
    design: Hardware


def _read_switches(entries: Any, beside: Reading) -> dict[str, Switch]:
    if not isinstance(entries, dict):
        raise ValueError(f"{entries!r} must be a mapping of names to changes of the hardware")
    chip = beside.before.get("hardware")
    faults, found = Faults(), dict[str, Switch]()
    for name, entry in entries.items():
        with collecting(faults, str(name)):
            changes = VALUES.read(entry, beside)
            if not changes:
                raise ValueError("changes nothing; it needs a value, by key path of the template")
            if chip is not None:
                found[str(name)] = Switch(changes, chip.with_changes(changes))
    if faults:
        raise EntryError(faults)
    return found


#: the key that holds switches
SWITCHES: Final = Key(
    _read_switches,
    lambda switches: {name: dict(switch.changes) for name, switch in switches.items()},
    form=lambda: {"type": "object", "additionalProperties": {"type": "object", "minProperties": 1}},
).like({"narrow buffer": {"levels.glb.bandwidth_words": 8}})
