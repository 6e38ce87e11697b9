"""Chains in files of a user: tables of layers as CSV or JSON (docs/how_to/weave.md, "Tables")."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from archloom.evaluators.weaving import Chain
from archloom.space import did_you_mean, whole_fault

from ...errors import UserError

#: stands in a JSON file, so that it can be told from a network
FORMAT: Final = "archloom chain 1"

#: amounts of a layer; those that may be left out are 0
REQUIRED: Final = ("weight_bytes", "cycles")
OPTIONAL: Final = ("map_bytes", "footprint_bytes", "live_bytes")
AMOUNTS: Final = (*REQUIRED, *OPTIONAL)
COLUMNS: Final = ("layer", *AMOUNTS)

#: as of a chain
_MOST: Final = 2**50

#: bytes of a JSON file within which it says its format, as its first key
_BEGINS: Final = 1000
_BEGINNING: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"archloom chain')

#: faults that one message lists
_LISTED: Final = 12


@dataclass(frozen=True)
class _Row:
    """One layer as it stands in a file.

    Attributes:
        place: ``line 3`` or ``layers[2]``.
        values: by column; texts in a CSV.
    """

    place: str
    values: Mapping[str, Any]


def is_chain_table(path: Path) -> bool:
    """Whether a file is a table of layers, by its ending or, of JSON, by how it begins.

    A JSON file that cannot be read is none; who reads networks says why. What a network's file
    holds is left to them, so that it is read once.
    """
    if path.suffix.lower() == ".csv":
        return True
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return _BEGINNING.match(file.read(_BEGINS)) is not None
    except OSError:
        return False


def read_chain_table(path: Path) -> Chain:
    """Return the chain of a table; it is called like the file, or what a JSON file says.

    Raises:
        UserError: the file cannot be read, or everything that is wrong in it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text") from None
    faults: list[str] = []
    name = path.stem
    if path.suffix.lower() == ".csv":
        rows = list(_csv_rows(text, faults))
    else:
        name, rows = _json_rows(text, name, faults)
    amounts = [[_amount(row, column, faults) for column in AMOUNTS] for row in rows]
    if not rows and not faults:
        faults.append("holds no layers; at least one is needed")
    if faults:
        raise _refusal(path, faults)
    weights, cycles, maps, footprints, live = np.array(amounts, np.int64).T
    names = tuple(str(r.values.get("layer") or f"layer {i}") for i, r in enumerate(rows, start=1))
    try:
        return Chain(name, weights, cycles, maps, footprints, live, names)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def chain_record(chain: Chain) -> dict[str, Any]:
    """Return a chain as the JSON that :func:`read_chain_table` reads."""
    columns = [getattr(chain, column).tolist() for column in AMOUNTS]
    layers = [
        {"layer": name, **dict(zip(AMOUNTS, amounts, strict=True))}
        for name, *amounts in zip(chain.layers, *columns, strict=True)
    ]
    return {"format": FORMAT, "name": chain.name, "layers": layers}


def _refusal(path: Path, faults: Sequence[str]) -> UserError:
    shown = [f"{path}: {fault}" for fault in faults[:_LISTED]]
    if len(faults) > _LISTED:
        shown.append(f"{path}: and {len(faults) - _LISTED} more")
    return UserError("\n".join(shown))


def _csv_rows(text: str, faults: list[str]) -> Iterator[_Row]:
    """Yield the rows of a CSV, its heading checked; empty lines are left out."""
    reader = csv.reader(StringIO(text), strict=True, skipinitialspace=True)
    heads: list[str] | None = None
    try:
        for cells in reader:
            place = f"line {reader.line_num}"
            stripped = [cell.strip() for cell in cells]
            if not any(stripped):
                continue
            if heads is None:
                heads = stripped
                faults += [f"{place}: {fault}" for fault in _wrong_heads(heads)]
                if faults:
                    # each row would be wrong for the same reason
                    return
            elif len(stripped) != len(heads):
                faults.append(
                    f"{place}: has {len(stripped)} values, but there are {len(heads)} columns"
                )
            else:
                yield _Row(place, dict(zip(heads, stripped, strict=True)))
    except csv.Error as error:
        faults.append(f"line {reader.line_num}: is not CSV: {error}")
    if heads is None and not faults:
        faults.append(f"is empty; its first line must name columns: {', '.join(COLUMNS)}")


def _wrong_heads(heads: Sequence[str]) -> Iterator[str]:
    for number, head in enumerate(heads):
        if head not in COLUMNS:
            yield f"{head!r} is an unknown column; {did_you_mean(head, COLUMNS)}"
        elif head in heads[:number]:
            yield f"column {head} occurs twice"
    for column in REQUIRED:
        if column not in heads:
            yield f"column {column} is missing"


def _json_rows(text: str, name: str, faults: list[str]) -> tuple[str, list[_Row]]:
    """Return the name and the rows of a JSON table."""
    try:
        data = json.loads(text)
    except ValueError as error:
        faults.append(f"is not JSON: {error}")
        return name, []
    known = ("format", "name", "layers")
    if data.get("format") != FORMAT:
        faults.append(f"format: is {data.get('format')!r}, this version reads {FORMAT!r}")
    unknown = [key for key in data if key not in known]
    faults += [f"{key}: is an unknown key; {did_you_mean(key, known)}" for key in unknown]
    if not isinstance(data.get("name", ""), str):
        faults.append(f"name: {data['name']!r} must be a string")
    layers = data.get("layers")
    if not isinstance(layers, list):
        faults.append("layers: must be a list of layers")
        return name, []
    rows = []
    for i, layer in enumerate(layers):
        place = f"layers[{i}]"
        if not isinstance(layer, dict):
            faults.append(f"{place}: {layer!r} must hold {', '.join(COLUMNS)}")
            continue
        unknown = [key for key in layer if key not in COLUMNS]
        faults += [
            f"{place}.{key}: is an unknown key; {did_you_mean(key, COLUMNS)}" for key in unknown
        ]
        rows.append(_Row(place, layer))
    return str(data.get("name") or name), rows


def _amount(row: _Row, column: str, faults: list[str]) -> int:
    """Return one amount of a layer; 0 where it is wrong, or may be left out and is."""
    value = row.values.get(column, "")
    if value == "":
        if column in REQUIRED:
            faults.append(f"{row.place}: {column} is missing")
        return 0
    number = _number(value)
    if fault := whole_fault(column, number, 0, _MOST):
        faults.append(f"{row.place}: {fault}")
        return 0
    return int(number)


def _number(value: Any) -> Any:
    """Return the number that a text of a CSV means; else what there is."""
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        return value
