"""Case records from Timeloop's files: architecture, problem, mapping and energies.

docs/reference/timeloop.md says what is read and what is refused.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...yaml_reader import Faults, Place
from .architecture import Architecture, Constraint, Context, apply_energies, read_architecture
from .fanout import separated
from .mapping import Resolved, mapping_record, read_mapping
from .mapping_validation import check_mapping
from .problem import Problem, read_problem
from .values import Entry, Scope, items, mentions, nearest, section
from .yaml_dialect import TimeloopError, load

__all__ = ["TimeloopError", "read_timeloop"]

#: top-level keys that are read; all that may come with a prefix or suffix are marked
_READ: Final = ("architecture", "arch", "problem", "mapping", "ERT", "ERT_summary")
_AFFIXED: Final = ("variables", "components", "constraints", "globals")
#: for searches, for areas, and for the front end itself
_NO_EFFECT: Final = (
    *("mapper", "mapspace", "mapspace_constraints", "ART", "ART_summary", "globals"),
    *("dumped_by_timeloop_front_end", "processors", "layout"),
)

Documents = dict[str, list[Entry]]


def read_timeloop(
    arch_paths: Sequence[Path],
    problem_path: Path,
    mapping_path: Path | None,
    *,
    ert_path: Path | None = None,
    component_paths: Sequence[Path] = (),
) -> dict[str, Any]:
    """Return one case record, as ``archloom validate`` and
    ``archloom.space.importers.cases.reader`` read it.

    Args:
        arch_paths: files with the architecture, and with variables or constraints beside it.
        problem_path: file with the problem.
        mapping_path: file with the mapping; None for a record without one.
        ert_path: energy reference table of Accelergy; None leaves energies open.
        component_paths: files with compound components.

    Returns:
        ``arch`` with energies in pJ and levels from the innermost, ``problem``,
        ``data_space_names`` (our name of each tensor to the file's), and ``mapping``.

    Raises:
        TimeloopError: with every fault of all files at once.
    """
    faults = Faults()
    paths = [*arch_paths, problem_path, *([mapping_path] if mapping_path else [])]
    paths += [*component_paths, *([ert_path] if ert_path else [])]
    documents = _load(paths, faults)
    unread = frozenset(path for path in paths if faults.about(str(path)))
    context = replace(_context(documents, faults), unread=unread)
    architecture = _architecture(documents, arch_paths, context)
    problem = _problem(documents, problem_path, context)
    if architecture is not None:
        for entry in (documents.get("ERT") or documents.get("ERT_summary") or [])[:1]:
            apply_energies(entry, architecture, faults)
    if ert_path is not None and not ("ERT" in documents or "ERT_summary" in documents):
        context.miss("ERT", [ert_path])
    resolved = None
    if mapping_path is not None or "mapping" in documents:
        resolved = _mapping(documents, mapping_path, architecture, problem, context)
    if faults or architecture is None or problem is None:
        raise TimeloopError(faults.sentences)
    return _record(architecture, problem, resolved)


def _record(
    architecture: Architecture, problem: Problem, resolved: Resolved | None
) -> dict[str, Any]:
    if resolved is not None:
        architecture = separated(architecture, resolved, problem)
    record = {
        "arch": architecture.record,
        "problem": problem.record,
        "data_space_names": {ours: theirs for theirs, ours in problem.tensors.items()},
    }
    if resolved is None:
        return record
    return {**record, "mapping": mapping_record(resolved, architecture)}


def _load(paths: Sequence[Path], faults: Faults) -> Documents:
    """Return the values of all files by top-level key; a file that is named twice counts once."""
    documents: Documents = {}
    for path in dict.fromkeys(paths):
        place = Place(str(path))
        for key, entry in section(Entry(place, load(path, faults)), faults).items():
            name = _canonical(key)
            if name is None:
                known = [*_READ, *_AFFIXED, *_NO_EFFECT, "sparse_optimizations"]
                faults.add(entry.place, f"is not known; {nearest(key, known)}")
            else:
                documents.setdefault(name, []).append(entry)
    for name in ("architecture", "arch", "problem", "mapping", "ERT"):
        for entry in documents.get(name, [])[1:]:
            faults.add(entry.place, f"is also in {documents[name][0].place.file}; give it once")
    for entry in documents.get("sparse_optimizations", []):
        targets = section(entry, faults)
        if any(value.value for key, value in targets.items() if key != "version"):
            faults.add(entry.place, "is not modelled; only dense cases are supported")
    return documents


def _canonical(key: str) -> str | None:
    if key in (*_READ, *_NO_EFFECT, "sparse_optimizations"):
        return key
    if key.startswith("ignore"):
        return "ignore"
    return next((name for name in _AFFIXED if name in key), None)


def _context(documents: Documents, faults: Faults) -> Context:
    variables: dict[str, Entry] = {}
    for entry in documents.get("variables", []):
        for name, value in section(entry, faults).items():
            other = variables.setdefault(name, value)
            if other.value != value.value and name != "version":
                faults.add(value.place, f"has another value in {other.place.file}")
    mentioned = mentions([entry.value for entry in documents.get("variables", [])], True)
    for name in ("architecture", "arch"):
        for entry in documents.get(name, []):
            mentioned |= mentions(entry.value)
    classes: dict[str, set[str]] = {}
    for entry in documents.get("components", []):
        _add_classes(section(entry, faults).get("classes"), classes)
    return Context(Scope(variables), mentioned, classes, faults)


def _add_classes(entry: Entry | None, classes: dict[str, set[str]]) -> None:
    """Note the attributes of compound classes; their energies come from a table."""
    if entry is None or not isinstance(entry.value, list):
        return
    for i, value in enumerate(entry.value):
        if isinstance(value, list):
            _add_classes(Entry(entry.place.item(i), value), classes)
        elif isinstance(value, dict) and isinstance(value.get("attributes"), dict):
            names = {str(key).replace("-", "_") for key in value["attributes"]}
            classes.setdefault(str(value.get("name")), set()).update(names)


def _architecture(
    documents: Documents, paths: Sequence[Path], context: Context
) -> Architecture | None:
    found = [*documents.get("architecture", []), *documents.get("arch", [])]
    if not found:
        context.miss("architecture", paths)
        return None
    if len(found) > 1 and "arch" in documents:
        context.faults.add(found[-1].place, f"and {found[0].place.path} exclude each other")
    return read_architecture(found[0], context)


def _problem(documents: Documents, path: Path, context: Context) -> Problem | None:
    found = documents.get("problem", [])
    if not found:
        context.miss("problem", [path])
        return None
    return read_problem(found[0], context.variables, context.faults)


def _mapping(
    documents: Documents,
    path: Path | None,
    architecture: Architecture | None,
    problem: Problem | None,
    context: Context,
) -> Resolved | None:
    found = documents.get("mapping", [])
    if not found and path is not None:
        context.miss("mapping", [path])
    if not found or architecture is None or problem is None:
        return None
    constraints = [*architecture.parts.constraints]
    for entry in documents.get("constraints", []):
        constraints += _constraints(entry, context.faults)
    resolved = read_mapping(found[0], architecture, problem, constraints, context.faults)
    # what a mapping obeys can be told only once every name in it has been understood
    if not context.faults:
        check_mapping(resolved, architecture, problem, found[0].place, context.faults)
    return resolved


def _constraints(entry: Entry, faults: Faults) -> list[Constraint]:
    """Return the constraints of a list, or of one under ``targets``.

    Each has a target and a type, or a target and several constraints with types.
    """
    listed: Entry | None = entry
    if isinstance(entry.value, dict):
        listed = section(entry, faults).get("targets")
    found = []
    for item in items(listed, faults):
        keys = section(item, faults)
        target = keys.get("target", keys.get("name", Entry(item.place, None)))
        several = items(keys.get("constraints"), faults) if "constraints" in keys else [item]
        for one in several:
            own = section(one, faults)
            kind = own.get("type", Entry(one.place, None))
            found.append(Constraint(target, kind, own.get("attributes", one)))
    return found
