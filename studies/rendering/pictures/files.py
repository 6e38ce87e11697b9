"""Files that pictures are written to."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.storage import check_file, write_whole

from ...errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KINDS: Final = (".png", ".svg")


def check_picture(path: Path | None, option: str, kinds: Sequence[str] = KINDS) -> None:
    """Raise UserError if a picture cannot be written as its name says."""
    if path is None:
        return
    if path.suffix.lower() not in kinds:
        raise UserError(f"{option} {path}: must end in {' or '.join(kinds)}")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.parent}")
    check_file(path, option)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure; equal figures become equal files.

    A date would tell them apart, and so would the layout, whose last digits depend on where objects
    are in memory: names in an SVG are made from them.
    """
    import matplotlib as mpl

    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(tuple(round(part, 6) for part in axes.get_position().bounds))
    stamp = {"Date": None} if path.suffix.lower() == ".svg" else None
    with mpl.rc_context({"svg.hashsalt": "archloom", "svg.fonttype": "none"}):
        write_figure(figure, path, metadata=stamp)


def write_figure(figure: "Figure", path: Path, **settings: Any) -> None:
    """Write a figure as it is, so that a full disk leaves what was there before."""
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix.lower().removeprefix("."), **settings)
    write_whole(path, drawn.getvalue())
