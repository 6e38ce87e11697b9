"""A study runs over any network of the catalogue."""

from pathlib import Path

import pytest

from archloom.space.networks.registry import NETWORKS, network

from ..cases.studies import run_here, tiny_config
from ..cases.sweeps import sweep

ONE_TRIAL = """\
seed: 3
workloads: [{name}]
space: casco_edge
optimizer: {{name: random}}
halving: {{name: msh, rounds: 1, first_budget: 2}}
trials: 1
batch_size: 1
software: {{population: 2, mapping: random, mapping_evaluations: 20}}
executor: {{name: inline}}
"""


def family(name: str) -> str:
    """Return the module that builds a network."""
    build = NETWORKS[name].build
    return str(getattr(build, "func", build).__module__)


#: the first of each family; the others are built of the same blocks
FIRST = {family(name): name for name in reversed(list(NETWORKS))}
CASES = [*FIRST.values(), *(name for name in NETWORKS if name not in FIRST.values())]


@pytest.mark.parametrize("name", sweep(CASES, len(FIRST)))
def test_one_trial_runs(tmp_path: Path, name: str) -> None:
    (trial,) = run_here(tiny_config(tmp_path, ONE_TRIAL.format(name=name)), tmp_path / "run")
    assert (trial.state, trial.crash) == ("complete", None)
    assert trial.edp_js is not None
    (plan,) = trial.networks.values()
    assert sum(len(group["layers"]) for group in plan.plan) >= len(network(name).layers)
