"""Technology tables with slips of all kinds are refused with reasons, or price everything."""

import shutil
from copy import deepcopy
from functools import cache
from math import isfinite

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from archloom.evaluators.technology.reader import read_technology
from archloom.evaluators.technology.registry import technology_names

from ...source_tree import ROOT

FOLDER = ROOT / "evaluators" / "technology" / "tables"
JUNK = [-1, 0, 0.0, -0.2, float("nan"), float("inf"), -float("inf"), 1e300, 1e-300, 10**400, 10**19]
JUNK += ["", "8", "2.2x", "lpddr4", None, True, [], [1], {}, {"a": 1}, {8: 1, "b": None}, [[{}]]]
SLIP = st.tuples(
    st.randoms(use_true_random=False),
    st.sampled_from(["replace", "replace", "drop", "rename", "add"]),
    st.sampled_from(JUNK),
)


@cache
def content(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def places(node):
    """Yield (mapping, key) for everything in a table."""
    for key, value in node.items():
        yield node, key
        if isinstance(value, dict):
            yield from places(value)


def slip(data, rng, action, junk):
    node, key = rng.choice(list(places(data)))
    junk = deepcopy(junk)
    if action == "replace":
        node[key] = junk
    elif action == "add":
        node[rng.choice(["pj", "value", 8, "sources"])] = junk
    else:
        value = node.pop(key)
        if action == "rename":
            node[f"{key}s"] = value


def written(folder, data):
    """Write a table beside the SRAM runs."""
    if not (folder / "sram_cacti7.csv").exists():
        shutil.copy(FOLDER / "sram_cacti7.csv", folder)
    path = folder / "table.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def check_prices(table):
    """No price of a table that loads is zero, negative or no number."""
    (narrowest, _), *_ = table.multiply_pj
    (smallest, _), *_ = table.multiply_um2
    prices = [table.mac_pj(narrowest), table.mac_mm2(smallest)]
    prices += [table.vector_op_pj, table.vector_lane_mm2, table.logic_mw(1.0)]
    prices += [*table.buffer("register", 64, 2), *table.buffer("sram", 9000, 8)]
    prices += [table.hop_pj_per_bit]
    for dram in table.drams.values():
        prices += [dram.pj_per_bit, dram.gbytes_per_s, dram.phy_mm2_per_gbytes_per_s]
    assert all(isfinite(price) and price > 0 for price in prices)
    assert isfinite(table.router_pj_per_bit)
    assert table.router_pj_per_bit >= 0
    assert all(source.strip() for source in table.sources.values())


@pytest.mark.parametrize("name", technology_names())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(slips=st.lists(SLIP, min_size=1, max_size=3))
def test_a_table_with_slips_is_refused_with_reasons_or_prices_everything(tmp_path, name, slips):
    data = deepcopy(content(name))
    for rng, action, junk in slips:
        if data:
            slip(data, rng, action, junk)
    try:
        table = read_technology(written(tmp_path, data))
    except ValueError as error:
        lines = str(error).splitlines()
        assert lines
        assert all(line.startswith("table.yaml: ") for line in lines)
        # each reason is a sentence for people
        assert all(len(line) < 1000 for line in lines)
        return
    check_prices(table)


@pytest.mark.parametrize("junk", JUNK, ids=repr)
@pytest.mark.parametrize(
    "place",
    [
        ("multiply_pj", "by_bits", 8),
        ("add_um2", "by_bits", 32),
        ("register_pj_per_bit", "value"),
        ("logic_leakage_mw_per_mm2", "value"),
        ("test_factor", "source"),
        ("drams", "hbm2", "pj_per_bit"),
        ("drams", "hbm2", "unit"),
        ("sram", "source"),
        ("sram", "file"),
        ("node_nm",),
    ],
)
def test_junk_is_told_with_its_key_path(tmp_path, place, junk):
    data = yaml.safe_load((FOLDER / "cacti_45nm.yaml").read_text())
    node = data
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = junk
    if place[-1] in {"source", "file"} and isinstance(junk, str) and junk:
        return  # any text names a source
    with pytest.raises(ValueError, match="table") as caught:
        read_technology(written(tmp_path, data))
    if junk == 10**400:  # no reader of files takes that
        assert "is a number of over 100 characters" in str(caught.value)
        return
    assert f"table.yaml: {'.'.join(map(str, place))}" in str(caught.value)
