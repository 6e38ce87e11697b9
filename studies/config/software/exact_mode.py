"""What proofs ask of other keys of a study file: those of ``mode: exact``, and of plans."""

from ..sections import Reading
from .component_choice import Choice


def to_the_end(halving: Choice, beside: Reading) -> Choice:
    """Refuse to stop trials early where their results have to prove something.

    Raises:
        ValueError: halving that stops some.
    """
    if beside.before.get("mode") == "exact" and halving.name != "none":
        raise ValueError(
            f"mode exact evaluates every trial with the full budget, but {halving.name} stops some "
            "early; choose none, or leave halving out"
        )
    return halving


def of_proofs(effort: int, beside: Reading) -> int:
    """Refuse to search designs again where nothing is to be proven.

    Raises:
        ValueError: an effort above 1 in another mode.
    """
    if effort > 1 and beside.before.get("mode") != "exact":
        raise ValueError(
            f"{effort} searches designs again whose costs decide a proof, which only mode exact "
            "gives; set mode: exact, or leave effort out"
        )
    return effort


def of_plans(boxes: int, beside: Reading) -> int:
    """Refuse to bound plans of another planner than ``joint``.

    Raises:
        ValueError: a number above 0 with another planner, or with tenants.
    """
    software = beside.before.get("software")
    fusion = "joint" if software is None else software.fusion
    if boxes and fusion != "joint":
        raise ValueError(
            f"{boxes} asks for bounds of the plans of joint, but the planner is {fusion}; set "
            "software.fusion: joint, or leave certificate_plans out"
        )
    if boxes and beside.before.get("tenants"):
        raise ValueError(
            f"{boxes} asks for bounds of plans on a whole chip, which tenants share; leave "
            "certificate_plans out"
        )
    return boxes
