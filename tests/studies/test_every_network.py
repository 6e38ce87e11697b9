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
software: {{fusion: {fusion}, population: 2, mapping: random, mapping_evaluations: 20}}
executor: {{name: inline}}
"""


def family(name: str) -> str:
    """Return the module that builds a network."""
    build = NETWORKS[name].build
    return str(getattr(build, "func", build).__module__)


#: the first of each family; the others are built of the same blocks
FIRST = {family(name): name for name in reversed(list(NETWORKS))}
#: the planner that studies have unless they say another takes seconds where a network is long
SHORT = ("tiny_mlp", "ncf", "squeezenet1_0")
CASES = [
    *((name, "casco") for name in FIRST.values()),
    *((name, "joint") for name in SHORT),
    *((name, "joint") for name in NETWORKS if name not in SHORT),
]


@pytest.mark.parametrize(("name", "fusion"), sweep(CASES, len(FIRST) + len(SHORT)))
def test_one_trial_runs(tmp_path: Path, name: str, fusion: str) -> None:
    text = ONE_TRIAL.format(name=name, fusion=fusion)
    (trial,) = run_here(tiny_config(tmp_path, text), tmp_path / "run")
    assert (trial.state, trial.crash) == ("complete", None)
    assert trial.edp_js is not None
    (plan,) = trial.networks.values()
    assert sum(len(group["layers"]) for group in plan.plan) >= len(network(name).layers)
