"""Tables of ``archloom compress``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.rendering.text import new_table, print_line, print_whole

if TYPE_CHECKING:
    from rich.console import Console

    from archloom.studies.analysis import Details

#: what the rows of a method are called
LABELS: Final = {
    "weights": "weights",
    "channels": "channels",
    "float16": "float16",
    "int8_uncalibrated": "int8, uncalibrated",
    "int8": "int8, calibrated",
    "int4": "int4, calibrated",
}

_HEADS: Final = (
    "method", "pruned", "accuracy %", "std dev", "before tuning %", "kB", "of dense", "params",
    "M MACs", "elbow",
)  # fmt: skip


def print_compression(record: "Details", console: "Console") -> None:
    """Print a record of :func:`~.record.compression_record`."""
    seeds = record["seeds"]
    print_line(
        f"Model {record['model']}, width multiplier {record['width']:g}, data {record['data']} "
        f"(test set: {record['tested_with']}), {seeds} seed{'s' if seeds > 1 else ''}",
        console,
    )
    table = new_table(
        "Top-1 accuracy, stored size, and nonzero parameters and MACs (means over the seeds)",
        _HEADS,
        ("method", "elbow"),
    )
    dense = record["dense"]
    table.add_row("dense", *_cells(dense, dense, ""), "")
    for method, found in record["methods"].items():
        for level in found["levels"]:
            pruned = f"{level['level']:g}" if method in ("weights", "channels") else ""
            mark = "<" if level["level"] == found["elbow"] else ""
            table.add_row(LABELS[method], *_cells(level, dense, pruned), mark)
    print_whole(table, console)
    for line in _remarks(record):
        print_line(line, console)


def _cells(level: dict[str, Any], dense: dict[str, Any], pruned: str) -> Iterator[str]:
    yield pruned
    yield f"{level['accuracy_percent']:.2f}"
    deviation, before = level["deviation_points"], level["before_fine_tuning_percent"]
    yield "" if deviation is None else f"{deviation:.2f}"
    yield "" if before is None else f"{before:.2f}"
    yield f"{level['stored_bytes'] / 1e3:,.1f}"
    yield f"{level['stored_bytes'] / dense['stored_bytes']:.1%}"
    yield f"{level['nonzero_params']:,.0f}"
    yield f"{level['nonzero_macs'] / 1e6:,.3f}"


def _remarks(record: "Details") -> Iterator[str]:
    yield ("before tuning: accuracy before fine-tuning; std dev: standard deviation over the seeds")
    yield (
        f"Elbow (<): the most compressed level before the mean accuracy drops by more than "
        f"{record['allowed_drop_points']:.2f} percentage points (the larger of --tolerance "
        f"{record['tolerance_points']:g} and the standard deviation of the dense model)"
    )
    for method, found in record["methods"].items():
        if found["elbow"] is None:
            yield f"{LABELS[method]}: no elbow, because accuracy drops by more at the first level"
