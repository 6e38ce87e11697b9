"""Studies with each fusion planner: one line of the file, and a stopped one goes on."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from archloom.search.registry import FUSION_SEARCHES
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.space.fusion.plan import FusionPlan, plan_violations
from archloom.space.networks.registry import network
from archloom.studies.analysis.details import trial_details
from archloom.studies.commands.study.show import show_trial
from archloom.studies.config.study_config import load_config
from archloom.studies.storage.parts import TRIALS
from archloom.studies.storage.records import read_trials

from ...cases.studies import TINY, run_here, write_study

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
    text = SMALL.replace("fusion: casco", f"fusion: {planner}")
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
        for found in record.networks.values():
            plans.append(FusionPlan.from_list(found.plan))
            assert plan_violations(network("tiny_cnn"), plans[-1]) == []
            assert found.edp_js <= found.baseline_edp_js * (1 + 1e-9)
    assert plans
    if planner in ("casco", "casco_tilings", "optimus"):
        assert any(len(group.layers) > 1 for plan in plans for group in plan.groups)


def test_plans_and_mappings_share_a_budget_by_one_line(tmp_path: Path) -> None:
    """It goes on where it was stopped, and says on what it went."""
    text = SMALL.replace("first_budget: 2", "first_budget: 10").replace(
        "[tiny_cnn]", "[tiny_mobile]"
    )
    text = text.replace("software: {", "software: {budget: shared, ").replace("random,", "auto,")
    config = load_config(write_study(tmp_path, text))
    run_here(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run_here(config, tmp_path / "stopped", StopsAt(4))
    run_here(config, tmp_path / "stopped")
    whole, stopped = (tmp_path / name / TRIALS for name in ("whole", "stopped"))
    assert stopped.read_bytes() == whole.read_bytes()
    winner = next(r for r in read_trials(tmp_path / "whole") if r.state == "complete")
    assert winner.networks["tiny_mobile"].spent["mappings"] > 0
    details = trial_details(tmp_path / "whole", winner.number)
    [found] = details["networks"]
    assert found["edp_js"] == winner.networks["tiny_mobile"].edp_js
    console = Console(file=StringIO(), width=120)
    show_trial(tmp_path / "whole", str(winner.number), False, console)
    assert "search budget of 70 units: " in console.file.getvalue()
