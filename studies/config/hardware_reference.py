"""Hardware that a user names: a preset, this machine, or a template with values for all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from archloom.space import Infeasible, did_you_mean

from ..errors import UserError
from .space_reference import HOST, host_file

if TYPE_CHECKING:
    from archloom.space import KeyPath
    from archloom.space.design_space import AssumedValue, Changes, HardwareSpace, Value
    from archloom.space.hardware import Hardware


class Wording(NamedTuple):
    """What messages call the ways to choose: those of the command line, unless somebody says.

    Attributes:
        setting: stands before ``name=value`` of a template.
        technology, word_bits: of a table, and of a word width.
    """

    setting: str = "--set "
    technology: str = "--technology"
    word_bits: str = "--word-bits"


#: of the command line
_OPTIONS: Final = Wording()


class ChosenParameter(NamedTuple):
    """A parameter of a template: its value, all that it may have, and whether somebody set it."""

    value: "Value"
    values: "tuple[Value, ...]"
    given: bool


class ChosenHardware(NamedTuple):
    """Hardware, and the file that says where its numbers come from.

    Attributes:
        hardware: the design.
        file: the template.
        parameters: of the template, those that count.
    """

    hardware: "Hardware"
    file: Path
    parameters: "Mapping[str, ChosenParameter]" = MappingProxyType({})


class HardwareVariants:
    """What is assumed of a hardware, and the hardware that other values give.

    Args:
        chosen: the hardware, as it is.

    Raises:
        UserError: its template can no longer be read.
    """

    def __init__(self, chosen: ChosenHardware) -> None:
        from archloom.space.design_space import TemplateError, read_template

        self._base = chosen.hardware
        self._point = {name: parameter.value for name, parameter in chosen.parameters.items()}
        try:
            self._template = read_template(chosen.file)
        except (OSError, TemplateError) as error:
            raise UserError(str(error)) from None

    @property
    def assumed(self) -> "tuple[AssumedValue, ...]":
        """Values that no source gives; not the technology where it is another one."""
        own = self._template.technology == self._base.technology
        found = self._template.assumed(self._point)
        return tuple(one for one in found if own or one.mark.key != "technology")

    def built(self, values: "Mapping[KeyPath, Value]") -> "Hardware":
        """Return the hardware with other values at some places of its template.

        It is in the technology and at the word width to which the hardware was taken.

        Raises:
            ValueError: there is no such hardware, or no table prices it.
        """
        from archloom.evaluators import hardware_cost
        from archloom.space.design_space import varied, with_technology, with_word_bits

        found = varied(self._template, values).build(self._point, self._base.name)
        if isinstance(found, Infeasible):
            raise ValueError(str(found))
        found = with_technology(found, self._base.technology)
        plain = self._template.word_width(self._point)
        if plain != self._base.word_bits:
            found = with_word_bits(found, self._base.word_bits)
        hardware_cost(found)
        return found


def find_hardware(
    source: str,
    settings: Sequence[str],
    technology: str | None,
    word_bits: int | None,
    words: Wording = _OPTIONS,
    *,
    complete: bool = False,
    changes: "Changes | None" = None,
) -> ChosenHardware:
    """Return the hardware that a command line asks for.

    Args:
        source: name of a preset or template, ``host``, or path of a template.
        settings: ``name=value`` for each parameter of a template.
        technology: table to take it to; None for its own.
        word_bits: word width to take it to; None for its own.
        words: for messages.
        complete: whether parameters that nobody sets have their first values; else each of them
            is a mistake.

    Raises:
        UserError: nothing of that name, values that it does not have (all of them at once), or
            an impossible technology or word width, or what no table prices.
    """
    from archloom.evaluators import hardware_cost
    from archloom.evaluators.technology import technology_names
    from archloom.space.design_space import with_technology, with_word_bits

    chosen = _found(source, settings, words, complete, changes or {})
    hardware = chosen.hardware
    if technology is not None:
        known = technology_names()
        if technology not in known:
            hint = did_you_mean(technology, known)
            raise UserError(f"{words.technology}: {technology!r} is not known; {hint}")
        hardware = with_technology(hardware, technology)
    if word_bits is not None:
        try:
            hardware = with_word_bits(hardware, word_bits)
        except ValueError as error:
            raise UserError(f"{words.word_bits}: {error}") from None
    try:
        hardware_cost(hardware)
    except ValueError as error:
        raise UserError(f"{source}: {error}") from None
    return chosen._replace(hardware=hardware)


def _found(
    source: str, settings: Sequence[str], words: Wording, complete: bool, changes: "Changes"
) -> ChosenHardware:
    from archloom.space.design_space import (
        PRESETS,
        TEMPLATES,
        HardwareSpace,
        TemplateError,
        preset,
        preset_file,
    )

    first = f"{words.setting}{settings[0]}" if settings else ""
    if source in PRESETS:
        if settings:
            raise UserError(f"preset {source} has no parameters; leave out {first}")
        if not changes:
            return ChosenHardware(preset(source), preset_file(source))
    if source == HOST:
        if settings:
            raise UserError(f"{HOST} has no parameters; leave out {first}")
        return _host(changes)
    if source not in (*PRESETS, *TEMPLATES) and not Path(source).is_file():
        names = [*PRESETS, *TEMPLATES, HOST]
        raise UserError(
            f"{source}: no such preset, template or file; {did_you_mean(source, names)}"
        )
    try:
        space = HardwareSpace.load(source, changes)
        return _built(space, settings, words, complete)
    except TemplateError as error:
        raise UserError(str(error)) from None


def _host(changes: "Changes") -> ChosenHardware:
    from archloom.evaluators.host.machine import this_machine
    from archloom.space.design_space import HardwareSpace

    file, machine = host_file(), this_machine(1)
    hardware = _built(HardwareSpace.load(str(file), changes), (), _OPTIONS, False).hardware
    name = f"host ({machine.cpu}, {machine.cores} cores; other machines give other results)"
    return ChosenHardware(replace(hardware, name=name), file)


def _built(
    space: "HardwareSpace", settings: Sequence[str], words: Wording, complete: bool
) -> ChosenHardware:
    chosen = _chosen(space, settings, words.setting, complete)
    built = space.build({name: parameter.value for name, parameter in chosen.items()})
    if isinstance(built, Infeasible):
        raise UserError(f"{space.name}: {built}")
    return ChosenHardware(built, space.file, chosen)


def _chosen(
    space: "HardwareSpace", settings: Sequence[str], setting: str, complete: bool
) -> "Mapping[str, ChosenParameter]":
    """Return the value of every parameter that counts; all mistakes are one error."""
    given, faults = _given(space, settings, setting)
    point: dict[str, Value] = {}
    chosen = {}
    for p in space.parameters:
        if p.name in given:
            try:
                point[p.name] = p.values[p.check(given[p.name])]
            except ValueError as error:
                faults.append(f"{setting}{p.name}: {error}")
        elif p.active(point) and not complete:
            listed = ", ".join(map(str, p.values[:12])) + (", ..." if len(p.values) > 12 else "")
            faults.append(f"{setting}{p.name}=... is missing; allowed values: {listed}")
        if p.name in point or p.active(point):
            value = point.get(p.name, p.values[0])
            chosen[p.name] = ChosenParameter(value, p.values, p.name in given)
        # what comes later may depend on it
        point.setdefault(p.name, p.values[0])
    if faults:
        raise UserError("\n".join(f"{space.name}: {fault}" for fault in faults))
    return chosen


def _given(
    space: "HardwareSpace", settings: Sequence[str], option: str
) -> "tuple[dict[str, Value], list[str]]":
    names = [p.name for p in space.parameters]
    given: dict[str, Value] = {}
    faults = []
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not (name and equals and text):
            faults.append(f"{option}{setting}: must be name=value")
        elif name not in names:
            hint = did_you_mean(name, names) if names else "it has no parameters"
            faults.append(f"{option}{setting}: {name!r} is no parameter; {hint}")
        elif name in given:
            faults.append(f"{option}{setting}: {name} is set twice")
        else:
            given[name] = _value(text)
    return given, faults


def _value(text: str) -> "Value":
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def baseline_hardware(name: str, space: "HardwareSpace") -> "Hardware":
    """Return a preset in the technology and at the word width of a study's space.

    In its own it would compare processes and precisions rather than designs.

    Raises:
        UserError: words of that width do not fill the preset's memory accesses.
    """
    from archloom.space.design_space import preset, with_technology, with_word_bits

    try:
        return with_word_bits(with_technology(preset(name), space.technology), space.word_bits)
    except ValueError as error:
        raise UserError(f"baseline {name}: {error}") from None
