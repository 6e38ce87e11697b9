"""Entries of a study file's ``workloads``: names and mappings, checked and put in one form."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from os.path import expanduser
from pathlib import Path
from typing import Any, Final

from archloom.space import Faults, Place, did_you_mean

from .errors import EntryError, entry_error

#: a name, or a mapping with ``network``, ``file`` or ``compressed`` and options; paths are absolute
Reference = str | dict[str, Any]

#: of the files that are read
SUFFIXES: Final = (".onnx", ".json", ".yaml", ".yml")

#: of files whose named sizes can be chosen
_SIZED: Final = (".onnx", ".yaml", ".yml")

#: what a path may be of
KINDS: Final = (
    "an ONNX file (.onnx), a network's JSON (.json), a file of einsums (.yaml), a directory of "
    "Timeloop problems"
)

_FILE_KEYS: Final = ("file", "batch", "fold", "dimensions")

#: of a workload that comes in compressed forms, with what they are unless somebody says otherwise.
#: Assumption: three groups of five levels are enough to see what is gained, and few enough to train
_FORM_KEYS: Final = ("compressed", "groups", "levels", "fine_tune", "data_dir", "batch")
_GROUPS: Final = 3
_LEVELS: Final = (0, 0.5, 0.8, 0.9, 0.95)
_FINE_TUNE: Final = 2

#: most groups, and epochs of fine-tuning for each form
_MOST_GROUPS: Final = 16
_MOST_EPOCHS: Final = 10_000

#: what a group may be called: the parameter of the space that it gives is named after it
_GROUP: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")


_ABOUT_NETWORKS: Final = """\
A built-in network with its options; ``archloom networks NAME`` shows those that it has.

Attributes:
    network: name of the network in the catalogue.
    batch: batch size: inferences in one pass.
    fold: run element-wise layers and pooling with the MAC-array layers beside them.
    rows: rows and columns of the image.
    width: columns of the image of a line of text.
    sequence_length: tokens of the input; of a decoder in decode, those that attention sees.
    lengths: the same of each of several sequences, which are packed without padding.
    cached: tokens before the prompt whose keys and values are in the cache.
    all_logits: compute logits for every token instead of the last one.
    causal: let loop nests skip tiles that the causal mask removes.
    active_experts: number of experts of each layer that the tokens are distributed over.
    first: whether keys and values of the encoder are computed instead of read from the cache.
"""
_ABOUT_FILES: Final = """\
A network in a file, or in a directory of Timeloop problems.

Attributes:
    file: path of an ONNX file, a YAML file of einsums, a JSON file of a network, or a directory.
    dimensions: sizes of symbolic dimensions of an ONNX file, or of ranks of an einsum file.
    batch: batch size: inferences in one pass.
    fold: run element-wise layers and pooling with the MAC-array layers beside them.
"""
_ABOUT_FORMS: Final = """\
A network that ``archloom compress`` wrote; its compression is searched with the hardware.

Attributes:
    compressed: output directory of ``archloom compress``.
    groups: groups of layers that are pruned by the same fraction: a number of groups, or patterns
        of layer names by group name.
    levels: fractions of the weights that may be pruned: one list for all groups, or one list per
        group.
    fine_tune: training epochs after pruning.
    data_dir: directory of the data set, if it does not come with a Python package.
    batch: batch size: inferences in one pass.
"""


def reference_form() -> dict[str, Any]:
    """Return the JSON schema of an entry; a directory is known by its ``/``, a network by the name
    that the catalogue has.
    """
    from archloom.space.networks import NETWORKS, options

    kinds = {bool: "boolean", int: "integer", str: "string"}
    size = {"type": "integer", "minimum": 1}
    named: dict[str, Any] = {}
    for name in NETWORKS:
        for option, default in options(name).items():
            if isinstance(default, tuple):
                named[option] = {"type": "array", "items": size}
                continue
            types = named.setdefault(option, {"type": []})["type"]
            if (kind := kinds[type(default)]) not in types:
                types.append(kind)
    batch = {"type": "integer", "minimum": 1, "default": 1}
    fold = {"type": "boolean", "default": False}
    sizes: dict[str, Any] = {"type": "object", "additionalProperties": size}
    sizes["examples"] = [{"batch": 1, "seq": 128}]
    path: dict[str, Any] = {"type": "string", "minLength": 1}
    share = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
    levels = {"type": "array", "items": share, "minItems": 1, "examples": [[0, 0.5, 0.9]]}
    patterns = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    parts = {"type": "integer", "minimum": 1, "maximum": _MOST_GROUPS, "default": _GROUPS}
    forms = {
        "compressed": path | {"examples": ["runs/compress-resnet18-digits"]},
        "groups": {"anyOf": [parts, {"type": "object", "additionalProperties": patterns}]},
        "levels": {"anyOf": [levels, {"type": "object", "additionalProperties": levels}]},
        "fine_tune": {"type": "integer", "minimum": 0, "maximum": _MOST_EPOCHS},
        "data_dir": path,
        "batch": batch,
    }
    suffixes = "|".join(suffix[1:] for suffix in SUFFIXES)
    network = {"network": {"enum": list(NETWORKS)}, "batch": batch, "fold": fold, **named}
    example = path | {"examples": ["model.onnx"]}
    file = {"file": example, "dimensions": sizes, "batch": batch, "fold": fold}
    objects, abouts = (network, file, forms), (_ABOUT_NETWORKS, _ABOUT_FILES, _ABOUT_FORMS)
    return {
        "anyOf": [
            {"enum": list(NETWORKS)},
            {"type": "string", "pattern": rf"/|^\.$|\.({suffixes})$"},
            *(
                {
                    "type": "object",
                    "description": about,
                    "properties": keys,
                    "required": [next(iter(keys))],
                    "additionalProperties": False,
                }
                for keys, about in zip(objects, abouts, strict=True)
            ),
        ]
    }


def is_file(reference: Reference) -> bool:
    """Whether a workload comes from a file or directory, so that a study keeps a copy."""
    return isinstance(reference, dict) and ("file" in reference or is_compressed(reference))


def is_compressed(reference: Reference) -> bool:
    """Whether a workload comes in compressed forms."""
    return isinstance(reference, dict) and "compressed" in reference


def path_of(reference: dict[str, Any]) -> Path:
    """Return where a workload comes from that comes from a file or directory."""
    return Path(reference["compressed" if is_compressed(reference) else "file"])


def shown(reference: Reference) -> str:
    """Return a workload for messages: its name, or its file's, with its options."""
    if isinstance(reference, str):
        return reference
    name = path_of(reference).name if is_file(reference) else reference["network"]
    return f"{name}{options_text(reference)}"


def normal(entry: object, folder: Path) -> Reference:
    """Return an entry with its names as the catalogue has them and its path absolute.

    Args:
        entry: as a study file has it.
        folder: where relative paths start.

    Raises:
        EntryError: everything that is wrong with the entry; files are not looked at.
    """
    if isinstance(entry, str):
        if _is_path(entry, folder):
            return {"file": str(absolute(entry, folder))}
        return _known_name(entry, folder)
    if not isinstance(entry, Mapping):
        raise entry_error(
            f"{entry!r} must be a name, or a mapping with network, file or compressed"
        )
    keys = {str(key): value for key, value in entry.items()}
    given = [key for key in ("network", "file", "compressed") if key in keys]
    if len(given) > 1:
        raise entry_error(f"has both {given[0]} and {given[1]}, must have exactly one of them")
    if "file" in keys:
        return _normal_file(keys, folder)
    if "network" in keys:
        return _normal_network(keys)
    if "compressed" in keys:
        return _normal_compressed(keys, folder)
    has = ", ".join(keys) or "no key"
    raise entry_error(f"must have a key network, file or compressed, has {has}")


def _is_path(name: str, folder: Path) -> bool:
    """Whether a name is a path; of files and networks of one name, the network is meant."""
    from archloom.space.networks import NETWORKS

    if name in NETWORKS:
        return False
    return name == "." or "/" in name or name.endswith(SUFFIXES) or name in _names_in(folder)


def absolute(path: str, folder: Path) -> Path:
    """Return a path made absolute from ``folder``; ``~`` is the home directory, as in a shell.

    Raises:
        ValueError: a pipe or a device is there, which might be waited for, or have no end.
    """
    # the method of Path raises where there is no such user
    found = (folder / expanduser(path)).absolute()  # noqa: PTH111
    if found.exists() and not (found.is_file() or found.is_dir()):
        raise ValueError(f"{path!r} is a pipe or a device, must be a file")
    return found


def _known_name(name: str, folder: Path) -> str:
    from archloom.space.networks import NETWORKS, entry

    try:
        return entry(name)[0]
    except ValueError:
        files = get_close_matches(name, [n for n in _names_in(folder) if n.endswith(SUFFIXES)])
        hint = did_you_mean(name, [*NETWORKS, *files])
        raise entry_error(f"network {name!r} is unknown; {hint}") from None


def _normal_network(keys: dict[str, Any]) -> Reference:
    """Check a mapping that names a network of the catalogue; put its options in order."""
    from archloom.space.networks import entry, option_clash, option_fault, options

    if not isinstance(keys["network"], str):
        raise entry_error(f"{keys['network']!r} must be the name of a network", "network")
    try:
        name = entry(keys["network"])[0]
    except ValueError as error:
        raise entry_error(str(error), "network") from None
    known = options(name)
    given = {key: value for key, value in keys.items() if key not in ("network", "batch", "fold")}
    faults = Faults()
    _check_batch(keys, faults)
    for key, value in given.items():
        if key not in known:
            hint = did_you_mean(key, [*known, "batch", "fold"])
            faults.add(Place().key(key), f"is no option of {name}; {hint}")
        elif message := option_fault(key, value, known):
            faults.add(Place().key(key), message)
    if message := option_clash(given):
        faults.add(Place().key("lengths"), message)
    if faults:
        raise EntryError(faults)
    chosen = {key: given[key] for key in known if key in given}
    chosen |= {"batch": keys["batch"]} if keys.get("batch", 1) > 1 else {}
    chosen |= {"fold": True} if keys.get("fold") else {}
    return {"network": name, **chosen} if chosen else name


def _normal_file(keys: dict[str, Any], folder: Path) -> Reference:
    """Check a mapping that names a file; put its keys in order."""
    faults = Faults()
    for key in (key for key in keys if key not in _FILE_KEYS):
        faults.add(Place().key(key), f"is an unknown key; {did_you_mean(key, _FILE_KEYS)}")
    _check_batch(keys, faults)
    if not isinstance(keys["file"], str) or not keys["file"]:
        faults.add(Place().key("file"), f"{keys['file']!r} must be the path of {KINDS}")
    elif "dimensions" in keys:
        _check_dimensions(keys["dimensions"], keys["file"], faults)
    if faults:
        raise EntryError(faults)
    path = {"file": str(absolute(keys["file"], folder))}
    chosen = {key: keys[key] for key in ("dimensions", "batch") if key in keys}
    return path | chosen | ({"fold": True} if keys.get("fold") else {})


def _normal_compressed(keys: dict[str, Any], folder: Path) -> Reference:
    """Check a mapping that names what ``archloom compress`` kept; write its defaults out."""
    faults = Faults()
    for key in (key for key in keys if key not in _FORM_KEYS):
        faults.add(Place().key(key), f"is an unknown key; {did_you_mean(key, _FORM_KEYS)}")
    _check_batch(keys, faults)
    paths = {}
    for key in ("compressed", "data_dir"):
        if isinstance(given := keys.get(key), str) and given:
            paths[key] = str(absolute(given, folder))
        elif key in keys:
            faults.add(Place().key(key), f"{given!r} must be the path of a directory")
    groups = _groups(keys.get("groups", _GROUPS), faults)
    levels = _all_levels(keys.get("levels", list(_LEVELS)), groups, faults)
    epochs = keys.get("fine_tune", _FINE_TUNE)
    if type(epochs) is not int or not 0 <= epochs <= _MOST_EPOCHS:
        faults.add(
            Place().key("fine_tune"), f"{epochs!r} must be epochs, a whole number of 0 or more"
        )
    if faults:
        raise EntryError(faults)
    batch = {"batch": keys["batch"]} if keys.get("batch", 1) > 1 else {}
    return {**paths, "groups": groups, "levels": levels, "fine_tune": epochs, **batch}


def _groups(given: object, faults: Faults) -> Any:
    """Return how layers are put into groups: parts, or lists of patterns by name."""
    place = Place().key("groups")
    if type(given) is int and 1 <= given <= _MOST_GROUPS:
        return given
    if not isinstance(given, Mapping) or not 1 <= len(given) <= _MOST_GROUPS:
        faults.add(
            place,
            f"{given!r} must be a number of parts from 1 to {_MOST_GROUPS}, or a mapping of names "
            "to patterns of layers, such as {early: 'layer1.*', late: [layer3.*, layer4.*]}",
        )
        return {}
    found: dict[str, list[str]] = {}
    for name, patterns in given.items():
        listed = [patterns] if isinstance(patterns, str) else patterns
        if not isinstance(name, str) or not _GROUP.fullmatch(name):
            faults.add(place.key(str(name)), "must be a name of letters, digits and _")
        elif not isinstance(listed, list | tuple) or not all(isinstance(p, str) for p in listed):
            faults.add(place.key(name), f"{patterns!r} must be a pattern of layers, or a list")
        elif not listed:
            faults.add(place.key(name), "names no layer")
        else:
            found[name] = list(listed)
    return found


def _all_levels(given: object, groups: Any, faults: Faults) -> Any:
    """Return levels of pruning: a list for all groups, or one for each by name."""
    place = Place().key("levels")
    if not isinstance(given, Mapping):
        return _levels(given, place, faults)
    from archloom.space.design_space.compression import part_names

    names = part_names(groups) if isinstance(groups, int) else tuple(groups)
    for name in (name for name in given if name not in names):
        faults.add(place.key(str(name)), f"is no group; {did_you_mean(str(name), names)}")
    if missing := [name for name in names if name not in given]:
        faults.add(place, f"has no levels for {missing[0]}")
    return {str(name): _levels(each, place.key(str(name)), faults) for name, each in given.items()}


def _levels(given: object, place: Place, faults: Faults) -> list[float]:
    numbers = list(given) if isinstance(given, list | tuple) else []
    if not numbers or not all(type(n) in (int, float) and 0 <= n < 1 for n in numbers):
        faults.add(place, f"{given!r} must be a list of shares that are pruned, from 0 and below 1")
        return []
    if sorted(set(numbers)) != numbers:
        faults.add(place, f"{numbers} must ascend")
    return [float(n) for n in numbers]


def _check_batch(keys: Mapping[str, object], faults: Faults) -> None:
    batch = keys.get("batch", 1)
    if type(batch) is not int or batch < 1:
        faults.add(Place().key("batch"), f"{batch!r} must be a whole number, at least 1")
    if type(keys.get("fold", False)) is not bool:
        faults.add(Place().key("fold"), f"{keys['fold']!r} must be true or false")


def _check_dimensions(sizes: object, file: str, faults: Faults) -> None:
    place = Place().key("dimensions")
    if not file.endswith(_SIZED):
        faults.add(place, f"are for ONNX files and files of einsums; {file!r} is none")
    if not isinstance(sizes, Mapping):
        faults.add(place, f"{sizes!r} must be a mapping of names to sizes, such as {{batch: 1}}")
        return
    for name, size in sizes.items():
        if not isinstance(name, str):
            faults.add(place.key(name), "must be a name; write it in quotes")
        elif type(size) is not int or size < 1:
            faults.add(place.key(name), f"{size!r} must be a whole number, at least 1")


def options_text(reference: dict[str, Any]) -> str:
    """Return the options of a workload in parentheses; empty if it has none."""
    unsaid = ("network", "file", "dimensions", *(k for k in _FORM_KEYS if k != "batch"))
    others = {k: v for k, v in reference.items() if k not in unsaid}
    sizes = reference.get("dimensions", {})
    pairs = [*sizes.items(), *others.items()]
    text = ", ".join(f"{key}={value}" for key, value in pairs)
    return f"({text})" if text else ""


def near_names(path: Path) -> str:
    """Return a question with the names in the path's folder that are near to its own."""
    if not path.parent.is_dir():
        return f"; {path.parent} is no directory"
    near = get_close_matches(path.name, _names_in(path.parent))
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []
