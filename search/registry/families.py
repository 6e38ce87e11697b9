"""Families of interchangeable parts of a search, by the names that study files use.

There are five: hardware optimizers, budget allocators, fusion searches, mapping searches and
weaving schedulers. Each part is an entry point: a name, and ``module:attribute`` of its factory.
Packages register theirs in the family's group (docs/how_to/extending.md). The built-in ones are
written down here in the same form, but are not taken from the metadata of the installed package:
that of an editable installation is as old as the installation, so that a part which was added since
would be missing. And reading it takes 30 ms, which a study of built-in parts is spared.

A list of names imports nothing; a factory is imported when it is asked for.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_type_hints

from archloom.space import did_you_mean

from .source_parameters import source_parameters

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from archloom.search.budget import AllocatorFactory
    from archloom.search.fusion import FusionFactory
    from archloom.search.hardware import OptimizerFactory
    from archloom.search.mapping import MappingFactory
    from archloom.search.weaving import WeaverFactory

#: the package that names of built-in parts are relative to
_SEARCH: Final = "archloom.search"

F = TypeVar("F", bound=Callable[..., Any])

#: values of a study file that had another name once: by key, the name today of each old one; both
#: mean the same wherever a value is read
RENAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "fusion": {
        "genetic": "casco",
        "genetic_full": "casco_tilings",
        "dynamic": "optimus",
        "tiled": "deepfrack",
        "integer": "fast",
        "integer_printed": "fast_printed",
    },
    "factors": {"clipped": "imperfect"},
}


def renamed(key: str, value: str) -> str:
    """Return today's name of a value of ``software.<key>``; most have it already."""
    return RENAMED.get(key, {}).get(value, value)


def first_name(key: str, value: str) -> str:
    """Return the oldest name of a value, which identities of studies are made from."""
    return next((old for old, new in RENAMED.get(key, {}).items() if new == value), value)


class Family(Collection[str], Generic[F]):
    """The parts of one kind: a collection of names that gives the factory of each.

    Args:
        kind: the word for one of them.
        group: entry points of this group are parts of the family.
        given: how many arguments a factory always gets, before its options.
        built_in: ``module:attribute`` by name; a module's name is relative to ``archloom.search``.
        key: of ``software`` in study files, where it has one.
    """

    def __init__(
        self, kind: str, group: str, given: int, built_in: Mapping[str, str], key: str = ""
    ) -> None:
        self.kind = kind
        self.group = group
        self._given = given
        self._key = key
        self._built_in = built_in

    @cached_property
    def built_in(self) -> "dict[str, EntryPoint]":
        """Parts that come with archloom, by today's names."""
        from importlib.metadata import EntryPoint

        return {
            name: EntryPoint(name, f"{_SEARCH}.{value}", self.group)
            for name, value in self._built_in.items()
        }

    def __iter__(self) -> Iterator[str]:
        """Yield today's names, sorted."""
        return iter(sorted({*self._built_in, *(entry.name for entry in _installed(self.group))}))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def comes_with_archloom(self, name: object) -> bool:
        """Whether a part is a built-in one, by any of its names."""
        return self.today(name) in self._built_in

    def __contains__(self, name: object) -> bool:
        return self.comes_with_archloom(name) or name in list(self)

    def __getitem__(self, name: str) -> F:
        """Return the factory of that name.

        Raises:
            ValueError: there is none, with the nearest name; several packages have one; or it
                cannot be imported.
        """
        name = self.today(name)
        if name in self._built_in:
            # by itself: to import what loads entry points takes as long as reading a study file
            module, attribute = self._built_in[name].split(":")
            own: F = getattr(import_module(f".{module}", _SEARCH), attribute)
            return own
        found = [entry for entry in _installed(self.group) if entry.name == name]
        if not found:
            raise ValueError(f"unknown {self.kind} {name!r}; {did_you_mean(name, list(self))}")
        if len({entry.value for entry in found}) > 1:
            values = " and ".join(sorted(entry.value for entry in found))
            raise ValueError(f"{self.kind} {name!r} is registered by several packages: {values}")
        try:
            factory: F = found[0].load()
        except (ImportError, AttributeError) as error:
            where = found[0].value
            raise ValueError(f"{self.kind} {name!r} ({where}) cannot be loaded: {error}") from error
        return factory

    def today(self, name: Any) -> Any:
        """Return today's name of a part that may have had another one."""
        return renamed(self._key, name) if isinstance(name, str) else name

    def old_names(self, name: str) -> list[str]:
        """Return the names that a part had before."""
        return [old for old, new in RENAMED.get(self._key, {}).items() if new == name]

    def options(self, name: str) -> dict[str, inspect.Parameter]:
        """Return the options of a part: what its factory takes beyond what it always gets.

        Raises:
            ValueError: as of looking it up.
        """
        parameters = self._parameters(name)
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return {p.name: p for p in parameters if p.kind not in variadic}

    def _parameters(self, name: str) -> Sequence[inspect.Parameter]:
        """Return a factory's parameters beyond those that it always gets, without its import if
        that can be."""
        built_in = self._built_in.get(self.today(name))
        if built_in:
            module, attribute = built_in.split(":")
            plain = source_parameters(f"{_SEARCH}.{module}", attribute, self._given)
            if plain is not None:
                return plain
        return list(inspect.signature(self[name]).parameters.values())[self._given :]

    def option_types(self, name: str, options: Collection[str]) -> dict[str, Any]:
        """Return the types of some options of a part, of those that say one.

        Names in its other annotations may be imported for type checkers alone.

        Raises:
            ValueError: as of looking it up, or the type of an option has no meaning at run time.
        """
        known = {p.name: p.annotation for p in self._parameters(name) if p.name in options}
        if not any(isinstance(annotation, str) for annotation in known.values()):
            empty = inspect.Parameter.empty
            return {k: annotation for k, annotation in known.items() if annotation is not empty}
        factory: Any = self[name]
        while hasattr(factory, "func"):
            factory = factory.func
        target = factory.__init__ if inspect.isclass(factory) else factory
        wanted = _Annotated(
            {k: t for k, t in getattr(target, "__annotations__", {}).items() if k in options},
            getattr(target, "__globals__", {}),
        )
        try:
            return get_type_hints(wanted)
        except NameError as error:
            raise ValueError(f"the type of an option of {name!r} cannot be read: {error}") from None


class _Annotated:
    """Some annotations of a function, with the names that they may use."""

    def __init__(self, annotations: dict[str, Any], names: dict[str, Any]) -> None:
        self.__annotations__ = annotations
        self.__globals__ = names


@cache
def _installed(group: str) -> "tuple[EntryPoint, ...]":
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


HARDWARE_OPTIMIZERS: Final["Family[OptimizerFactory]"] = Family(
    "hardware optimizer",
    "archloom.hardware_optimizers",
    2,
    {
        "gp": "hardware.optuna_samplers:GpSearch",
        "greedy_bound": "hardware.bayesian.greedy_bound:GreedyBound",
        "grid": "hardware.quasi_random:GridSearch",
        "lcs": "hardware.lcs:LinearCombinationSwarm",
        "mobo": "hardware.bayesian.mobo:Mobo",
        "nsga2": "hardware.nsga2:Nsga2",
        "qnehvi": "hardware.bayesian.black_box:BlackBoxNehvi",
        "random": "hardware.random_search:RandomSearch",
        "sobol": "hardware.quasi_random:SobolSearch",
        "tpe": "hardware.optuna_samplers:TpeSearch",
    },
)

BUDGET_ALLOCATORS: Final["Family[AllocatorFactory]"] = Family(
    "budget allocator",
    "archloom.budget_allocators",
    0,
    {
        "brackets": "budget.hyperband:HyperbandBrackets",
        "msh": "budget.successive_halving:SuccessiveHalving",
        "none": "budget.successive_halving:NoHalving",
        "sh": "budget.successive_halving:plain_halving",
    },
)

FUSION_SEARCHES: Final["Family[FusionFactory]"] = Family(
    "fusion search",
    "archloom.fusion_searches",
    1,
    {
        "casco": "fusion.casco.genetic:GeneticPlanner",
        "casco_tilings": "fusion.casco.genetic_tilings:GeneticTilingPlanner",
        "deepfrack": "fusion.deepfrack.planner:DeepFrackPlanner",
        "fast": "fusion.fast.planner:LiveFastPlanner",
        "fast_printed": "fusion.fast.planner:PrintedFastPlanner",
        "joint": "fusion.joint.planner:JointPlanner",
        "none": "fusion.one_shot:LayerByLayer",
        "optimus": "fusion.optimus.planner:OptimusPlanner",
    },
    "fusion",
)

MAPPING_SEARCHES: Final["Family[MappingFactory]"] = Family(
    "mapping search",
    "archloom.mapping_searches",
    0,
    {
        "auto": "mapping.auto:auto_mapping",
        "exact": "mapping.exact.search:ExactMapping",
        "genetic": "mapping.simd.searches:GeneticMapping",
        "local": "mapping.simd.searches:LocalMapping",
        "random": "mapping.random_sampling:RandomMapping",
    },
)

WEAVERS: Final["Family[WeaverFactory]"] = Family(
    "weaving scheduler",
    "archloom.weavers",
    0,
    {
        "ai_mt": "weaving.online:AiMt",
        "beam": "weaving.offline:Beam",
        "compute_only": "weaving.online:compute_only",
        "exact": "weaving.offline:Exact",
        "fair": "weaving.online:Fair",
        "layerweaver": "weaving.online:Layerweaver",
        "memory_only": "weaving.online:memory_only",
        "strings": "weaving.online:Strings",
    },
)
