"""Fusion searches by name: how one is made, what it is able to do, and the budgets that suit it."""

from collections.abc import Iterable, Mapping
from typing import Any

from archloom.evaluators.bounds import Plans
from archloom.search.fusion import Abilities, FusionSearch, PlanEvaluator
from archloom.search.registry import FUSION_SEARCHES
from archloom.space import Infeasible
from archloom.space.fusion import divisors
from archloom.space.hardware import Hardware, fusion_cores
from archloom.space.workload import Network


def fusion_search(
    name: str, evaluator: PlanEvaluator, population: int = 8, options: Mapping[str, Any] = {}
) -> FusionSearch:
    """Return the search of that name; the population is for those that have one."""
    bred = {"population": population} if "population" in FUSION_SEARCHES.options(name) else {}
    return FUSION_SEARCHES[name](evaluator, **bred, **options)


def abilities_of(fusion: str) -> Abilities:
    """Return what the search of that name is able to do."""
    found: Abilities = getattr(FUSION_SEARCHES[fusion], "abilities", Abilities())
    return found


def suited_budgets(fusion: str, budget: str) -> dict[str, int]:
    """Return the budgets of a trial by option of halving, for studies that say nothing of them.

    Units of a ``shared`` budget also pay for better mappings, so that all searches have use for
    many. ``evaluations`` is what a trial gets that wins three rounds.
    """
    first = abilities_of(fusion).first_budget if budget == "plans" else Abilities().first_budget
    return {"first_budget": first, "evaluations": 7 * first}


def nothing_fused(fusion: str, hardware: Hardware) -> str | None:
    """Return why the search of that name can fuse nothing on a hardware; None if it can."""
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return f"nothing can be fused on {hardware.name}: {cores.hint}"
    able = abilities_of(fusion)
    if cores.count == 1 or able.several_cores or able.plans == "layer_by_layer":
        return None
    level = hardware.levels[-2].name
    others = [n for n in FUSION_SEARCHES.built_in if abilities_of(n).several_cores]
    return (
        f"{FUSION_SEARCHES.today(fusion)} does not fuse layers on {hardware.name}: {level} has "
        f"{cores.count} instances, and only {' and '.join(others)} use several instances"
    )


def unable_to_fold(fusion: str, networks: Iterable[Network]) -> str | None:
    """Return why the search of that name cannot plan networks of which one is folded, or None."""
    folded = next((network.name for network in networks if network.folded), None)
    if folded is None or abilities_of(fusion).folds:
        return None
    able = [name for name in FUSION_SEARCHES.built_in if abilities_of(name).folds]
    return (
        f"{FUSION_SEARCHES.today(fusion)} plans single layers, and those of {folded} are folded; "
        f"leave fold out, or choose {', '.join(able[:-1])} or {able[-1]}"
    )


def plans_of(fusion: str) -> Plans:
    """Return the plans that the search of that name may choose, for bounds that hold for them."""
    return abilities_of(fusion).plans


def without_sub_batches(fusion: str) -> str | None:
    """Return why the search of that name plans no sub-batches; None if it does."""
    if "sub_batches" in FUSION_SEARCHES.options(fusion):
        return None
    names = FUSION_SEARCHES.built_in
    able = [name for name in names if "sub_batches" in FUSION_SEARCHES.options(name)]
    return f"{FUSION_SEARCHES.today(fusion)} plans no sub-batches; choose {' or '.join(able)}"


def undivided(options: Mapping[str, Any], networks: Iterable[Network]) -> str | None:
    """Return why a batch cannot be cut as a planner's options ask; None if all can."""
    parts = options.get("sub_batches")
    if not isinstance(parts, int):
        return None
    for network in networks:
        if network.batch % parts:
            known = ", ".join(map(str, divisors(network.batch)))
            return (
                f"sub_batches is {parts}, must divide the batch of {network.name}, "
                f"{network.batch} images: {known}, or auto"
            )
    return None
