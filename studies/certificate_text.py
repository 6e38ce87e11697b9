"""What a certificate says, for people."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..search.certificate import Certificate

#: What a measured cost is: that of the software that was found.
MEASURED = "Costs are those of the best software that was found with this study's budget."


def certificate_text(proof: "Certificate") -> str:
    """Say what lower bounds prove of a front, and what they do not."""
    space = f"{proof.feasible:,} feasible designs ({proof.points:,} points)"
    if proof.boxes is not None:
        space = f"{proof.feasible:,} designs that may be feasible ({proof.points:,} points)"
    if proof.proven:
        return (
            f"Front proven: of {space} {proof.measured:,} were run to the end, and the lower "
            f"bounds of the other {proof.excluded:,} are dominated: none of them can add to the "
            f"front. {MEASURED}"
        )
    boxes = f", in {proof.boxes:,} boxes" if proof.boxes else ""
    return (
        f"Certified: at least {100 * proof.share:.1f}% of the hypervolume that there can be. Of "
        f"{space} {proof.measured:,} were run to the end, {proof.excluded:,} cannot add to the "
        f"front by their lower bounds, {proof.open:,} still may{boxes}: {proof.gap:.4g} "
        f"{_unit(len(proof.reference))} at the most. {MEASURED}"
    )


def _unit(objectives: int) -> str:
    """Return the unit of a hypervolume between base-10 logarithms."""
    return "decades" if objectives == 1 else f"decades^{objectives}"
