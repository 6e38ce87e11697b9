"""Sources of the designs that a study tries first."""

from dataclasses import dataclass
from typing import Annotated

from .location import is_url
from .sections import Reading, Section, named_one, text, whole
from .workload_reference import absolute


def preset_names() -> list[str]:
    """Return the names of all presets, sorted."""
    from archloom.space.design_space import PRESETS

    return sorted(PRESETS)


def _absolute(value: str, beside: Reading) -> str:
    """Paths of a study file count from where it lies."""
    if is_url(value):
        # not repeated: it may hold a password
        raise ValueError("must be a directory; copy a study there with 'archloom copy'")
    return str(absolute(value, beside.folder))


_PATH = text().checked(_absolute).or_none()


@dataclass(frozen=True, kw_only=True)
class StartSource(Section):
    """A source of designs to start from: a preset, a study, or a CSV file.

    Attributes:
        preset: name of a preset; the design of the space nearest to it is tried.
        study: directory of another study; designs of its front are tried, and the optimizer learns
            from its results if they were obtained with the same settings.
        csv: CSV file with one column for each parameter of the space; each row is tried.
        most: for a study: maximum number of designs of its front that are tried.

    Raises:
        ValueError: it is none of them or several, or ``most`` is of no study.
    """

    preset: Annotated[str | None, named_one("preset", preset_names).or_none().like("eyeriss")] = (
        None
    )
    study: Annotated[str | None, _PATH.like("../runs/first")] = None
    csv: Annotated[str | None, _PATH.like("designs.csv")] = None
    most: Annotated[int | None, whole(0).or_none().like(4)] = None

    def __post_init__(self) -> None:
        given = [key for key in ("preset", "study", "csv") if getattr(self, key) is not None]
        if len(given) != 1:
            what = " and ".join(given) or "nothing"
            raise ValueError(f"names {what}; must name exactly one of preset, study and csv")
        if self.most is not None and self.study is None:
            raise ValueError(f"most applies to study only, not to {given[0]}")
