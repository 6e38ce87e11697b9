from importlib.metadata import EntryPoint, EntryPoints

import pytest

from archloom.search import registry
from archloom.search.halving import NoHalving, SuccessiveHalving
from archloom.search.mobo import Mobo
from archloom.search.random_search import RandomSearch
from archloom.search.registry import (
    budget_allocator,
    budget_allocator_names,
    hardware_optimizer,
    hardware_optimizer_names,
    option_names,
)


def test_built_in_names_give_their_factories() -> None:
    assert hardware_optimizer("mobo") is Mobo
    assert hardware_optimizer("random") is RandomSearch
    assert budget_allocator("msh")() == SuccessiveHalving()
    assert budget_allocator("sh")(rounds=2) == SuccessiveHalving(rounds=2, auc_share=0.0)
    assert budget_allocator("none")(evaluations=9) == NoHalving(9)
    assert {"mobo", "random"} <= set(hardware_optimizer_names())
    assert {"msh", "sh", "none"} <= set(budget_allocator_names())


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown hardware optimizer 'mobbo'; did you mean mobo"):
        hardware_optimizer("mobbo")
    with pytest.raises(ValueError, match=r"unknown budget allocator 'x'; known: .*msh"):
        budget_allocator("x")


def test_options_are_those_that_a_study_may_set() -> None:
    assert option_names(Mobo) == [
        "initial",
        "pool",
        "update_filter",
        "filter_batch",
        "acquisition",
    ]
    assert option_names(RandomSearch) == []
    assert option_names(budget_allocator("sh")) == ["rounds", "first_budget", "rank"]


def test_an_installed_package_can_add_an_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    added = EntryPoint("mine", f"{RandomSearch.__module__}:RandomSearch", registry.OPTIMIZER_GROUP)

    def installed(**query: str) -> EntryPoints:
        return EntryPoints([added]).select(**query)

    monkeypatch.setattr(registry, "entry_points", installed)
    assert hardware_optimizer("mine") is RandomSearch
    assert "mine" in hardware_optimizer_names()
