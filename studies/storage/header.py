"""What a study is: its config, its template and its networks, as they were when it began; and how
two of them differ, in words."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from archloom.search import RENAMED, first_name, renamed
from archloom.space import Faults, did_you_mean, parse_yaml
from archloom.space.design_space import without_marks
from archloom.studies.config import Location, SharedStudy, is_file, named, shown

from ..errors import UserError
from .directory import refuse_links
from .parts import NETWORKS, SPACE, START, STUDY
from .reading import is_stack, names_in, read_part

if TYPE_CHECKING:
    from archloom.space.design_space.compression import CompressedForms

FORMAT = 1

#: Keys that came after the first studies, and what those studies did.
LATER: Final[Mapping[str, Any]] = {
    "objectives": ["edp", "area", "tdp"],
    "start_from": [],
    "validation": {"workloads": [], "evaluations": None},
    "mode": "search",
    "logical_workers": 1,
    "tenants": [],
}
_UNSET: Final = object()


@dataclass(frozen=True, slots=True)
class Header:
    """Identity of a study: its resolved config, the template that its space had, and its networks.

    Attributes:
        config: ``StudyConfig.to_dict()``, with today's names of values.
        space_text: text of the hardware template.
        archloom: version that began the study.
        networks: JSON of the workloads that come from files, by position among all, those that
            are held out last.
        start: JSON of what ``start_from`` came to; None if it names nothing.
        trials_before: numbers of trials that the study was to have before today's, oldest first.
    """

    config: dict[str, Any]
    space_text: str
    archloom: str
    networks: Mapping[int, str] = field(default_factory=dict)
    start: str | None = None
    trials_before: tuple[int, ...] = ()

    @classmethod
    def new(
        cls, config: dict[str, Any], space_text: str, networks: Mapping[int, str] | None = None
    ) -> "Header":
        """Return the header of a study that begins now."""
        return cls(config, space_text, this_version(), networks or {})

    @property
    def space_file(self) -> Path:
        """The part that the template is; its stem names the designs."""
        return Path(SPACE, f"{Path(self.config['space']).stem}.yaml")

    @property
    def result_settings(self) -> dict[str, Any]:
        """Settings that decide the result: neither executor, pick nor name, nor paths of files.

        Limits of a round are none: what broke one says so itself, and can be done again with
        others.
        What older studies could not choose is left out where it is as they had it.
        """
        free = ("name", "executor", "pick", "round_limits")
        settings = {
            k: v for k, v in self.config.items() if k not in free and LATER.get(k, _UNSET) != v
        }
        workloads = [
            {"sha256": _digest(self.networks[i])} if is_file(workload) else workload
            for i, workload in enumerate(every_workload(self.config))
        ]
        if self.start is not None:
            settings["start_from"] = {"sha256": _digest(self.start)}
        searched = len(self.config["workloads"])
        if "validation" in settings:
            settings["validation"] = settings["validation"] | {"workloads": workloads[searched:]}
        return settings | {
            "workloads": workloads[:searched],
            "space": self.space_file.stem,
            # marks of values say where they come from, and decide nothing
            "space_sha256": _digest(without_marks(self.space_text)),
        }

    @property
    def identity(self) -> str:
        """Equal for two studies that have the same result, whatever their values were called."""
        settings = _values_named(self.result_settings, first_name)
        return _digest(json.dumps(settings, sort_keys=True))

    @property
    def identities(self) -> set[str]:
        """Its identity, and those that it had with other numbers of trials."""
        counts = (*self.trials_before, self.config["trials"])
        return {self._with_trials(count).identity for count in counts}

    def extended(self, trials: int) -> "Header":
        """Return the header of the same study with another number of trials."""
        before = (*self.trials_before, self.config["trials"])
        return replace(self._with_trials(trials), trials_before=before)

    def differs_in_trials_alone(self, other: "Header") -> bool:
        """Whether it would be the other study if both had as many trials."""
        return self._with_trials(other.config["trials"]).identity == other.identity

    def _with_trials(self, trials: int) -> "Header":
        return replace(self, config=self.config | {"trials": trials})


def this_version() -> str:
    """Return the version of archloom that runs."""
    # its import takes as long as reading a study
    from importlib.metadata import version

    return version("archloom")


def read_header(location: Location) -> Header:
    """Return what the study is.

    Raises:
        UserError: there is no study, or it is of another format.
    """
    if isinstance(location, Path) and location.is_file():
        raise UserError(
            f"{location} is a file; this command takes the directory of a study, such as "
            f"runs/{location.stem}"
        )
    if isinstance(location, Path) and not location.is_dir():
        raise UserError(f"{location}: there is no such directory; {_elsewhere(location)}")
    if isinstance(location, SharedStudy) and location.name not in (there := names_in(location)):
        hint = did_you_mean(location.name, there) if there else "it has none"
        raise UserError(
            f"{location}: there is no such study; start one with 'archloom run'; {hint}"
        )
    if is_stack(location):
        raise UserError(
            f"{location} is a study with kind: stack; only archloom run, resume, status, show and "
            "report accept it, this command works with studies of accelerators"
        )
    if isinstance(location, Path):
        refuse_links(location)
    try:
        data = parse_yaml(_text(location, STUDY), STUDY, Faults()).data
        if isinstance(data, dict) and "format" not in data and "workloads" in data:
            raise UserError(
                f"{location} is no study: {named(location, STUDY)} is a study file, and a study "
                "keeps a file of that name itself; nothing was changed; choose another place with "
                "--out, or rename your file"
            )
        found = data["format"]
    except (OSError, TypeError, KeyError, UnicodeDecodeError):
        raise UserError(
            f"{location} is no study: it has no readable {STUDY} with a format{_below(location)}"
        ) from None
    if found != FORMAT:
        raise UserError(
            f"{location} is a study of format {found}; this archloom ({this_version()}) reads "
            f"format {FORMAT}; use the version that started it: {data.get('archloom', 'unknown')}"
        )
    try:
        bare = Header(_values_named(data["config"], renamed), "", data["archloom"])
        header = replace(
            bare,
            space_text=_text(location, bare.space_file),
            networks={
                i: _text(location, network_file(i))
                for i, workload in enumerate(every_workload(bare.config))
                if is_file(workload)
            },
            start=_text(location, START) if bare.config.get("start_from") else None,
            trials_before=tuple(map(int, data.get("trials_before", ()))),
        )
        sound = header.identity == data["identity"]
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError):
        sound = False
    if not sound:
        raise UserError(
            f"{location}: {STUDY}, {START}, the template in {SPACE} or a network in {NETWORKS} was "
            "changed after the study began, so its trials no longer belong to it; undo the "
            "change, or start a study in another place"
        )
    return header


#: studies that a message names
_NAMED: Final = 3


def _elsewhere(folder: Path) -> str:
    """Say where a study of that name is, or what makes one."""
    usual = Path("runs") / folder
    if (usual / STUDY).is_file():
        return f"did you mean {usual}?"
    home = folder.parent if folder.parent.is_dir() else Path()
    there = {path.name: path for path in home.iterdir() if (path / STUDY).is_file()}
    if near := get_close_matches(folder.name, sorted(there)):
        return f"did you mean {' or '.join(str(there[name]) for name in near)}?"
    return "start one with 'archloom run'"


def _below(location: Location) -> str:
    """Name studies in a directory that is none itself, as the end of a sentence."""
    if not isinstance(location, Path):
        return ""
    found = [path for path in sorted(location.iterdir()) if (path / STUDY).is_file()]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"; studies in it: {', '.join(map(str, found[:_NAMED]))}{more}" if found else ""


def header_parts(header: Header) -> dict[str, bytes]:
    """Return the parts that say what a study is; the last one makes it a study."""
    texts = {str(header.space_file): header.space_text}
    texts |= {str(network_file(i)): text for i, text in header.networks.items()}
    if header.start is not None:
        texts[START] = header.start
    texts[STUDY] = study_text(header)
    return {name: text.encode() for name, text in texts.items()}


def _text(location: Location, name: str | Path) -> str:
    found = read_part(location, name)
    if found is None:
        raise KeyError(name)
    return found.decode()


def _values_named(settings: dict[str, Any], name: Callable[[str, str], str]) -> dict[str, Any]:
    """Return settings with values of ``software`` called what ``name`` says, by key and value."""
    software = dict(settings.get("software", {}))
    software |= {key: name(key, software[key]) for key in RENAMED if key in software}
    return settings | ({"software": software} if software else {})


def every_workload(config: Mapping[str, Any]) -> list[Any]:
    """Return the references of all networks of a study, those held out last."""
    return [*config["workloads"], *config.get("validation", {}).get("workloads", [])]


def network_file(position: int) -> Path:
    """Return the part that a workload is that comes from a file."""
    return Path(NETWORKS, f"{position}.json")


def study_text(header: Header) -> str:
    """Return the text of ``study.yaml``."""
    head: dict[str, Any] = {"format": FORMAT, "archloom": header.archloom}
    head["identity"] = header.identity
    if header.trials_before:
        head["trials_before"] = [*header.trials_before]
    return yaml.safe_dump(head | {"config": header.config}, sort_keys=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def differences(found: Header, wanted: Header, unsaid: Mapping[str, Any]) -> str:
    """Say which keys differ, with both values; files by what changed in them.

    ``unsaid`` has the values of keys that a study's settings leave out.
    """
    old, new = found.result_settings, wanted.result_settings
    parts = []
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            if key == "space_sha256":
                parts.append("space: another template")
            elif key == "workloads":
                parts += _workload_differences(found, wanted)
            else:
                there, here = (one.get(key, unsaid.get(key)) for one in (old, new))
                parts.append(f"{key}: {there} there, {here} here")
    return "; ".join(parts)


def _workload_differences(found: Header, wanted: Header) -> list[str]:
    there, here = ([shown(w) for w in header.config["workloads"]] for header in (found, wanted))
    if len(there) != len(here):
        return [f"workloads: {', '.join(there)} there, {', '.join(here)} here"]
    settings = (header.result_settings["workloads"] for header in (found, wanted))
    return [
        f"workloads[{i}]: {there[i]} there, {here[i]} here"
        if there[i] != here[i]
        else f"workloads[{i}]: the network of {here[i]} changed ({_change(found, wanted, i)})"
        for i, (old, new) in enumerate(zip(*settings, strict=True))
        if old != new
    ]


def _change(found: Header, wanted: Header, position: int) -> str:
    """Say what is most telling of how a network changed."""
    from archloom.space.design_space.compression import forms_from_text, is_forms_text
    from archloom.space.workload import explain_difference, from_text

    texts = [header.networks[position] for header in (found, wanted)]
    there, here = (
        forms_from_text(text).network if is_forms_text(text) else from_text(text) for text in texts
    )
    telling = explain_difference(replace(there, name="the study"), replace(here, name="the file"))
    if there == here and all(map(is_forms_text, texts)):
        return _change_of_forms(*map(forms_from_text, texts))
    return telling[0] if telling else "names of layers"


def _change_of_forms(there: "CompressedForms", here: "CompressedForms") -> str:
    """Say what is most telling of how compressed forms of one network differ."""
    for old, new in zip(there.groups, here.groups, strict=False):
        if old != new:
            same = (old.name, old.levels, old.layers) == (new.name, new.levels, new.layers)
            return f"weights of group {old.name}" if same else f"group {old.name}"
    if len(there.groups) != len(here.groups):
        return f"{len(there.groups)} groups there, {len(here.groups)} here"
    for form, percent in there.accuracy_percent.items():
        now = here.accuracy_percent.get(form)
        if now != percent:
            pruned = f"pruned by {', '.join(f'{level:g}' for level in form[0])}"
            shown = "none" if now is None else f"{now:.2f} %"
            return f"accuracy {pruned} at {form[1]} bits: {percent:.2f} % there, {shown} here"
    return "widths"
