"""Whatever stands where in a study file: it is read, or every fault is named in a sentence."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import date
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import yaml

from archloom.studies.config.errors import ConfigError
from archloom.studies.config.study_config import load_config

from ...cases.studies import write_study
from ...cases.sweeps import sweep

EVERYTHING = """\
name: x
seed: 3
workloads: [tiny_cnn, {network: tiny_mlp}]
tenants: [tiny_cnn, {workload: tiny_mlp, share: 2, weight: 0.5, deadline_ms: 20}]
validation: {workloads: [tiny_cnn], evaluations: 4}
density: {weights: 0.5, inputs: 0.4}
space: casco_edge
objectives:
  - {metric: latency, workload: tiny_mlp}
  - {metric: edp, weights: {tiny_cnn: 0.7, tiny_mlp: 0.3}}
  - {metric: energy, aggregate: max}
  - area
pick: {name: lexicographic, order: [area, "energy_j(max)"], tolerance: 0.1}
constraints: {area_mm2: 20, latency_s: [0.1, {limit: 0.01, workload: tiny_cnn}]}
start_from: [{preset: eyeriss}]
enumerate: 100
mode: search
optimizer: {name: mobo, initial: 4, update_filter: uul}
halving: {name: msh, rounds: 2, first_budget: 2}
trials: 4
batch_size: 2
software: {fusion: joint, constraints: {levels: {l2: {keep: [weights]}}}}
executor: {name: inline, workers: 1}
baseline: eyeriss
"""

NONSENSE: tuple[Any, ...] = (
    *(None, [], {}, "", "x", [[1]], {1: 2}, {"a": [1]}, {"name": [1]}),
    *(-1, 1.5, True, inf, nan, 10**400, date(2020, 1, 1), "\ud83d"),
)

KeyPath = tuple[str | int, ...]


def places(data: Any, where: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of everything below ``data``."""
    children = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else children:
        yield (*where, key)
        yield from places(value, (*where, key))


KEYS = tuple(yaml.safe_load(EVERYTHING))
PARTS = 4


@pytest.mark.parametrize(
    ("part", "key"),
    sweep([(part, key) for part in range(PARTS) for key in KEYS], len(KEYS)),
)
def test_nonsense_is_never_a_traceback(tmp_path: Path, part: int, key: str) -> None:
    """In each place a part of the values stands, in the next place another part."""
    whole = yaml.safe_load(EVERYTHING)
    wrong = 0
    for turn, path in enumerate([(key,), *places(whole[key], (key,))]):
        for value in NONSENSE[(part + turn) % PARTS :: PARTS]:
            data = deepcopy(whole)
            inner = data
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = value
            try:
                load_config(write_study(tmp_path, yaml.safe_dump(data)))
            except ConfigError as error:
                wrong += bool(error.faults)
    assert wrong


def test_all_of_it_is_sound(tmp_path: Path) -> None:
    assert load_config(write_study(tmp_path, EVERYTHING)).name == "x"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "optimizer: &o {name: mobo, pool: *o}",
            "line 25: is not YAML: *o is inside &o, so it contains itself",
        ),
        ("objectives: &o [*o]", "line 25: is not YAML: *o is inside &o, so it contains itself"),
        ("extra: 2020-13-45", "line 25: is not YAML: '2020-13-45' is not a valid timestamp"),
        ("extra: !!int abc", "line 25: is not YAML: 'abc' is not a valid int"),
        ("extra: " + "9" * 5000, "line 25: is not YAML: '9999"),
        ("extra: " + "[" * 3000 + "]" * 3000, "is nested too deeply"),
        (r'extra: "\ud83d"', r"line 25: is not YAML: '\ud83d' has half of a surrogate pair"),
    ],
)
def test_yaml_that_holds_no_value_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write_study(tmp_path, EVERYTHING + line + "\n"))
    (found,) = map(str, caught.value.faults)
    assert found.startswith(message)
    assert len(found) < 120


def test_an_alias_of_something_beside_it_is_read(tmp_path: Path) -> None:
    text = EVERYTHING.replace("workload: tiny_mlp", "workload: &mlp tiny_mlp", 1)
    text = text.replace("workload: tiny_cnn", "workload: *mlp")
    found = load_config(write_study(tmp_path, text))
    assert found.constraints.limits[1].objective.workload == "tiny_mlp"
