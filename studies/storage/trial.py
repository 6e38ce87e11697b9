"""Trial: a hardware design, the software found for it, and what both cost.

A line of ``trials.jsonl`` is a trial that ended; it is the same on every run of a study.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import inf, isfinite
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, get_args

from archloom.search import AREA, EDP, TDP, Objective, ObjectiveSet
from archloom.search.budget import Curve
from archloom.search.hardware import Observation
from archloom.search.software import NetworkResult
from archloom.space import Infeasible

if TYPE_CHECKING:
    from archloom.space.design_space import Point

TrialState = Literal["complete", "stopped", "infeasible", "failed", "lost", "over_limit"]

#: Number of the baseline, which is no trial of the search.
BASELINE: Final = -1

#: Curve of a trial without a single result.
NOTHING_FOUND: Final = Curve((), ())


@dataclass(frozen=True, slots=True)
class Crash:
    """A round that raised.

    Attributes:
        state: of a trial that ends with it.
        event: what the journal calls it.
    """

    state: ClassVar[TrialState] = "failed"
    event: ClassVar[str] = "crashed"

    error: str
    message: str
    traceback: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse, but for what was lost."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Crash":
        """Return what a record says of a round that gave nothing."""
        return OverLimit(**data) if "limit" in data else Crash(**data)


@dataclass(frozen=True, slots=True)
class Lost(Crash):
    """A round that machines failed: its workers died, or had no memory or disk left.

    It says nothing of the design, so nothing is learned from it.
    """

    state: ClassVar[TrialState] = "lost"
    event: ClassVar[str] = "lost"


@dataclass(frozen=True, slots=True)
class OverLimit(Crash):
    """A round that took more than the study's limits for one allow, and was ended.

    Attributes:
        resource: the limit, as study files name it: ``cpu_s``, ``memory_mb`` or ``work_limit``.
        limit, spent: how much it allows, and what the round had when it was ended.
        seconds, cpu_seconds: that the round worked, on wall and CPU.
        reproducible: whether it is over the limit on every machine; counted work is, seconds and
            bytes are not.
    """

    state: ClassVar[TrialState] = "over_limit"
    event: ClassVar[str] = "over_limit"

    resource: str
    limit: float
    spent: float
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    reproducible: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, without times where all else is the same on every machine."""
        times = {"seconds", "cpu_seconds"} if self.reproducible else set()
        return {key: value for key, value in asdict(self).items() if key not in times}


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Other software of a trial's design, with less energy or fewer cycles: as of the trial."""

    edp_js: float
    values: Mapping[str, float]
    networks: Mapping[str, NetworkResult]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :func:`_trade_off` is the inverse."""
        networks = {name: found.to_dict() for name, found in self.networks.items()}
        return {"edp_js": self.edp_js, "values": dict(self.values), "networks": networks}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial that ended.

    Attributes:
        number: from 0 on; :data:`BASELINE` for the preset to compare with.
        batch: from 0 on, likewise.
        state: ``complete`` (it went through every round), ``stopped`` (halved away, with an honest
            EDP), ``infeasible`` (no plan could be evaluated), ``failed`` (a round crashed),
            ``lost`` (machines failed a round again and again) or ``over_limit`` (a round broke a
            limit of time or memory).
        rounds: that it took part in.
        point: parameters of the design; None for a preset.
        hardware: name of the design.
        area_mm2, tdp_w: of the hardware.
        edp_js: the best found (J*s, geometric mean over the networks), also before a crash; None
            if nothing was.
        values: figure of every objective and of all that is limited, by name; empty without an
            EDP, and in records of versions that had no other figures than EDP, area and TDP.
        evaluations: fusion plans that were evaluated for each network.
        effort: times the software search that other designs got; above 1 for a design that an
            earlier trial measured and that was searched again.
        reason: the rule that made it infeasible.
        crash: of its last round.
        networks: best software by network.
        curve: best EDP against evaluations.
        trade_offs: other software of the design, if the study searches it.
        outcome: which of :attr:`outcomes` this is: 0 for the software of least EDP.

    Raises:
        ValueError: an unknown state, or an EDP that is not positive and finite.
    """

    number: int
    batch: int
    state: TrialState
    rounds: int
    point: "Point | None"
    hardware: str
    area_mm2: float
    tdp_w: float
    edp_js: float | None
    values: Mapping[str, float] = field(default_factory=dict)
    evaluations: int = 0
    reason: Infeasible | None = None
    crash: Crash | None = None
    networks: Mapping[str, NetworkResult] = field(default_factory=dict)
    curve: Curve = NOTHING_FOUND
    effort: int = 1
    trade_offs: tuple[TradeOff, ...] = ()
    outcome: int = 0

    def __post_init__(self) -> None:
        if self.state not in get_args(TrialState):
            raise ValueError(
                f"state is {self.state!r}, must be one of {', '.join(get_args(TrialState))}"
            )
        if self.edp_js is not None and not (isfinite(self.edp_js) and self.edp_js > 0):
            raise ValueError(f"edp_js is {self.edp_js}, must be positive and finite, or None")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        return {
            "trial": self.number,
            "batch": self.batch,
            "state": self.state,
            "rounds": self.rounds,
            "point": self.point,
            "hardware": self.hardware,
            "area_mm2": self.area_mm2,
            "tdp_w": self.tdp_w,
            "edp_js": self.edp_js,
            "values": dict(self.values),
            "evaluations": self.evaluations,
            # records of older versions, and of designs that are searched once, do without
            **({"effort": self.effort} if self.effort > 1 else {}),
            "reason": self.reason.to_dict() if self.reason else None,
            "crash": self.crash.to_dict() if self.crash else None,
            "networks": {name: found.to_dict() for name, found in self.networks.items()},
            "curve": {
                "evaluations": list(self.curve.evaluations),
                "edp_js": [edp if isfinite(edp) else None for edp in self.curve.edp],
            },
        } | ({"trade_offs": [o.to_dict() for o in self.trade_offs]} if self.trade_offs else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Trial":
        """Return the trial of a record, also of an older version's.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        fields = dict(data)
        _check_types(fields)
        curve, reason, crash = fields.pop("curve"), fields.pop("reason"), fields.pop("crash")
        edp = tuple(inf if value is None else value for value in curve["edp_js"])
        return cls(
            number=fields.pop("trial"),
            reason=Infeasible(**reason) if reason else None,
            crash=Crash.from_dict(crash) if crash else None,
            networks=_networks(fields.pop("networks")),
            curve=Curve(tuple(curve["evaluations"]), edp),
            trade_offs=tuple(map(_trade_off, fields.pop("trade_offs", ()))),
            **fields,
        )

    @property
    def label(self) -> str:
        """Its number, or the name of the preset; behind a dot which of its outcomes it is."""
        name = self.hardware if self.number == BASELINE else str(self.number)
        return f"{name}.{self.outcome}" if self.outcome else name

    @property
    def outcomes(self) -> "tuple[Trial, ...]":
        """The trial with the software of least EDP, then with each other one that was found."""
        if not self.trade_offs:
            return (self,)
        first = replace(self, trade_offs=())
        others = (
            replace(first, edp_js=o.edp_js, values=o.values, networks=o.networks, outcome=at)
            for at, o in enumerate(self.trade_offs, 1)
        )
        return (first, *others)

    @property
    def mappings_proven(self) -> tuple[int, int]:
        """Recorded mappings that are proven to be the best, and how many all are.

        Those of its plans and of the plans that fuse nothing.
        """
        networks = self.networks.values()
        proven = sum(gap == 0 for best in networks for gap in (best.gaps or {}).values())
        return proven, sum(len(best.mappings) for best in networks)

    @property
    def plan_gap_percent(self) -> float | None:
        """By how much its EDP is above the least that any mappings give the same plans, at most.

        Of several networks the largest. None if nothing is known of some mapping, or if an older
        version kept no breakdown.
        """
        gaps = [
            found["gaps"]["plan_percent"] if (found := best.costs()) else None
            for best in self.networks.values()
        ]
        known = [gap for gap in gaps if gap is not None]
        return max(known) if known and len(known) == len(gaps) else None

    def figure(self, objective: Objective) -> float:
        """Return a figure of a trial that has an EDP."""
        always = {EDP.name: self.edp_js, AREA.name: self.area_mm2, TDP.name: self.tdp_w}
        figure = (always | dict(self.values))[objective.name]
        if figure is None:
            raise ValueError(f"trial {self.number} has no EDP")
        return figure

    def costs(self, objective_set: ObjectiveSet) -> tuple[float, ...]:
        """Return the cost of each objective of a trial that has an EDP."""
        return tuple(
            objective.figure(self.figure(objective)) for objective in objective_set.objectives
        )

    def excess(self, objective_set: ObjectiveSet) -> tuple[float, ...]:
        """Return ln(cost / limit) for each limit, of a trial that has an EDP."""
        return tuple(
            limit.excess(limit.objective.figure(self.figure(limit.objective)))
            for limit in objective_set.limits
        )

    def keeps_limits(self, objective_set: ObjectiveSet) -> bool:
        """Whether it has an EDP and keeps every limit, also what is known of it before."""
        if self.edp_js is None:
            return False
        known = (
            limit.excess(limit.objective.figure(self.figure(limit.objective)))
            for limit in objective_set.known_limits
        )
        return all(excess <= 0 for excess in (*known, *self.excess(objective_set)))

    def observation(self, objective_set: ObjectiveSet) -> Observation:
        """Return what the optimizer learns from it.

        Raises:
            ValueError: it is a preset, which is no point of a space.
        """
        if self.point is None:
            raise ValueError(f"{self.hardware} is a preset, so no optimizer proposed it")
        failure = self.reason.reason if self.reason else None
        if self.edp_js is None:
            return Observation(self.point, None, self.evaluations, failure)
        costs, excess = self.costs(objective_set), self.excess(objective_set)
        kept = [o.costs(objective_set) for o in self.outcomes[1:] if o.keeps_limits(objective_set)]
        return Observation(self.point, costs, self.evaluations, failure, excess, tuple(kept))


def _trade_off(data: Mapping[str, Any]) -> TradeOff:
    return TradeOff(data["edp_js"], data["values"], _networks(data["networks"]))


def _networks(data: Mapping[str, Any]) -> dict[str, NetworkResult]:
    return {name: NetworkResult.from_dict(found) for name, found in data.items()}


def _check_types(fields: Mapping[str, Any]) -> None:
    """Refuse values of a record that no trial has.

    Raises:
        TypeError: there is one.
    """
    for name, known in _TYPES.items():
        if name in fields and not isinstance(fields[name], known):
            raise TypeError(f"{name} is {fields[name]!r}")
    figures = [fields.get("area_mm2"), fields.get("tdp_w"), *fields.get("values", {}).values()]
    scalars = (fields["point"] or {}).values()
    if not all(isinstance(value, int | float) for value in figures):
        raise TypeError("a figure is no number")
    if not all(isinstance(value, int | float | str) for value in scalars):
        raise TypeError("a parameter of the design has no value")


#: what values of a record are; figures are numbers
_TYPES: Final[dict[str, type | UnionType]] = {
    **dict.fromkeys(("trial", "batch", "rounds", "evaluations"), int),
    **dict.fromkeys(("state", "hardware"), str),
    **dict.fromkeys(("networks", "values", "curve"), dict),
    **dict.fromkeys(("point", "reason", "crash"), dict | None),
    "trade_offs": list,
    "edp_js": int | float | None,
}


@dataclass(frozen=True, slots=True)
class HeldOutTrial:
    """How a design of the front does on the held-out networks; a line of ``validation.jsonl``.

    Attributes:
        number: of the design's trial; :data:`BASELINE` for the preset.
        hardware: name of the design.
        evaluations: of each network.
        values: figures over all held-out networks, by name; empty if a network is missing.
        missing: why a network has no software: a crash, a broken rule, or None if no plan that
            can be evaluated was found.
        networks: best software by network.
    """

    number: int
    hardware: str
    evaluations: int
    values: Mapping[str, float]
    missing: Mapping[str, Crash | Infeasible | None]
    networks: Mapping[str, NetworkResult]

    @property
    def label(self) -> str:
        """Number of the trial, or the name of the preset."""
        return self.hardware if self.number == BASELINE else str(self.number)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        return {
            "trial": self.number,
            "hardware": self.hardware,
            "evaluations": self.evaluations,
            "values": dict(self.values),
            "missing": {
                name: {"crash" if isinstance(why, Crash) else "reason": why and why.to_dict()}
                for name, why in self.missing.items()
            },
            "networks": {name: found.to_dict() for name, found in self.networks.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "HeldOutTrial":
        """Return what :meth:`to_dict` was called on."""
        return cls(
            data["trial"],
            data["hardware"],
            data["evaluations"],
            data["values"],
            {name: _missing(why) for name, why in data["missing"].items()},
            _networks(data["networks"]),
        )


def _missing(why: Mapping[str, Any]) -> Crash | Infeasible | None:
    if "crash" in why:
        return Crash.from_dict(why["crash"])
    return Infeasible(**why["reason"]) if why["reason"] else None
