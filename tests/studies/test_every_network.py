"""A study runs over any network of the catalogue."""

from pathlib import Path

import pytest

from archloom.space.networks import NETWORKS, network

from .samples import run_here, tiny_config

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


@pytest.mark.parametrize("name", NETWORKS)
def test_one_trial_runs(tmp_path: Path, name: str) -> None:
    (record,) = run_here(tiny_config(tmp_path, ONE_TRIAL.format(name=name)), tmp_path / "run")
    assert (record["state"], record["crash"]) == ("complete", None)
    assert record["edp_js"] > 0
    (plan,) = record["networks"].values()
    assert sum(len(group["layers"]) for group in plan["plan"]) >= len(network(name).layers)
