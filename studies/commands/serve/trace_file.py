"""A trace of requests in a CSV file: when each comes, and for which network."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.space import did_you_mean

from ...errors import UserError
from .wishes import place_of

#: columns of times, each with the seconds of its unit
TIMES: Final = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6}

NETWORK: Final = "network"


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests of a file.

    Attributes:
        seconds: float64[n], when each comes.
        network: int64[n], which network each is for.
    """

    seconds: Floats
    network: Ints


def read_trace(path: Path, names: Sequence[str]) -> Trace:
    """Return the requests of a CSV file, in any order of time.

    Its first line names the columns: ``network``, and one of ``time_s``, ``time_ms`` and
    ``time_us``.

    Args:
        path: of the file.
        names: networks that are served.

    Raises:
        UserError: the file cannot be read, holds no requests, or all that is wrong with it, each
            with its line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"--trace {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"--trace {path}: is not UTF-8 text: {error}") from None
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except csv.Error as error:
        raise UserError(f"--trace {path}: line {reader.line_num}: is not CSV: {error}") from None
    if len(lines) < 2:
        raise UserError(
            f"--trace {path}: holds no requests; the first line names the columns "
            f"(time_s,network), each line after it is a request"
        )
    (_, heads), *requests = lines
    faults = _column_faults(heads)
    if faults:
        raise UserError("\n".join(f"--trace {path}: line 1: {fault}" for fault in faults))
    unit = next(TIMES[head] for head in heads if head in TIMES)
    at = next(i for i, head in enumerate(heads) if head in TIMES)
    seconds, network = [], []
    for line, row in requests:
        fault = _row_fault(row, heads, at, names)
        if fault:
            faults.append(f"--trace {path}: line {line}: {fault}")
            continue
        seconds.append(float(row[at]) * unit)
        network.append(place_of(row[heads.index(NETWORK)], names))
    if faults:
        raise UserError("\n".join(faults))
    return Trace(np.array(seconds), np.array(network, np.int64))


def _column_faults(heads: Sequence[str]) -> list[str]:
    known = [*TIMES, NETWORK]
    faults = [
        f"there is no column {head!r}; {did_you_mean(head, known)}"
        for head in heads
        if head not in known
    ]
    if NETWORK not in heads:
        faults.append(f"column {NETWORK} is missing; it names the network of each request")
    times = [head for head in heads if head in TIMES]
    if len(times) != 1:
        found = " and ".join(times) or "none"
        faults.append(f"a trace needs exactly one time column ({', '.join(TIMES)}), found {found}")
    if len(set(heads)) < len(heads):
        faults.append("a column name occurs twice")
    return faults


def _row_fault(row: Sequence[str], heads: Sequence[str], at: int, names: Sequence[str]) -> str:
    if len(row) != len(heads):
        return f"has {len(row)} values, but there are {len(heads)} columns"
    faults = []
    try:
        time = float(row[at])
    except ValueError:
        faults.append(f"{heads[at]} must be a number, got {row[at]!r}")
    else:
        if not (isfinite(time) and time >= 0):
            faults.append(f"{heads[at]} must be a number from 0 up, got {row[at]!r}")
    try:
        place_of(row[heads.index(NETWORK)], names)
    except ValueError as error:
        faults.append(str(error))
    return "; ".join(faults)
