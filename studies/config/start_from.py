"""Sources of the designs that a study tries first."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from archloom.space import did_you_mean

from .location import is_url
from .workload_reference import absolute


def _known_preset(name: str) -> str:
    from archloom.space.design_space import PRESETS

    if name not in PRESETS:
        raise ValueError(f"preset {name!r} is unknown; {did_you_mean(name, sorted(PRESETS))}")
    return name


class StartSource(BaseModel):
    """One of a preset, a study's directory, or a CSV file.

    Attributes:
        preset: the design of the space nearest to it is tried.
        study: the best of its front is tried, and its results are learned from where they
            measure the same.
        csv: its rows are tried, one column for each parameter of the space.
        most: of a study: designs of its front that are tried.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    preset: Annotated[str, AfterValidator(_known_preset)] | None = None
    study: str | None = None
    csv: str | None = None
    most: Annotated[int, Field(ge=0)] | None = None

    @field_validator("study", "csv")
    @classmethod
    def _absolute(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Paths of a study file count from where it lies."""
        if value is not None and is_url(value):
            # not repeated: it may hold a password
            raise ValueError("must be in a directory; 'archloom copy' brings a study there")
        folder: Path = (info.context or {}).get("folder", Path())
        return None if value is None else str(absolute(value, folder))

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [key for key in ("preset", "study", "csv") if getattr(self, key) is not None]
        if len(given) != 1:
            what = " and ".join(given) or "nothing"
            raise ValueError(f"names {what}; must name one of preset, study and csv")
        if self.most is not None and self.study is None:
            raise ValueError(f"most counts designs of a study's front; {given[0]} has none")
        return self
