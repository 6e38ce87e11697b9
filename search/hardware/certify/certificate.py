"""Certificate of a front: what lower bounds prove about the designs that were not measured.

A *measured* cost is that of the best software which the study's search found with its budget. A
lower bound holds for every plan and mapping of the search's space of software, so for the best
one and for the measured one. Therefore: if no unmeasured design has bounds that are undominated,
then no unmeasured design, measured with this budget or with any other, can dominate a member of
the front or join it. What the certificate does not say is that the members' own costs are the
least: a larger budget may lower them.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from archloom.evaluators import Floats

#: The corner of a hypervolume lies this far beyond the worst cost or bound that it counts.
_REFERENCE_FACTOR: Final = 1.1


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
        reference: corner of both, one cost for each objective.
        boxes: in which the open designs are, if the space is covered by boxes; else None. Of
            boxes ``feasible`` and ``open`` count all points that are not known to be infeasible.
    """

    points: int
    feasible: int
    measured: int
    open: int
    volume: float
    ceiling: float
    reference: tuple[float, ...]
    boxes: int | None = None

    @property
    def proven(self) -> bool:
        """Whether no unmeasured design can add to the front."""
        return self.open == 0

    @property
    def excluded(self) -> int:
        """Feasible designs that were not measured, and cannot add to the front."""
        return self.feasible - self.measured - self.open

    @property
    def gap(self) -> float:
        """Hypervolume that any further search could add, at the most."""
        return self.ceiling - self.volume

    @property
    def share(self) -> float:
        """Hypervolume of the front as a share of the most that is possible, at the least."""
        return self.volume / self.ceiling if self.ceiling else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        return asdict(self) | {"reference": list(self.reference)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Certificate":
        """Build a certificate from :meth:`to_dict`."""
        return cls(**data | {"reference": tuple(data["reference"])})


def front_certificate(
    points: int,
    feasible: int,
    measured: int,
    front: "Floats",
    bounds: "Floats",
    in_boxes: tuple[int, int] | None = None,
) -> Certificate:
    """Return the certificate of a front.

    Args:
        points, feasible, measured: counts, see :class:`Certificate`.
        front: [k, m] costs of its members.
        bounds: [r, m] lower bounds of the open designs.
        in_boxes: open designs and the boxes that they are in, where bounds are of boxes.
    """
    import numpy as np

    from ...pareto import hypervolume

    open_, boxes = in_boxes or (len(bounds), None)
    rows = np.vstack([front, bounds])
    corner = tuple((_REFERENCE_FACTOR * rows.max(axis=0)).tolist()) if len(rows) else ()
    volume = hypervolume(front, corner) if len(front) else 0.0
    ceiling = max(hypervolume(rows, corner), volume) if len(bounds) else volume
    return Certificate(points, feasible, measured, open_, volume, ceiling, corner, boxes)


#: What a measured cost is: that of the software that was found.
_MEASURED = "Costs are those of the best software found with this study's search budget."


def certificate_text(proof: "Certificate") -> str:
    """Say what lower bounds prove of a front, and what they do not."""
    space = f"{proof.feasible:,} feasible designs (of {proof.points:,} in the space)"
    if proof.boxes is not None:
        space = f"{proof.feasible:,} possibly feasible designs (of {proof.points:,} in the space)"
    if proof.proven:
        return (
            f"Front proven: of {space}, {proof.measured:,} were evaluated with the full budget, "
            f"and the lower bounds of the other {proof.excluded:,} are dominated, so none of them "
            f"can join the front. {_MEASURED}"
        )
    boxes = f", in {proof.boxes:,} boxes" if proof.boxes else ""
    return (
        f"Certified: the front has at least {100 * proof.share:.1f}% of the largest possible "
        f"hypervolume (reference point: {_REFERENCE_FACTOR:g} x the worst cost or lower bound of "
        f"each objective). Of {space}, {proof.measured:,} were evaluated with the full budget, "
        f"{proof.excluded:,} cannot join the front because their lower bounds are dominated, and "
        f"{proof.open:,}{boxes} still could. {_MEASURED}"
    )
