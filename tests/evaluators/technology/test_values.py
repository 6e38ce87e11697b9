"""What the shipped tables say about numbers that were worked out by hand."""

import csv
from math import exp2, log, log2
from statistics import median

import pytest
import yaml

from archloom.evaluators.technology.node_scaling import energy_factor, wire_factor
from archloom.evaluators.technology.registry import technology

from ...source_tree import ROOT

FOLDER = ROOT / "evaluators" / "technology" / "tables"
TECH = technology("cacti_45nm")


def ratios(node, column):
    """Return a quantity of CACTI at a node over that at 45 nm, over all runs."""
    with (FOLDER / "sram_cacti7.csv").open(newline="") as lines:
        runs = {
            (int(row["node_nm"]), row["size_bytes"], row["width_bytes"]): float(row[column])
            for row in csv.DictReader(lines)
            if row["cell"] == "itrs-lop"
        }
    found = [pj / runs[45, *place] for (nm, *place), pj in runs.items() if nm == node]
    assert len(found) == 77
    return found


def given_factors(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())["sram"]


@pytest.mark.parametrize("quantity", ["read_pj", "write_pj", "leakage_mw", "area_mm2"])
def test_sram_at_65_nm_is_the_median_of_cacti(quantity):
    factor = given_factors("cacti_65nm")[f"{quantity.split('_')[0]}_factor"]
    assert factor == pytest.approx(median(ratios(65, quantity)), rel=1e-3)


@pytest.mark.parametrize(("name", "node"), [("n16", 16), ("n7", 7)])
def test_sram_beyond_22_nm_goes_on_from_cacti(name, node):
    factors = given_factors(name)
    # IRDS 2022, as in hwcomponents-cacti: energy with the root of the feature size, area with it
    for key, power in (("read_pj", 0.5), ("write_pj", 0.5), ("area_mm2", 1.0)):
        expected = median(ratios(22, key)) * (node / 22) ** power
        assert factors[f"{key.split('_')[0]}_factor"] == pytest.approx(expected, rel=1e-3)


def test_gates_scale_to_65_nm_as_cacti_does():
    """The general rule against a simulator: 1.9 to 2.0 times the energy."""
    factor = energy_factor(45, 0.9, 65, 1.0)
    assert factor == pytest.approx(median(ratios(65, "read_pj")), rel=0.06)
    assert factor == pytest.approx(median(ratios(65, "write_pj")), rel=0.08)


@pytest.mark.parametrize("curve", ["multiply_pj", "add_pj"])
def test_arithmetic_at_16_nm_lies_between_45_and_7(curve):
    part = log(45 / 16) / log(45 / 7)
    large, middle, small = (
        dict(getattr(technology(name), curve)) for name in ("cacti_45nm", "n16", "n7")
    )
    for bits in (8, 32):
        expected = exp2((1 - part) * log2(large[bits]) + part * log2(small[bits]))
        assert middle[bits] == pytest.approx(expected, rel=1e-3)


def test_the_energies_of_accelergy_are_those_of_its_outputs():
    """Its outputs are at 32 nm: 18.18 and 14.14 pJ for 64 bits of 128 KiB, 0.2513 for a spad."""
    table, factor = technology("accelergy_45nm"), energy_factor(32, 0.9, 45, 0.9)
    buffer = table.buffer("sram", 128 << 10, 8)
    assert buffer.read_pj == pytest.approx(18.183829 * factor, rel=1e-3)
    assert buffer.write_pj == pytest.approx(14.137929 * factor, rel=1e-3)
    assert table.buffer("register", 32, 2).read_pj == pytest.approx(0.2513 * factor, rel=1e-3)


def test_a_hop_at_45_nm_is_that_of_eyeriss_as_a_wire():
    hop = technology("eyeriss_65nm").hop_pj_per_bit * wire_factor(65, 1.0, 45, 0.9)
    assert TECH.hop_pj_per_bit == pytest.approx(hop, rel=1e-3)
