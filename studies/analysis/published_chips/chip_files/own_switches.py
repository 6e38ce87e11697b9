"""Switches of single figures: packed maps, rows that explain others, causes a model lacks."""

from collections.abc import Callable, Iterator, Mapping

from .chip_file import ChipFile
from .kinds import PACKED, TRAFFIC
from .remarks import Measured
from .rows import Row

#: of DRAM traffic, if the row has it with packed maps too
_MAPS_PACKED = "maps packed"


def lacking(measured: Measured, value: float, sense: int) -> dict[str, float]:
    """Return a value with each published cause that the model lacks, and with all of them."""
    ratios = measured.with_lacks(value / measured.measured, sense)
    return {name: ratio * measured.measured for name, ratio in ratios.items()}


def own_switches(
    chip: ChipFile, row: Row, key: str, value_of: Callable[[Row, str], float], sense: int
) -> dict[str, float]:
    """Return the figure of a row with the switches that are its own, by their names.

    A row that explains this one gives its ratio: its measured value may be another.

    Args:
        chip: the file.
        row, key: whose figure, and which.
        value_of: the figure of a row with no switch.
        sense: as :attr:`.kinds.Kind.sense`.
    """
    measured = row.figures[key]
    found, packed = dict[str, float](), _packed(key)
    if packed in row.figures:
        found[_MAPS_PACKED] = value_of(row, packed)
    found |= lacking(measured, value_of(row, key), sense)
    for other in (other for other in chip.layers if other.explains == row.name):
        if packed in row.figures and packed in other.figures:
            ratio = value_of(other, packed) / other.figures[packed].measured
            found[f"{other.name}, {_MAPS_PACKED}"] = ratio * measured.measured
        if key in other.figures:
            theirs = other.figures[key]
            ratio = value_of(other, key) / theirs.measured
            found[other.name] = ratio * measured.measured
            for name, each in theirs.with_lacks(ratio, sense).items():
                found[f"{other.name}, {name}"] = each * measured.measured
    return found


def shown_by(row: Row, key: str, rows: Mapping[str, Row]) -> tuple[Row, str] | None:
    """Return the row and the key of the figure that this one shows with a switch, if one."""
    if row.explains and key in rows[row.explains].figures:
        return rows[row.explains], key
    plain = key.removesuffix(PACKED) + TRAFFIC
    return (row, plain) if key.endswith(PACKED) and plain in row.figures else None


def own_sentences(chip: ChipFile) -> Iterator[str]:
    """Say in Markdown which rows explain others, and which causes have which share."""
    for row in (row for row in chip.layers if row.explains):
        yield f"Row *{row.name}* repeats *{row.explains}* with other assumptions."
    of_rows = ((f"{row.name}, ", row.figures) for row in chip.layers)
    for name, figures in (("", chip.chip), *of_rows):
        for key, measured in figures.items():
            for cause, lack in measured.lacks.items():
                yield (
                    f"Of *{name}{key}*, {cause} is {100 * lack.share:.3g}% of the measured time, "
                    f"energy or area ({lack.source}); ratios *with {cause}* add it to the model's."
                )


def _packed(key: str) -> str:
    return key.removesuffix(TRAFFIC) + PACKED
