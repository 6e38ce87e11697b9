"""Names that a user may write on a command line, by kind, for shells that complete them.

What has the names is loaded when they are asked for.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

#: folder that studies are kept in unless somebody says otherwise, and what says that one is there
_RUNS: Final = Path("runs")
_MARKS: Final = ("study.yaml", "stack.json")


def _studies() -> list[str]:
    found = sorted(_RUNS.iterdir()) if _RUNS.is_dir() else []
    return [str(path) for path in found if any((path / mark).is_file() for mark in _MARKS)]


def _study_files() -> list[str]:
    return ["quickstart"]


def _networks() -> Iterable[str]:
    from archloom.space.networks import NETWORKS

    return NETWORKS


def _hardware() -> Iterable[str]:
    from archloom.space.design_space import PRESETS, TEMPLATES

    return [*PRESETS, *TEMPLATES, "host"]


def _technologies() -> Iterable[str]:
    from archloom.evaluators.technology import technology_names

    return technology_names()


def _methods() -> Iterable[str]:
    from archloom.studies.config import METHODS

    return METHODS


def _pick_rules() -> Iterable[str]:
    from archloom.studies.config import PICKED

    return PICKED


def _chips() -> Iterable[str]:
    from archloom.studies.analysis.published_chips import built_in

    return built_in()


#: what returns the names of a kind
KNOWN_NAMES: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "studies": _studies,
    "study files": _study_files,
    "networks": _networks,
    "hardware": _hardware,
    "technologies": _technologies,
    "methods": _methods,
    "pick rules": _pick_rules,
    "chips": _chips,
}
