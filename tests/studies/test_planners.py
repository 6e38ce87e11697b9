"""Studies with each fusion planner: one line of the file, and a stopped one goes on."""

from pathlib import Path
from typing import Any

import pytest

from archloom.search.fusion_search import FUSION_SEARCHES
from archloom.search.software import SoftwareResult, SoftwareTask
from archloom.search.software import advance as search_software
from archloom.space.fusion import FusionPlan, plan_violations
from archloom.space.networks import network
from archloom.studies.config import load_config
from archloom.studies.store import TRIALS, read_trials

from .samples import TINY, run_here, write_study

SMALL = TINY.replace("trials: 10", "trials: 3").replace("batch_size: 6", "batch_size: 3")


class StopsAt:
    """The real software search, until somebody stops it."""

    def __init__(self, call: int) -> None:
        self._left = call

    def __call__(
        self, task: SoftwareTask, state: dict[str, Any] | None, budget: int
    ) -> SoftwareResult:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return search_software(task, state, budget)


@pytest.mark.parametrize("planner", FUSION_SEARCHES)
def test_a_study_with_a_planner_runs_and_resumes(planner: str, tmp_path: Path) -> None:
    text = SMALL.replace("software: {", f"software: {{fusion: {planner}, ")
    config = load_config(write_study(tmp_path, text))
    assert config.software.fusion == planner
    run_here(config, tmp_path / "whole")
    for call in (1, 4):
        folder = tmp_path / f"stopped at {call}"
        with pytest.raises(KeyboardInterrupt):
            run_here(config, folder, StopsAt(call))
        run_here(config, folder)
        assert (folder / TRIALS).read_bytes() == (tmp_path / "whole" / TRIALS).read_bytes()
    plans = []
    for record in read_trials(tmp_path / "whole"):
        for found in record["networks"].values():
            plans.append(FusionPlan.from_list(found["plan"]))
            assert plan_violations(network("tiny_cnn"), plans[-1]) == []
            assert found["edp_js"] <= found["baseline_edp_js"] * (1 + 1e-9)
    assert plans
    if planner in ("dynamic", "genetic", "genetic_full"):
        assert any(len(group.layers) > 1 for plan in plans for group in plan.groups)
