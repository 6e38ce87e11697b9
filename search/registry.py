"""Names of hardware optimizers and budget allocators, and how third parties add theirs.

An installed package adds a hardware optimizer with an entry point in the group
``archloom.hardware_optimizers``, and an allocator in ``archloom.budget_allocators``: the name is
what users write in a study file, the object is a factory with the signature of
:data:`OptimizerFactory` or :data:`AllocatorFactory`.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ..space.suggest import did_you_mean

if TYPE_CHECKING:
    from .protocols import BudgetAllocator, HardwareOptimizer

#: ``factory(problem, seed, **options)``
OptimizerFactory: TypeAlias = "Callable[..., HardwareOptimizer]"

#: ``factory(**options)``
AllocatorFactory: TypeAlias = "Callable[..., BudgetAllocator]"

OPTIMIZER_GROUP: Final = "archloom.hardware_optimizers"
ALLOCATOR_GROUP: Final = "archloom.budget_allocators"


def _mobo() -> OptimizerFactory:
    from .mobo import Mobo

    return Mobo


def _random() -> OptimizerFactory:
    from .random_search import RandomSearch

    return RandomSearch


def _sobol() -> OptimizerFactory:
    from .sequences import SequenceSearch, sobol_points

    return partial(SequenceSearch, sequence=sobol_points)


def _grid() -> OptimizerFactory:
    from .sequences import SequenceSearch, grid_points

    return partial(SequenceSearch, sequence=grid_points)


def _greedy_bound() -> OptimizerFactory:
    from .greedy_bound import GreedyBound

    return GreedyBound


def _lcs() -> OptimizerFactory:
    from .swarm import Swarm

    return Swarm


def _nsga2() -> OptimizerFactory:
    from .nsga2 import Nsga2

    return Nsga2


def _tpe() -> OptimizerFactory:
    from .optuna_samplers import OptunaSearch, tpe_sampler

    return partial(OptunaSearch, sampler=tpe_sampler, tries=16)


def _qnehvi() -> OptimizerFactory:
    from .black_box import BlackBoxNehvi

    return BlackBoxNehvi


def _gp() -> OptimizerFactory:
    from .optuna_samplers import OptunaSearch, gp_sampler

    return partial(OptunaSearch, sampler=gp_sampler, tries=1)


def _msh() -> AllocatorFactory:
    from .halving import SuccessiveHalving

    return SuccessiveHalving


def _sh() -> AllocatorFactory:
    return partial(_msh(), auc_share=0.0)


def _brackets() -> AllocatorFactory:
    from .brackets import Brackets

    return Brackets


def _none() -> AllocatorFactory:
    from .halving import NoHalving

    return NoHalving


# A loader each, as an entry point has, so that a list of names imports nothing.
_OPTIMIZERS: Final = {
    "mobo": _mobo,
    "random": _random,
    "sobol": _sobol,
    "grid": _grid,
    "greedy_bound": _greedy_bound,
    "lcs": _lcs,
    "nsga2": _nsga2,
    "tpe": _tpe,
    "gp": _gp,
    "qnehvi": _qnehvi,
}
_ALLOCATORS: Final = {"msh": _msh, "sh": _sh, "brackets": _brackets, "none": _none}

F = TypeVar("F", bound=Callable[..., Any])


def hardware_optimizer_names() -> list[str]:
    """Return the known names of hardware optimizers, sorted."""
    return _names(_OPTIMIZERS, OPTIMIZER_GROUP)


def budget_allocator_names() -> list[str]:
    """Return the known names of budget allocators, sorted."""
    return _names(_ALLOCATORS, ALLOCATOR_GROUP)


def hardware_optimizer(name: str) -> OptimizerFactory:
    """Return the factory called ``name``; raises ValueError, with the nearest, if unknown."""
    return _find(name, _OPTIMIZERS, OPTIMIZER_GROUP, "hardware optimizer")


def budget_allocator(name: str) -> AllocatorFactory:
    """Return the factory called ``name``; raises ValueError, with the nearest, if unknown."""
    return _find(name, _ALLOCATORS, ALLOCATOR_GROUP, "budget allocator")


def option_names(factory: Callable[..., Any]) -> list[str]:
    """Return the options of a factory: what it takes beyond ``problem`` and ``seed``.

    A bound option (the share of ``sh``) is fixed by the name and is no option.
    """
    fixed = set(factory.keywords) if isinstance(factory, partial) else set()
    parameters = inspect.signature(factory).parameters.values()
    named = (p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return [name for name in named if name not in {"problem", "seed", *fixed}]


def _names(built_in: Mapping[str, object], group: str) -> list[str]:
    return sorted({*built_in, *entry_points(group=group).names})


def _find(name: str, built_in: Mapping[str, Callable[[], F]], group: str, kind: str) -> F:
    if name in built_in:
        return built_in[name]()
    for entry in entry_points(group=group, name=name):
        loaded: F = entry.load()
        return loaded
    raise ValueError(_unknown(kind, name, _names(built_in, group)))


def _unknown(kind: str, name: str, valid: list[str]) -> str:
    return f"unknown {kind} {name!r}; {did_you_mean(name, valid)}"
