"""Published ways to co-design, as compositions of the parts that a study file chooses among.

A method replaces optimizer, halving and fusion search of a study file, and nothing else: space,
networks, objectives, mapping search, trials and seeds stay, so that methods compare.

=================  =========  ========  ========  ================================================
name               optimizer  halving   fusion    of
=================  =========  ========  ========  ================================================
``casco``          mobo, uul  msh, edp  casco     CASCO
``hasco``          mobo       none      none      HASCO (Xiao et al., ISCA 2021), without the noise
                                                  that its published code adds to results
``hasco_optimus``  mobo       none      optimus   CASCO's second baseline: HASCO, Optimus' planner
=================  =========  ========  ========  ================================================

Without halving each trial gets what a trial of ``casco`` gets on the average, so that all methods
may price the same number of plans.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from archloom.space import did_you_mean

from ..errors import UserError
from .software import Choice, complete
from .study_config import StudyConfig, with_budgets

if TYPE_CHECKING:
    from archloom.search.budget import BudgetAllocator

#: the planner whose plans the others' budgets are counted in
BRED: Final = "casco"

#: by name: the high-fidelity filter of mobo, whether batches are halved, the fusion search
METHODS: Final[Mapping[str, tuple[str, bool, str]]] = {
    "casco": ("uul", True, BRED),
    "hasco": ("none", False, "none"),
    "hasco_optimus": ("none", False, "optimus"),
}


def with_method(config: StudyConfig, name: str | None) -> StudyConfig:
    """Return a study that searches as the method does; its name ends in the method's.

    Without a name it is the study as it is. Defaults that are written out in ``config`` already are
    taken for what its author wants.

    Raises:
        UserError: an unknown method, or one that the study's mode does not take.
    """
    from archloom.search import BUDGET_ALLOCATORS, HARDWARE_OPTIMIZERS

    if name is None:
        return config
    if name not in METHODS:
        raise UserError(f"method {name!r} is unknown; {did_you_mean(name, METHODS)}")
    update_filter, halved, fusion = METHODS[name]
    if halved and config.mode == "exact":
        raise UserError(f"method {name} halves batches, and mode exact runs every trial to its end")
    given = config.optimizer.options if config.optimizer.name == "mobo" else {}
    optimizer = Choice("mobo", given | {"update_filter": update_filter})
    halving = config.halving
    if halved:
        shared = halving.options if halving.name == "msh" else {}
        halving = Choice("msh", shared | {"rank": "edp"})
    else:
        options = with_budgets(halving, BRED, config.software.budget).options
        allocator = BUDGET_ALLOCATORS[halving.name](**options)
        share = evaluations_per_trial(allocator, config.batch_size)
        halving = Choice("none", {"evaluations": share})
    changes: dict[str, Any] = {
        "name": f"{config.name}-{name}",
        "optimizer": complete(optimizer, HARDWARE_OPTIMIZERS),
        "halving": with_budgets(halving, fusion, config.software.budget),
        "software": replace(config.software, fusion=fusion, fusion_options={}),
    }
    return replace(config, **changes)


def evaluations_per_trial(allocator: "BudgetAllocator", batch: int) -> int:
    """Return the plans per network that a trial of a batch gets on the average."""
    from archloom.search.budget import Curve, Standing

    total, spent, alive = 0, 0, list(range(batch))
    for round_index in range(allocator.rounds):
        budget = allocator.budget(round_index)
        total += len(alive) * budget
        spent += budget
        # who goes on depends on results, how many do not
        alike = {i: Standing(Curve((spent,), (1.0,)), (1.0,), (1.0,)) for i in alive}
        alive = allocator.survivors(alike, round_index, ())
    return ceil(total / batch)
