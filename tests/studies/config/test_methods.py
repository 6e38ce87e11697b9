from dataclasses import replace
from pathlib import Path

import pytest

from archloom.search.budget.hyperband import HyperbandBrackets
from archloom.search.budget.successive_halving import NoHalving, SuccessiveHalving
from archloom.studies.config.methods import METHODS, evaluations_per_trial, with_method
from archloom.studies.config.study_config import load_config, parse_stored
from archloom.studies.errors import UserError

from ...cases.studies import TINY, run_here, tiny_config, write_study


def test_a_method_replaces_its_parts_and_nothing_else(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, TINY.replace("{name: random}", "{name: mobo, initial: 4}"))
    for name, (update_filter, halved, fusion) in METHODS.items():
        found = with_method(config, name)
        assert found.name == f"tiny-{name}"
        assert found.optimizer.options == config.optimizer.options | {
            "update_filter": update_filter
        }
        assert found.halving.name == ("msh" if halved else "none")
        assert found.software == replace(config.software, fusion=fusion)
        stored, before = found.to_dict(), config.to_dict()
        changed = {key for key, value in stored.items() if before[key] != value}
        assert changed <= {"optimizer", "halving", "software", "name"}
        assert parse_stored(stored, tmp_path / "study.yaml") == found
    halving = with_method(config, "casco").halving
    assert halving.options == config.halving.options | {"rank": "edp"}


def test_without_halving_a_trial_gets_what_it_gets_on_the_average(tmp_path: Path) -> None:
    # 6 trials in the first round, then 3, then 2, with 2, 4 and 8 plans each
    assert evaluations_per_trial(SuccessiveHalving(3, 2), 6) == 7  # 40 / 6, up
    assert evaluations_per_trial(NoHalving(11), 6) == 11
    assert 0 < evaluations_per_trial(HyperbandBrackets(3, 2), 6) <= 14
    config = with_method(tiny_config(tmp_path), "hasco_optimus")
    assert config.halving.options == {"evaluations": 7}


@pytest.mark.parametrize("method", METHODS)
def test_methods_get_budgets_of_a_population_where_the_file_says_none(
    method: str, tmp_path: Path
) -> None:
    silent = "workloads: [tiny_cnn]\nspace: casco_edge\ntrials: 3\n"
    found = load_config(write_study(tmp_path, silent), lambda c: with_method(c, method))
    options = found.halving.options
    # 8 trials, then 4, then 2, with 64, 128 and 256 plans each
    assert options["first_budget"] == 64 if method == "casco" else options == {"evaluations": 192}


def test_every_method_runs(tmp_path: Path) -> None:
    text = TINY.replace("trials: 10", "trials: 2").replace("batch_size: 6", "batch_size: 2")
    config = tiny_config(tmp_path, text)
    edps = {}
    for name in METHODS:
        records = run_here(with_method(config, name), tmp_path / name)
        assert [r.state for r in records].count("failed") == 0
        edps[name] = records[0].edp_js
    # the same first design; fusing nothing is what any fusion search is at least as good as
    assert edps["hasco"] >= edps["hasco_optimus"]


def test_mistakes_are_named(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    with pytest.raises(UserError, match="method 'hasko' is unknown; did you mean hasco"):
        with_method(config, "hasko")
    exact = (
        TINY.replace("{name: msh, rounds: 3, first_budget: 2}", "{name: none}") + "mode: exact\n"
    )
    with pytest.raises(UserError, match="method casco halves batches, and mode exact runs"):
        with_method(tiny_config(tmp_path, exact), "casco")
