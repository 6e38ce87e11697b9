"""Warm start of a study: designs to try first, and results that others have paid for.

It is worked out once, when the study begins, and kept in its directory: a study that goes on
depends on no other directory, file or version of a preset.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.search import hypervolume
from archloom.search.hardware import Observation
from archloom.space import Infeasible, bounded_json
from archloom.studies.analysis import read_front
from archloom.studies.config import baseline_hardware
from archloom.studies.storage import START, Header, read_header, read_trials

from ..errors import UserError, unreadable

if TYPE_CHECKING:
    from archloom.search.hardware import DesignProblem
    from archloom.space.design_space import Parameter, Point
    from archloom.studies.config import StartSource, StudyConfig

#: Settings in which two studies have to agree for one's results to be the other's too.
RULER = (
    "workloads",
    "density",
    "tenants",
    "objectives",
    "constraints",
    "space_sha256",
    "software",
)

#: designs of another study's front that are tried anew, if nobody says how many
MOST = 8

#: designs of a CSV file at the most
_MOST_ROWS: Final = 100_000


@dataclass(frozen=True)
class WarmStart:
    """Designs and observations that a study begins with.

    Attributes:
        first: designs that are tried before the optimizer proposes any; all feasible, none twice.
        observations: of earlier trials, which the optimizer learns from and does not propose again.
        notes: what was taken from where, and what was left out and why.
    """

    first: "tuple[Point, ...]" = ()
    observations: tuple[Observation, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    def to_text(self) -> str:
        """Return it as JSON, without the notes."""
        # the key that directories of older studies have, and that their identity is a hash of
        content = {"first": list(self.first), "told": [*map(_plain, self.observations)]}
        return json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> "WarmStart":
        """Return what :meth:`to_text` was called on.

        Raises:
            UserError: it is another text.
        """
        try:
            content = bounded_json(text)
            observations = tuple(_observation(one) for one in content["told"])
            first = tuple({**point} for point in content["first"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError(
                f"the start of the study was not written by archloom ({error}); restore "
                f"{START} from a copy, or start a study in another place"
            ) from None
        return cls(first, observations)


def _plain(observation: Observation) -> dict[str, Any]:
    """Return JSON values; designs without other software have the keys that they always had."""
    content = asdict(observation)
    return content if observation.others else {k: v for k, v in content.items() if k != "others"}


def _observation(content: dict[str, Any]) -> Observation:
    values = content["values"]
    settled = {"values": None if values is None else tuple(values)}
    settled["others"] = tuple(map(tuple, content.get("others", ())))
    return Observation(**content | settled | {"excess": tuple(content["excess"])})


def warm_start(config: "StudyConfig", header: Header, problem: "DesignProblem") -> WarmStart | None:
    """Read everything that ``start_from`` of a study file names; None if it names nothing.

    Args:
        config: of the study that begins.
        header: of it.
        problem: of it.

    Raises:
        UserError: a directory, file or row that cannot be read, or is of another space.
    """
    if not config.start_from:
        return None
    first: dict[str, Point] = {}
    seen: dict[str, Observation] = {}
    notes: list[str] = []
    for i, source in enumerate(config.start_from):
        try:
            found = _read(source, header, problem)
        except (UserError, ValueError) as error:
            raise UserError(f"start_from[{i}]: {error}") from None
        kept, left_out = _feasible(problem, found.first)
        first |= kept
        seen |= {problem.space.point_key(one.point): one for one in found.observations}
        notes += [f"start_from[{i}]: {note}" for note in (*found.notes, *left_out)]
    # a design that is tried anew is not learned from twice
    known = tuple(one for key, one in seen.items() if key not in first)
    return WarmStart(tuple(first.values()), known, tuple(notes))


def _feasible(
    problem: "DesignProblem", points: "Sequence[Point]"
) -> "tuple[dict[str, Point], list[str]]":
    """Return the feasible points by key, and a note on each other one."""
    kept, notes = {}, []
    for point in points:
        found = problem.assess(point)
        if isinstance(found, Infeasible):
            notes.append(f"{_shown(point)} was left out: {found}")
        else:
            kept[found.key] = found.point
    return kept, notes


def _read(source: "StartSource", header: Header, problem: "DesignProblem") -> WarmStart:
    if source.preset is not None:
        return _from_preset(source.preset, problem)
    if source.csv is not None:
        return _from_csv(Path(source.csv), problem)
    if source.study is None:
        raise ValueError("a source names a preset, a study or a CSV file")
    most = MOST if source.most is None else source.most
    return _from_study(Path(source.study), most, header, problem)


def _from_preset(name: str, problem: "DesignProblem") -> WarmStart:
    from archloom.search.hardware import nearest

    found = nearest(problem, baseline_hardware(name, problem.space))
    if found is None:
        return WarmStart(notes=(f"no feasible design is near preset {name}",))
    return WarmStart((found.point,), notes=(f"nearest to preset {name}: {_shown(found.point)}",))


def _from_csv(path: Path, problem: "DesignProblem") -> WarmStart:
    """Read a file as ``archloom pareto --csv`` writes it; other columns do not count."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            columns = rows.fieldnames or []
            missing = [p.name for p in problem.space.parameters if p.name not in columns]
            if missing:
                raise UserError(f"{path}: there is no column {', '.join(missing)}")
            first = tuple(_points(path, rows, problem.space.parameters))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: {unreadable(error)}") from None
    return WarmStart(first, notes=(f"{path}: {_count(len(first), 'design')}",))


def _points(
    path: Path, rows: "csv.DictReader[str]", parameters: "Sequence[Parameter]"
) -> "Iterator[Point]":
    for number, row in enumerate(rows, 1):
        if number > _MOST_ROWS:
            raise UserError(
                f"{path}: has over {_MOST_ROWS} designs, more than a study can start with"
            )
        try:
            yield {p.name: _value(p, row[p.name]) for p in parameters}
        except ValueError as error:
            raise UserError(f"{path}, line {rows.line_num}: {error}") from None


def _value(parameter: "Parameter", text: str | None) -> Any:
    """Return the parameter's value that is written so."""
    same = next((v for v in parameter.values if str(v) == (text or "").strip()), None)
    if same is not None:
        return same
    try:
        number: object = float(text or "")
    except ValueError:
        number = text
    return parameter.values[parameter.check(number)]


def _from_study(folder: Path, most: int, header: Header, problem: "DesignProblem") -> WarmStart:
    """Take the best of a front to be tried anew, and all results if they measure the same."""
    theirs, trials, front = read_header(folder), read_trials(folder), read_front(folder)
    for trial in trials[:1]:
        problem.space.canonical(trial.point or {})  # raises ValueError if it is of another space
    differing = [
        key for key in RULER if theirs.result_settings.get(key) != header.result_settings.get(key)
    ]
    seen = () if differing else tuple(t.observation(problem.objective_set) for t in trials)
    costs = [trial.costs(front.objective_set) for trial in front.members]
    # several outcomes of a design may be on the front
    points = {t.hardware: t.point or {} for t in (front.members[i] for i in _widest(costs, most))}
    first = tuple(points.values())
    why = f", since {', '.join(differing)} differ" if differing else ""
    count = _count(len(first), "design")
    note = (
        f"{folder}: {count} of its front tried first, {_count(len(seen), 'result')} used for "
        f"learning{why}"
    )
    return WarmStart(first, seen, (note,))


def _widest(costs: Sequence[tuple[float, ...]], most: int) -> list[int]:
    """Return up to ``most`` rows, each the one that adds the most hypervolume to those before."""
    if not costs:
        return []
    reference = [1.1 * max(column) for column in zip(*costs, strict=True)]
    chosen: list[int] = []
    while len(chosen) < min(most, len(costs)):
        left = [i for i in range(len(costs)) if i not in chosen]
        volumes = [hypervolume([costs[j] for j in (*chosen, i)], reference) for i in left]
        chosen.append(left[volumes.index(max(volumes))])
    return chosen


def _shown(point: "Point") -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
