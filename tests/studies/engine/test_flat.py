"""What a study takes does not grow with its history: counted, on small studies."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.search.hardware.bayesian.mobo import Mobo
from archloom.search.hardware.problem import DesignProblem
from archloom.search.objectives import ObjectiveSet
from archloom.studies.analysis.front import front_of
from archloom.studies.engine.live_front import GrowingFront
from archloom.studies.storage.parts import JOURNAL
from archloom.studies.storage.records import read_certificate
from archloom.studies.storage.trial import Trial

from ...cases.studies import run_here, tiny_config
from ...contracts.problems import SMALL_TEMPLATE, edge_problem, observe

STUDY = """\
seed: 2
workloads: [tiny_cnn]
space: {space}
enumerate: 1
optimizer: {{name: mobo, initial: 4, pool: {pool}}}
halving: {{name: none, evaluations: 1}}
trials: {trials}
batch_size: 4
software: {{fusion: none, mapping: {mapping}}}
executor: {{name: inline}}
"""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the optimizer is asked, and how many tight bounds of designs are worked out."""
    calls = Counter[str]()
    for owner, name in ((Mobo, "ask"), (DesignProblem, "_tighten")):
        inner = getattr(owner, name)

        def counting(*args: Any, inner: Any = inner, name: str = name) -> Any:
            calls[name] += 1
            return inner(*args)

        monkeypatch.setattr(owner, name, counting)
    return calls


def asked(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / JOURNAL).read_text().splitlines()
    events = [json.loads(line)["event"] for line in lines]
    return [event for event in events if event["event"] == "asked"]


def besides_results(folder: Path) -> int:
    """Return the bytes of a journal without its results."""
    lines = (folder / JOURNAL).read_text().splitlines()
    return sum(len(line) - len(json.loads(line)["event"].get("payload") or "") for line in lines)


def test_where_bounds_exclude_nearly_all_the_optimizer_is_asked_once_a_batch(
    tmp_path: Path, counted: Counter[str]
) -> None:
    """A space of 120 designs that is followed in boxes: at the end only some of them are open, and
    the pool of the optimizer has none of these."""
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    text = STUDY.format(space="./small.yaml", pool=20, trials=100, mapping="exact")
    trials = run_here(tiny_config(tmp_path, text), tmp_path / "run")
    batches = asked(tmp_path / "run")
    assert any(batch.get("followed") for batch in batches)
    assert counted["ask"] <= len(batches) + 1
    assert not any(batch.get("refused") for batch in batches[1:])
    # it ends by itself, once nothing is left
    certificate = read_certificate(tmp_path / "run")
    assert certificate is not None
    assert certificate.proven_at_this_budget
    assert len(trials) < 100


def test_a_journal_does_not_grow_faster_than_the_study(
    tmp_path: Path, counted: Counter[str]
) -> None:
    """Three times as many trials: bytes and questions a trial stay."""
    found = {}
    for trials in (12, 36):
        counted.clear()
        text = STUDY.format(space="casco_edge", pool=200, trials=trials, mapping="random")
        folder = tmp_path / str(trials)
        assert len(run_here(tiny_config(tmp_path, text), folder)) == trials
        found[trials] = besides_results(folder) / trials, counted["ask"] / trials
    assert found[36][0] < min(1.1 * found[12][0], 2000)
    assert found[36][1] <= found[12][1] == 1 / 4


def test_a_proposal_takes_tight_bounds_of_no_more_results_than_the_models_use(
    counted: Counter[str],
) -> None:
    problem = DesignProblem(
        edge_problem().space, edge_problem().networks, area_cap_mm2=8.0, tdp_cap_w=2.0
    )
    designs = problem.sample(np.random.default_rng(0), 2400, (), 40_000)
    taken = []
    for many in (1200, 2400):
        optimizer = Mobo(problem, 0, pool=200)
        optimizer.tell(observe(problem, [c.point for c in designs[:many]]))
        counted.clear()
        problem._tightened.clear()
        assert len(optimizer.ask(4, [])) == 4
        taken.append(counted["_tighten"])
    # 768 that the model is conditioned on, 256 that it is fitted to, and those that are proposed
    assert max(taken) < 768 + 256 + 384 < 2400


COSTS = st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, 4.0])] * 3), max_size=30)


@settings(max_examples=100, deadline=None)
@given(COSTS)
def test_a_front_that_grows_is_the_front_of_all(costs: list[tuple[float, ...]]) -> None:
    objective_set = ObjectiveSet()
    growing, trials = GrowingFront(objective_set), []
    for number, (edp, area, tdp) in enumerate(costs):
        trial = Trial(
            number=number, batch=0, state="complete", rounds=1, point={}, hardware="",
            area_mm2=area, tdp_w=tdp, edp_js=edp if edp < 4 else None, values={},
        )  # fmt: skip
        trials.append(trial)
        before = front_of(trials, objective_set)
        assert growing.add(trial) == (trial in before)
        assert growing.trials == before
        assert sorted(map(tuple, growing.costs.tolist())) == sorted(
            t.costs(objective_set) for t in before
        )
