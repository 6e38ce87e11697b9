"""What ``mode: exact`` asks of other keys of a study file."""

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
