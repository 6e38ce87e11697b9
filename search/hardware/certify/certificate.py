"""Certificate of a front: what lower bounds prove of it, at the study's budget and at any other.

A *measured* cost is that of the best software which the study's search found with its budget. A
*lower bound* holds for every plan and mapping of the search's space of software: for the best one,
for the measured one, and for any that a larger budget may find. So the cost of a measured design is
an interval, from its bound to what was measured. F is the set of measured costs that no other one
dominates; "dominated" includes equal costs throughout.

**At this budget.** *If F dominates the bounds of every design that was not measured, then none of
them, measured with this budget or with any other, can dominate a member of F or join it.* For
whatever it would cost is no less than its bound. Costs of measured designs are taken as they are.

**For any budget.** Let U be all designs, measured or not, whose bounds F does not dominate.
*Whatever software is found for whichever designs, the front changes only by designs of U; and each
design of U changes it if its software reaches its bound.*

Proof. Software that was found once can be used again, so every cost in F stays attainable: costs
that are found later are added to those of before. Let v be any cost of a design d with the bound b,
so b <= v. If d is not in U, some f in F has f <= b <= v, so v adds nothing to F. If d is in U and
v = b, no f in F has f <= v, so v joins. QED.

Members of F are not left out. A member with cost c and bound b is outside U exactly if c = b: some
f in F has f <= b <= c, and as no other member dominates c, f equals c. So a member is *settled* if
its cost has reached its bound, and no sooner. The front is *proven* if U is empty: then all members
are settled, and F is the front of the least costs of all designs. Adding the bounds of U to F gives
the largest possible hypervolume: every attainable cost is dominated by a row of F or by a bound.

Three kinds of results have no cost to begin with. A design on which no software can run, by a rule
that depends on no search, is never in U; nor is one whose bound is beyond a limit. A design whose
*measured* cost is beyond a limit is in U if its bound is not dominated: better software may keep
the limit. A design whose search was cut short (stopped by halving, crashed, ended by a limit of
time) is not measured: it is open in both statements until its bounds are dominated.

A bound can also come from the measurement itself: where the search of a design proves that no
software of it costs less than some figure, that figure is a bound.
"""

from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from archloom.evaluators import Floats

    from .intervals import Undecided

#: What a certificate counts, and what those of older versions do not have.
_COUNTS: Final = (
    "points", "feasible", "measured", "open", "boxes", "undecided", "members", "settled_members",
    "cuts", "plans",
)  # fmt: skip
_AT_THE_END: Final = ("cuts", "share_uncut", "plans", "share_any_plan")
_LATER: Final = (
    "boxes", "undecided", "members", "settled_members", "ceiling_any_budget", *_AT_THE_END,
)  # fmt: skip

#: The corner of a hypervolume lies this far beyond the worst cost or bound that it counts.
_REFERENCE_FACTOR: Final = 1.1


@dataclass(frozen=True, slots=True)
class LastEffort:
    """What a certificate may take once no trials follow.

    Attributes:
        cuts: boxes that are cut once more, at the most.
        plans: boxes and designs of which all plans of the planner's space are bounded, at the most.
    """

    cuts: int = 0
    plans: int = 0

    @property
    def steps(self) -> int:
        """Steps of the work, those of measured designs aside."""
        return self.cuts + self.plans


@dataclass(frozen=True, slots=True)
class Certificate:
    """How much a front could still grow.

    Attributes:
        points: of the space.
        feasible: designs that keep the template's rules, the caps, and, by their bounds, the
            limits; no other one can be on the front.
        measured: feasible designs whose result more search of the same budget cannot change.
        open: feasible designs, neither measured nor excluded by their bounds.
        volume: hypervolume of the front, in decades to the power of the objectives.
        ceiling: that of the front and the bounds of all open designs together.
        reference: corner of all hypervolumes, one cost for each objective.
        boxes: in which the open designs are, if the space is covered by boxes; else None. Of
            boxes ``feasible`` and ``open`` count all points that are not known to be infeasible.
        undecided: measured designs that may change the front with a larger budget; members of the
            front included. This and what follows is None in certificates of older versions.
        members: designs on the front.
        settled_members: of them, those whose costs are their lower bounds.
        ceiling_any_budget: hypervolume of the front and the bounds of all designs that are open or
            undecided.
        cuts: boxes that were cut once more when the study was over; None if none was to be.
        share_uncut: what :attr:`share` would be without them.
        plans: boxes and designs of which all plans of the planner's space were bounded when the
            study was over: their bounds hold for these plans alone; None if none was to be.
        share_any_plan: what :attr:`share` would be with bounds of any plans.

    Raises:
        ValueError: a count that is no whole number from 0 on, or a hypervolume that is none.
    """

    points: int
    feasible: int
    measured: int
    open: int
    volume: float
    ceiling: float
    reference: tuple[float, ...]
    boxes: int | None = None
    undecided: int | None = None
    members: int | None = None
    settled_members: int | None = None
    ceiling_any_budget: float | None = None
    cuts: int | None = None
    share_uncut: float | None = None
    plans: int | None = None
    share_any_plan: float | None = None

    def __post_init__(self) -> None:
        for name in _COUNTS:
            count = getattr(self, name)
            if count is None and name in _LATER:
                continue
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise ValueError(f"{name} is {count!r}, must be a whole number of at least 0")
        for name in ("volume", "ceiling", "ceiling_any_budget", "share_uncut", "share_any_plan"):
            volume = getattr(self, name)
            if volume is None and name in _LATER:
                continue
            if not (isinstance(volume, int | float) and 0 <= volume < inf):
                raise ValueError(f"{name} is {volume!r}, must be finite and at least 0")

    @property
    def proven_at_this_budget(self) -> bool:
        """Whether no design that was not measured can add to the front."""
        return self.open == 0

    @property
    def proven(self) -> bool:
        """Whether no design can add to the front, whatever the budget; False if not known."""
        return self.open == 0 and self.undecided == 0

    @property
    def excluded(self) -> int:
        """Feasible designs that were not measured, and cannot add to the front."""
        return self.feasible - self.measured - self.open

    @property
    def gap(self) -> float:
        """Hypervolume that designs which were not measured could add, at the most."""
        return self.ceiling - self.volume

    @property
    def share(self) -> float:
        """Hypervolume of the front as a share of the most that is possible at this budget, at the
        least."""
        return _share(self.volume, self.ceiling)

    @property
    def share_any_budget(self) -> float | None:
        """The same of the most that is possible with any budget; None if not known."""
        most = self.ceiling_any_budget
        return None if most is None else _share(self.volume, most)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        said = asdict(self) | {"reference": list(self.reference)}
        return {
            key: value for key, value in said.items() if value is not None or key not in _AT_THE_END
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Certificate":
        """Build a certificate from :meth:`to_dict`, also of a version without the last fields."""
        return cls(**data | {"reference": tuple(data["reference"])})


def _share(volume: float, ceiling: float) -> float:
    return volume / ceiling if ceiling else 1.0


def front_certificate(
    points: int,
    feasible: int,
    measured: int,
    front: "Floats",
    bounds: "Floats",
    undecided: "Undecided",
    in_boxes: tuple[int, int] | None = None,
) -> Certificate:
    """Return the certificate of a front.

    Args:
        points, feasible, measured: counts, see :class:`Certificate`.
        front: [k, m] costs of its members.
        bounds: [r, m] lower bounds of the open designs.
        undecided: what is known of the measured designs.
        in_boxes: open designs and the boxes that they are in, where bounds are of boxes.
    """
    import numpy as np

    from ...pareto import hypervolume

    open_, boxes = in_boxes or (len(bounds), None)
    rows = np.vstack([front, bounds])
    every = np.vstack([rows, undecided.bounds])
    corner = tuple((_REFERENCE_FACTOR * every.max(axis=0)).tolist()) if len(every) else ()
    volume = hypervolume(front, corner) if len(front) else 0.0
    ceiling = max(hypervolume(rows, corner), volume) if len(bounds) else volume
    highest = max(hypervolume(every, corner), ceiling) if len(undecided.bounds) else ceiling
    return Certificate(
        points=points,
        feasible=feasible,
        measured=measured,
        open=open_,
        volume=volume,
        ceiling=ceiling,
        reference=corner,
        boxes=boxes,
        undecided=len(undecided.bounds),
        members=undecided.members,
        settled_members=undecided.settled_members,
        ceiling_any_budget=highest,
    )


#: What a measured cost is: that of the software that was found.
_MEASURED = "Costs are those of the best software found with this study's search budget."

#: What certificates of older versions say of other budgets.
_UNKNOWN = (
    "For any budget: not known, because this certificate is of an older version; 'archloom resume' "
    "computes it."
)


def certificate_text(proof: "Certificate") -> str:
    """Say what lower bounds prove of a front: at this budget, and on a second line at any."""
    return f"{_at_this_budget(proof)}\n{_at_any_budget(proof)}"


def _at_this_budget(proof: "Certificate") -> str:
    space = f"{proof.feasible:,} feasible designs (of {proof.points:,} in the space)"
    if proof.boxes is not None:
        space = f"{proof.feasible:,} possibly feasible designs (of {proof.points:,} in the space)"
    if proof.proven_at_this_budget:
        return (
            f"Front proven at this budget: of {space}, {proof.measured:,} were evaluated with the "
            f"full budget, and the lower bounds of the other {proof.excluded:,} are dominated, so "
            f"none of them can join the front.{_of_plans(proof)} {_MEASURED}"
        )
    boxes = f", in {proof.boxes:,} boxes" if proof.boxes else ""
    plans = _of_plans(proof)
    cut_again = (
        f" Without the {proof.cuts:,} cuts at the end it would be {100 * proof.share_uncut:.1f}%."
        if proof.cuts and proof.share_uncut is not None
        else ""
    )
    return (
        f"Certified at this budget: the front has at least {100 * proof.share:.1f}% of the largest "
        f"possible hypervolume (reference point: {_REFERENCE_FACTOR:g} x the worst cost or lower "
        f"bound of each objective). Of {space}, {proof.measured:,} were evaluated with the full "
        f"budget, {proof.excluded:,} cannot join the front because their lower bounds are "
        f"dominated, and {proof.open:,}{boxes} still could.{cut_again}{plans} {_MEASURED}"
    )


def _of_plans(proof: "Certificate") -> str:
    """Say which bounds hold for plans of the planner's space alone."""
    if not proof.plans or proof.share_any_plan is None:
        return ""
    return (
        f" Bounds of {proof.plans:,} boxes and designs hold for the plans of the search space of "
        "the planner joint (docs/explanation/joint.md); what its local search finds outside of it "
        "may cost less. With bounds of all plans whatsoever, "
        f"{100 * proof.share_any_plan:.1f}% would be certified."
    )


def _at_any_budget(proof: "Certificate") -> str:
    share = proof.share_any_budget
    if proof.undecided is None or share is None:
        return _UNKNOWN
    if proof.proven:
        return (
            "Front proven for any budget: more software search cannot change the front, because "
            f"the costs of all {proof.members:,} designs on it equal their lower bounds, and the "
            "lower bounds of all other designs are dominated."
        )
    return (
        f"For any budget: the front has at least {100 * share:.1f}% of the largest possible "
        f"hypervolume. With more software search, {proof.undecided:,} of the {proof.measured:,} "
        "evaluated designs could still change the front, because their lower bounds are not "
        f"dominated. Of the {proof.members:,} designs on the front, {proof.settled_members:,} have "
        "costs equal to their lower bounds."
    )
