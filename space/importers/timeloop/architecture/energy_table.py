"""Energies of a Timeloop case from Accelergy's energy reference table (ERT)."""

import re
from typing import Any, Final

from ....errors import did_you_mean
from ....yaml_reader import Faults, shown
from ..values import Entry, NoValueError, Scope, items, refuse_others, section, word
from .reader import Architecture

#: actions that Timeloop takes for its own, the first one that the table has (NVlabs/timeloop,
#: model/topology.hpp, storageOperationMappings and arithmeticOperationMappings)
_ACTIONS: Final = {
    "read": ("random_read", "read"),
    "fill": ("random_fill", "random_write", "fill", "write"),
    "update": ("random_update", "random_write", "update", "write"),
}
_COMPUTE: Final = ("mac_random", "mult_random", "mac", "mult", "compute")
_RANGE: Final = re.compile(r"\[[^\[\]]*\]$")

_SUMMARY: Final = ("max_energy", "average_energy", "min_energy")

Table = dict[str, float]


def apply_energies(entry: Entry, architecture: Architecture, faults: Faults) -> None:
    """Write the energies of a table into the architecture's record.

    Args:
        entry: what stands under ``ERT`` or ``ERT_summary``.
        architecture: its levels and multipliers get energies.
        faults: where to note what is wrong.
    """
    tables = _tables(entry, faults)
    if not tables:
        return
    names = list(tables)
    for level in architecture.levels:
        found = tables.get(level.name)
        if found is None:
            faults.add(
                entry.place, f"has no table for {level.name}; {did_you_mean(level.name, names)}"
            )
            continue
        level.record["energy_pJ"] = {
            **{ours: _energy(theirs, found) for ours, theirs in _ACTIONS.items()},
            "leak_per_cycle": found.get("leak", 0),
        }
    for name in ("wire", "Wire", *architecture.parts.networks):
        if any(tables.get(name, {}).values()):
            faults.add(entry.place, f"has energies for {name}: separate networks are not modelled")
    compute = architecture.parts.compute
    if compute is not None and compute.name in tables:
        architecture.record["mac"]["energy_pJ"] = _energy(_COMPUTE, tables[compute.name])
    elif compute is not None:
        faults.add(
            entry.place, f"has no table for {compute.name}; {did_you_mean(compute.name, names)}"
        )


def _energy(actions: tuple[str, ...], table: Table) -> float:
    """Return the energy of the first action that the table has.

    Without any of them Timeloop takes the most expensive action of the table.
    """
    return next((table[name] for name in actions if name in table), max(table.values()))


def _tables(entry: Entry, faults: Faults) -> dict[str, Table]:
    """Return energies by component and action; of equal actions the most expensive one."""
    keys = section(entry, faults)
    if "ERT summaries" in keys:
        faults.add(entry.place, "is a summary of v0.2, which is not supported; give the ERT")
        return {}
    refuse_others(keys, ("version", "tables", "table_summary"), faults)
    given = keys.get("tables", keys.get("table_summary"))
    if given is None or not given.value:
        faults.add(entry.place, "has no tables")
        return {}
    found: dict[str, Table] = {}
    for name, actions in _components(given, faults):
        table: Table = {}
        for action, energy in actions:
            table[action] = max(energy, table.get(action, 0.0))
        if not table:
            faults.add(given.place, f"has no actions for {name}")
            continue
        # 'system.PE[0..3].buffer[1..4]' is the component 'buffer'
        found[_RANGE.sub("", name).rpartition(".")[2]] = table
    return found


def _components(given: Entry, faults: Faults) -> list[tuple[str, list[tuple[str, float]]]]:
    if isinstance(given.value, dict):  # v0.2: component, action, then one or several energies
        found = []
        for name, value in given.value.items():
            actions = section(Entry(given.place.key(name), value), faults)
            found.append((name, [e for a in actions.items() for e in _old_action(*a, faults)]))
        return found
    found = []
    for item in items(given, faults):
        keys = section(item, faults)
        known = ("name", "actions", "primitive_estimation(s)", "primitive_estimations")
        refuse_others(keys, known, faults)
        name = word(keys.get("name"), item.place, "name", faults)
        listed = [_action(action, faults) for action in items(keys.get("actions"), faults)]
        found.append((name, listed))
    return found


def _old_action(name: str, entry: Entry, faults: Faults) -> list[tuple[str, float]]:
    variants = items(entry, faults) if isinstance(entry.value, list) else [entry]
    return [(name, _amount(section(v, faults).get("energy"), v, faults)) for v in variants]


def _action(action: Entry, faults: Faults) -> tuple[str, float]:
    keys = section(action, faults)
    refuse_others(keys, ("name", "arguments", "energy", *_SUMMARY), faults)
    name = word(keys.get("name"), action.place, "name", faults)
    # a summary has one energy, or the average over the arguments of an action
    energy: Any = keys.get("energy", keys.get("max_energy", keys.get("average_energy")))
    return name, _amount(energy, action, faults)


def _amount(energy: Entry | None, at: Entry, faults: Faults) -> float:
    if energy is None:
        faults.add(at.place, "has no energy")
        return 0.0
    try:
        value = Scope().number(energy.value)
    except NoValueError as error:
        faults.add(energy.place, str(error))
        return 0.0
    if value < 0:
        faults.add(energy.place, f"must be 0 or more, got {shown(value)}")
        return 0.0
    return value
