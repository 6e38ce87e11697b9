"""Hardware files with slips of all kinds get a message, or are shown with finite figures."""

import io
from copy import deepcopy
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st
from rich.console import Console

from archloom.space.design_space.shipped import PRESETS, preset_file
from archloom.studies.commands.catalogue.hardware import full_details, show_hardware
from archloom.studies.config.hardware_reference import find_hardware
from archloom.studies.errors import UserError

from ....cases.sweeps import sweep

JUNK: list[Any] = [-1, 0, 0.0, -0.2, 1e300, 1e-300, 10**400, 10**19, None, True]
JUNK += [float("nan"), float("inf"), -float("inf"), "", "8", "2.2x", "register", "dram", "n7"]
JUNK += ["= 1/0", "= x", "= 2**3**4", "= word_bytes * 1e308", [], [1], {}, {"a": 1}, [[{}]]]


def places(node: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of everything in a file."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    inner = [node[key] for key in keys if isinstance(node[key], dict | list)]
    return [(node, key) for key in keys] + [place for child in inner for place in places(child)]


def slip(data: Any, rng: Random, junk: Any) -> None:
    found = places(data)
    if not found:
        return
    node, key = rng.choice(found)
    kind = rng.choice(["replace", "replace", "replace", "drop", "rename"])
    if kind == "replace":
        node[key] = deepcopy(junk)
    elif kind == "drop" or isinstance(node, list):
        node.pop(key)
    else:
        node[f"{key}s"] = node.pop(key)


@pytest.mark.parametrize(
    ("part", "name"), sweep([(part, n) for part in range(4) for n in PRESETS], len(PRESETS))
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), junk=st.lists(st.sampled_from(JUNK), min_size=1, max_size=3))
def test_a_hardware_file_with_slips(
    tmp_path: Path, part: int, name: str, seed: int, junk: list[Any]
) -> None:
    rng = Random(4 * seed + part)
    data = yaml.safe_load(preset_file(name).read_text())
    for value in junk:
        slip(data, rng, value)
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(data))
    try:
        found = find_hardware(str(path), [], None, None)
        show_hardware(found, rng.random() < 0.5, Console(file=io.StringIO(), width=120))
    except UserError:
        return
    details = full_details(found)
    parts = [*details["area_mm2"].values(), *details["tdp_w"].values()]
    assert all(isfinite(part) and part >= 0 for part in parts)
    assert details["area_total_mm2"] > 0
    assert details["tdp_total_w"] > 0
    assert all(min(level["read_pj"].values()) >= 0 for level in details["levels"])
