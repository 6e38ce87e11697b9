"""Paths that pictures are written to."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import UserError

if TYPE_CHECKING:
    pass


KINDS: Final = (".png", ".svg")


def check_picture(path: Path | None, option: str, kinds: Sequence[str] = KINDS) -> None:
    """Raise UserError if a picture cannot be written as its name says."""
    if path is None:
        return
    if path.suffix.lower() not in kinds:
        raise UserError(f"{option} {path}: must end in {' or '.join(kinds)}")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.parent}")
