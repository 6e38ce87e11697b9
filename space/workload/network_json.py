"""Networks as JSON: the form that a study's directory keeps, and that people can write by hand.

A file holds ``format``, ``name`` and ``layers``, each layer with its fields and the feature maps
that it ``reads``; what has its default is left out. :func:`write_network` and :func:`read_network`
are exact inverses.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from ..errors import did_you_mean
from ..yaml_reader import bounded_json
from .layer import Layer
from .network import Network

#: stands in every file, so that a later form can be told from this one
FORMAT: Final = "archloom network 1"

#: faults that one message lists
_LISTED: Final = 8

#: bytes of a file: two million values have fewer
_MOST_BYTES: Final = 64 * 2**20

#: fields of a network that its layers hold
_IN_LAYERS: Final = ("layers", "reads")

#: fields of a layer that follow from the hardware, so no file has them
_FOUND: Final = ("packed_words",)


def layer_to_dict(layer: Layer) -> dict[str, Any]:
    """Return plain JSON values; :func:`layer_from_dict` is the inverse."""
    return _fields_of(layer)


def layer_from_dict(data: object) -> Layer:
    """Build a layer from :func:`layer_to_dict`.

    Raises:
        ValueError: what is wrong and where, such as ``k is 'x', must be a whole number``.
    """
    return _layer(data, "")


def to_dict(network: Network) -> dict[str, Any]:
    """Return plain JSON values; :func:`from_dict` is the inverse."""
    layers = []
    for layer, sources in zip(network.layers, network.reads, strict=True):
        data = layer_to_dict(layer)
        head = {name: data.pop(name) for name in ("name", "operator")}
        layers.append({**head, "reads": list(sources), **data})
    return {"format": FORMAT, **_fields_of(network, _IN_LAYERS), "layers": layers}


def from_dict(data: object) -> Network:
    """Build a network from :func:`to_dict`.

    Raises:
        ValueError: what is wrong, each fault with its place (``layers[3].k is 'x', ...``).
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else data
        raise ValueError(f"format is {_shown(found)}, must be {FORMAT!r}")
    items = data.get("layers")
    if not isinstance(items, list) or not items:
        raise ValueError(f"layers is {_shown(items)}, must be a list with at least one layer")
    layers: list[Layer] = []
    reads: list[tuple[str, ...]] = []
    faults: list[str] = []
    for i, item in enumerate(items):
        with _noting(faults):
            layers.append(_layer(item, f"layers[{i}]", ("reads",)))
        with _noting(faults):
            sources = item.get("reads") if isinstance(item, dict) else []
            reads.append(_value(tuple[str, ...], sources, f"layers[{i}].reads"))
    others = {name: value for name, value in data.items() if name not in ("format", "layers")}
    values = _values(Network, others, "", faults, _IN_LAYERS)
    if faults:
        more = [f"and {len(faults) - _LISTED} more"] if len(faults) > _LISTED else []
        raise ValueError("; ".join([*faults[:_LISTED], *more]))
    return Network(**values, layers=tuple(layers), reads=tuple(reads))


def to_text(network: Network) -> str:
    """Return the text of a file, a line for each layer; :func:`from_text` is the inverse."""
    data = to_dict(network)
    lines = ",\n".join(json.dumps(layer) for layer in data.pop("layers"))
    return f'{json.dumps(data)[:-1]}, "layers": [\n{lines}\n]}}\n'


def from_text(text: str) -> Network:
    """Build a network from :func:`to_text`.

    Raises:
        ValueError: the text is no JSON, or as :func:`from_dict`.
    """
    try:
        data = bounded_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not the JSON of a network: {error}") from None
    return from_dict(data)


def write_network(network: Network, path: Path) -> None:
    """Write a network to a file that study files can name under ``workloads``."""
    path.write_text(to_text(network), encoding="utf-8")


def read_network(path: Path) -> Network:
    """Read a file of :func:`write_network`.

    Raises:
        ValueError: its text is none of a network; starts with the path.
        OSError: it cannot be read.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"has over {_MOST_BYTES} bytes, the most that a network may have")
        return from_text(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not text, so it is not the JSON of a network") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


@contextmanager
def _noting(faults: list[str]) -> Iterator[None]:
    """Note what is wrong, and go on."""
    try:
        yield
    except ValueError as error:
        faults.append(str(error))


def _layer(data: object, where: str, beside: tuple[str, ...] = ()) -> Layer:
    """Build a layer; keys ``beside`` its own are left alone."""
    if isinstance(data, dict):
        data = {name: value for name, value in data.items() if name not in beside}
    layer = _record(Layer, data, where)
    assert isinstance(layer, Layer)
    return layer


def _fields_of(value: Any, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults."""
    kind: type = type(value)
    return {
        name: _plain(getattr(value, name))
        for name, field in _own_fields(kind, without).items()
        if field.default is MISSING or getattr(value, name) != field.default
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return _fields_of(value) if is_dataclass(value) else value


@cache
def _own_fields(kind: type, without: tuple[str, ...] = ()) -> "dict[str, Field[Any]]":
    """Return what a dataclass is made from."""
    assert is_dataclass(kind)
    given = [field for field in fields(kind) if field.init and field.name not in _FOUND]
    return {field.name: field for field in given if field.name not in without}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _record(kind: type, raw: object, where: str) -> object:
    """Build a dataclass from its fields; say where they are wrong."""
    if not isinstance(raw, dict):
        raise ValueError(f"{where or 'a layer'} is {_shown(raw)}, must be an object")
    faults: list[str] = []
    values = _values(kind, raw, where, faults)
    if faults:
        raise ValueError("; ".join(faults))
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}" if where else str(error)) from None


def _values(
    kind: type,
    raw: dict[str, Any],
    where: str,
    faults: list[str],
    without: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the fields of a dataclass; add to ``faults`` what is wrong with them."""
    known = _own_fields(kind, without)
    prefix = f"{where}." if where else ""
    for name, field in known.items():
        if field.default is MISSING and name not in raw:
            faults.append(f"{prefix}{name} is missing")
    values = {}
    for name, value in raw.items():
        if name not in known:
            faults.append(f"{prefix}{name} is an unknown key; {did_you_mean(name, known)}")
            continue
        with _noting(faults):
            values[name] = _value(_hints(kind)[name], value, f"{prefix}{name}")
    return values


def _value(hint: Any, raw: Any, where: str) -> Any:
    """Turn a JSON value into one of the type ``hint``."""
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint, raw, where)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _tuple(inner, raw, where)
    if origin is Literal:
        hint = str  # the dataclass knows its names, and which are near to others
    elif inner:  # a type or None, or one set of names or another
        return None if raw is None and NoneType in inner else _value(inner[0], raw, where)
    what, fits = _PLAIN[hint]
    if not fits(raw):
        raise ValueError(f"{where} is {_shown(raw)}, must be {what}")
    return raw


def _tuple(inner: tuple[Any, ...], raw: object, where: str) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise ValueError(f"{where} is {_shown(raw)}, must be a list")
    hints = [inner[0]] * len(raw) if inner[-1] is Ellipsis else list(inner)
    if len(hints) != len(raw):
        raise ValueError(f"{where} is {_shown(raw)}, must be a list of {len(hints)}")
    pairs = zip(hints, raw, strict=True)
    return tuple(_value(hint, item, f"{where}[{i}]") for i, (hint, item) in enumerate(pairs))


#: what a JSON value must be for each type, and whether it is
_PLAIN: Final[dict[type, tuple[str, Callable[[object], bool]]]] = {
    int: ("a whole number", lambda raw: type(raw) is int),
    float: ("a number", lambda raw: type(raw) in (int, float)),
    bool: ("true or false", lambda raw: isinstance(raw, bool)),
    str: ("a text", lambda raw: isinstance(raw, str)),
}


def _shown(value: object) -> str:
    """Return a value for a message, short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
