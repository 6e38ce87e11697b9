"""Trials of a study as CSV, JSON and Parquet."""

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.studies.analysis import TrialTable, read_trial_table
from archloom.studies.config import Location
from archloom.studies.rendering.text import finite
from archloom.studies.storage import write_whole

from ....errors import UserError, choosing

if TYPE_CHECKING:
    from pandas import DataFrame


def printed(location: Location, form: str) -> str:
    """Return all trials as ``csv`` or ``json``.

    Raises:
        UserError: there is no study, or it is damaged.
    """
    return _written(read_trial_table(location), form)


def export_file(location: Location, form: str, out: str | None) -> str:
    """Write all trials to a file; return what was written.

    Raises:
        UserError: no such study, the file cannot be written, or a package is missing.
    """
    if not out or "://" in out:
        raise UserError(f"--format {form} is written to a file: say --out trials.{form}")
    path, table = Path(out), read_trial_table(location)
    data = _parquet(table) if form == "parquet" else _written(table, form).encode()
    with choosing(path, "--out"):
        write_whole(path, data)
    return f"{path}: {len(table.rows)} trials, {len(table.columns)} columns"


def export_optuna(location: Location, out: str | None) -> str:
    """Keep all trials in a storage of Optuna; return what was done.

    Raises:
        UserError: no such study, or the storage cannot have it.
    """
    if not out or "://" not in out:
        raise UserError(
            "--format optuna is kept in a storage of Optuna: say its URL, such as "
            "--out sqlite:///study.db"
        )
    from .optuna_mirror import OptunaMirror

    mirror = OptunaMirror(location, out)
    added = mirror.update()
    return (
        f"{mirror.storage}: study {mirror.name}, {added} of {mirror.trials} trials added; "
        f"optuna-dashboard {mirror.storage} shows them"
    )


def _written(table: TrialTable, form: str) -> str:
    return _csv(table) if form == "csv" else _json(table)


def _csv(table: TrialTable) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, table.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    return text.getvalue()


def _json(table: TrialTable) -> str:
    rows = [{name: finite(row.get(name)) for name in table.columns} for row in table.rows]
    return json.dumps({"trials": rows}, indent=2, allow_nan=False) + "\n"


def frame(table: TrialTable, who: str = "to_pandas()", extra: str = "pandas") -> "DataFrame":
    """Return the table as one of pandas; what a trial does not have is NaN.

    Args:
        table: trials.
        who: needs it, for the message.
        extra: of archloom that installs it.

    Raises:
        UserError: pandas is not installed.
    """
    try:
        from pandas import DataFrame
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise UserError(
            f"{who} needs pandas, which is not installed; pip install 'archloom[{extra}]'"
        ) from None
    return DataFrame([*table.rows], columns=list(table.columns))


def _parquet(table: TrialTable) -> bytes:
    who, extra = "--format parquet", "parquet"
    found = frame(table, who, extra)
    try:
        import pyarrow  # noqa: F401 (what pandas will load)
    except ModuleNotFoundError:
        raise UserError(
            f"{who} needs pyarrow, which is not installed; pip install 'archloom[{extra}]'"
        ) from None
    for name in table.columns:
        # a column of a file has one type; parameters may have texts beside numbers
        if {type(row.get(name)) for row in table.rows} > {str}:
            found[name] = found[name].map(str, na_action="ignore")
    data = io.BytesIO()
    found.to_parquet(data, index=False, engine="pyarrow")
    return data.getvalue()
