"""Registered parts: names, old names, options, and parts that other packages add."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from archloom.search.budget.successive_halving import NoHalving, SuccessiveHalving
from archloom.search.fusion.protocol import Abilities
from archloom.search.hardware.bayesian.mobo import Mobo
from archloom.search.hardware.random_search import RandomSearch
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.search.registry import (
    BUDGET_ALLOCATORS,
    FUSION_SEARCHES,
    HARDWARE_OPTIMIZERS,
    MAPPING_SEARCHES,
    RENAMED,
    WEAVERS,
    Family,
    families,
    first_name,
    renamed,
)
from archloom.search.registry.source_parameters import source_parameters
from archloom.search.software.planners import (
    abilities_of,
    fusion_search,
    nothing_fused,
    suited_budgets,
)
from archloom.space.design_space.presets import preset

from ...cases.small_designs import casco_edge, chain, cheap_evaluator

if TYPE_CHECKING:
    from archloom.search.hardware.problem import DesignProblem

FAMILIES: dict[str, Family[Any]] = {
    family.kind: family
    for family in (
        HARDWARE_OPTIMIZERS,
        BUDGET_ALLOCATORS,
        FUSION_SEARCHES,
        MAPPING_SEARCHES,
        WEAVERS,
    )
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_registered_name_gives_a_factory_whose_options_have_types(kind: str) -> None:
    family = FAMILIES[kind]
    assert len(family) == len(set(family)) >= len(family.built_in) > 1
    assert list(family) == sorted(family)
    for name in family:
        assert name in family
        assert callable(family[name])
        options = family.options(name)
        assert set(family.option_types(name, options)) == set(options)
        # a study file may name it and say no more
        assert all(option.default is not option.empty for option in options.values())


def test_built_in_names_give_their_factories() -> None:
    assert HARDWARE_OPTIMIZERS["mobo"] is Mobo
    assert HARDWARE_OPTIMIZERS["random"] is RandomSearch
    assert MAPPING_SEARCHES["local"] is LocalMapping
    assert BUDGET_ALLOCATORS["msh"]() == SuccessiveHalving()
    assert BUDGET_ALLOCATORS["sh"](rounds=2) == SuccessiveHalving(rounds=2, auc_share=0.0)
    assert BUDGET_ALLOCATORS["none"](evaluations=9) == NoHalving(9)


@pytest.mark.parametrize("kind", FAMILIES)
def test_unknown_names_are_answered_with_the_nearest(kind: str) -> None:
    family = FAMILIES[kind]
    near = next(name for name in family if len(name) > 3)
    assert f"{near}x" not in family
    with pytest.raises(ValueError, match=f"unknown {kind} '{near}x'; did you mean .*{near}"):
        family[f"{near}x"]
    with pytest.raises(ValueError, match=f"unknown {kind} 'q-'; known: .*{near}"):
        family["q-"]


def test_options_are_those_that_a_study_may_set() -> None:
    assert list(HARDWARE_OPTIMIZERS.options("mobo")) == [
        "initial",
        "pool",
        "update_filter",
        "filter_batch",
        "acquisition",
        "bounds",
    ]
    assert HARDWARE_OPTIMIZERS.options("random") == {}
    assert list(HARDWARE_OPTIMIZERS.options("tpe")) == ["initial"]
    assert list(BUDGET_ALLOCATORS.options("sh")) == ["rounds", "first_budget", "rank"]
    assert list(FUSION_SEARCHES.options("casco")) == ["population"]
    assert list(FUSION_SEARCHES.options("fast_printed")) == ["sub_batches"]
    assert FUSION_SEARCHES.options("joint") == {}
    assert MAPPING_SEARCHES.options("auto") == {}


def test_options_that_are_read_from_a_source_are_those_of_the_factory() -> None:
    # study files name no weavers
    for family in (family for family in FAMILIES.values() if family is not WEAVERS):
        for name, entry in family.built_in.items():
            found = source_parameters(entry.module, entry.attr)
            assert found is not None, f"{name}: a mistake in its options would wait for its import"
            every = inspect.signature(family[name]).parameters.values()
            # a class without __init__ of its own takes anything, by what inspect says
            known = [p for p in every if p.kind is p.POSITIONAL_OR_KEYWORD]
            assert [(p.name, p.default) for p in found] == [(p.name, p.default) for p in known]
            for one, other in zip(found, known, strict=True):
                if not isinstance(one.annotation, str):
                    assert one.annotation == other.annotation


def test_options_of_parts_that_a_study_often_names_are_known_without_an_import() -> None:
    code = (
        "import sys; from archloom.search import HARDWARE_OPTIMIZERS as h, BUDGET_ALLOCATORS as b;"
        "assert 'pool' in h.options('mobo') and 'rounds' in b.options('msh');"
        "assert h.option_types('mobo', ['initial', 'acquisition'])['initial'] is int;"
        "b['msh'](rounds=2);"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "source",
    [
        "class Part(Base):\n    x: int = 1",
        "from elsewhere import Base\nclass Part(Base):\n    x: int = 1",
        "class Base:\n    def __init__(self, *x): pass\nclass Part(Base):\n    x: int = 1",
        "@dataclass\nclass Part(Base):\n    x: int = 1",
        "@dataclass\nclass Part:\n    x: ClassVar[int] = 1",
        "def Part(x=DEFAULT):\n    pass",
        "def Part(*x):\n    pass",
        "@wrapped\ndef Part(x=1):\n    pass",
        "Part = partial(other, 1)",
    ],
)
def test_sources_that_are_not_plain_are_not_read(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"part_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    assert source_parameters(name, "Part") is None


def test_what_a_source_takes_from_others_is_read_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "sources_of_parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "base.py").write_text(
        'Word = Literal["a", "b"]\n\n\nclass Base(ABC):\n'
        '    def __init__(self, given, word: Word = "a", size: int = 3, other: Other = 1): pass\n'
    )
    (package / "part.py").write_text("from .base import Base\nclass Part(Base[int]): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = source_parameters("sources_of_parts.part", "Part")
    assert found is not None
    assert [p.annotation for p in found[1:]] == [Literal["a", "b"], int, "Other"]
    assert not any(name.startswith("sources_of_parts.") for name in sys.modules)


def test_old_names_mean_what_they_meant() -> None:
    for key, names in RENAMED.items():
        for old, new in names.items():
            assert (renamed(key, old), renamed(key, new)) == (new, new)
            assert (first_name(key, old), first_name(key, new)) == (old, old)
    for old, new in RENAMED["fusion"].items():
        assert old in FUSION_SEARCHES
        assert old not in list(FUSION_SEARCHES)
        assert FUSION_SEARCHES[old] is FUSION_SEARCHES[new]
    # the mapping search of that name is another one
    assert renamed("mapping", "genetic") == "genetic"


def test_a_planner_says_what_it_is_able_to_do() -> None:
    assert [n for n in FUSION_SEARCHES if abilities_of(n).several_cores] == ["casco", "joint"]
    assert {
        n: abilities_of(n).plans for n in FUSION_SEARCHES if abilities_of(n).plans != "any"
    } == {
        "fast_printed": "steady",
        "none": "layer_by_layer",
    }
    assert suited_budgets("joint", "plans") == {"first_budget": 2, "evaluations": 14}
    assert suited_budgets("joint", "shared") == suited_budgets("fast", "plans")
    with pytest.raises(ValueError, match="first_budget is 0"):
        Abilities(first_budget=0)
    assert nothing_fused("joint", preset("tpu_v3")) is None
    assert nothing_fused("none", preset("tpu_v3")) is None
    assert "optimus does not fuse layers on tpu_v3" in (
        nothing_fused("dynamic", preset("tpu_v3")) or ""
    )
    assert "only casco and joint" in (nothing_fused("fast", preset("tpu_v3")) or "")


def test_a_population_is_for_searches_that_breed() -> None:
    price = cheap_evaluator(chain(3), casco_edge(32, pe_x=4, pe_y=4))
    bred = fusion_search("casco", price, 3)
    assert len(bred.advance(bred.start(0), 12).population) == 3
    fusion_search("none", price, 3)


class Strange:
    """An optimizer whose first arguments have types for type checkers only, as plug-ins may."""

    def __init__(
        self, problem: "DesignProblem", seed: int, width: int, mode: Literal["a", "b"] = "a"
    ) -> None:
        self.made = problem, seed, width, mode


def untyped(problem, seed, depth: "Missing" = 1, *rest, free=2, **more):  # type: ignore[no-untyped-def]  # noqa: F821
    """An optimizer whose option has a type that nobody knows."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points of other packages; tests append theirs."""
    added: list[EntryPoint] = []

    def entry_points(**query: str) -> EntryPoints:
        return EntryPoints(added).select(**query)

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    families._installed.cache_clear()
    yield added
    families._installed.cache_clear()


def test_an_installed_package_can_add_a_part(installed: list[EntryPoint]) -> None:
    for kind, family in FAMILIES.items():
        installed.append(EntryPoint(f"my {kind}", f"{__name__}:Strange", family.group))
    for kind, family in FAMILIES.items():
        assert family[f"my {kind}"] is Strange
        assert f"my {kind}" in family
        assert set(family) == {*family.built_in, f"my {kind}"}


def test_options_of_other_packages_are_found(installed: list[EntryPoint]) -> None:
    group = HARDWARE_OPTIMIZERS.group
    installed += [
        EntryPoint("strange", f"{__name__}:Strange", group),
        EntryPoint("untyped", f"{__name__}:untyped", group),
    ]
    assert list(HARDWARE_OPTIMIZERS.options("strange")) == ["width", "mode"]
    found = HARDWARE_OPTIMIZERS.option_types("strange", ["width", "mode", "unknown"])
    assert found == {"width": int, "mode": Literal["a", "b"]}
    assert list(HARDWARE_OPTIMIZERS.options("untyped")) == ["depth", "free"]
    assert HARDWARE_OPTIMIZERS.option_types("untyped", ["free"]) == {}
    with pytest.raises(
        ValueError, match=r"type of an option of 'untyped' cannot be read: .*Missing"
    ):
        HARDWARE_OPTIMIZERS.option_types("untyped", ["depth"])


def test_what_cannot_be_used_is_named(installed: list[EntryPoint]) -> None:
    group = HARDWARE_OPTIMIZERS.group
    installed += [
        EntryPoint("gone", "no_such_package:Search", group),
        EntryPoint("typo", f"{__name__}:Strang", group),
        EntryPoint("twice", f"{__name__}:Strange", group),
        EntryPoint("twice", f"{__name__}:untyped", group),
        # a built-in part cannot be replaced
        EntryPoint("mobo", f"{__name__}:Strange", group),
    ]
    with pytest.raises(ValueError, match=r"'gone' \(no_such_package:Search\) cannot be loaded"):
        HARDWARE_OPTIMIZERS["gone"]
    with pytest.raises(ValueError, match=r"cannot be loaded: .*Strang"):
        HARDWARE_OPTIMIZERS["typo"]
    with pytest.raises(ValueError, match=r"'twice' is registered by several packages: .*:Strange"):
        HARDWARE_OPTIMIZERS["twice"]
    assert HARDWARE_OPTIMIZERS["mobo"] is Mobo
