"""How much a schedule spends on a bound of all plans that its planner can choose."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..errors import UserError

if TYPE_CHECKING:
    from .fusion import FusionEffort

#: steps of the proof unless something else is asked for (ours): half of 62 cases are proven with
#: fewer, and none takes a minute with its plan (docs/validation/fusion_planners.md)
PROOF_STEPS: Final = 4500


def with_proof(effort: "FusionEffort", steps: int | None, option: str) -> "FusionEffort":
    """Return an effort that bounds the planner's space as well.

    Args:
        effort: of the plan.
        steps: at most; None for :data:`PROOF_STEPS`, if the planner can prove anything.
        option: that holds it, for messages.

    Raises:
        UserError: a plan that is given, or a planner that proves nothing.
    """
    # the command line names the steps before anything is to be searched
    from archloom.search import FUSION_SEARCHES
    from archloom.search.software import abilities_of

    fusion = FUSION_SEARCHES.today(effort.settings.fusion)
    able = abilities_of(fusion).proves
    if steps is None:
        return replace(effort, prove=PROOF_STEPS if able and effort.plan is None else 0)
    if steps and effort.plan is not None:
        raise UserError(f"--plan and {option} exclude each other: a planner proves its own plan")
    if steps and not able:
        names = " or ".join(n for n in FUSION_SEARCHES.built_in if abilities_of(n).proves)
        raise UserError(f"{option}: {fusion} proves nothing of its plans; choose planner {names}")
    return replace(effort, prove=steps)
