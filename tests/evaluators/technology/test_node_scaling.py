from itertools import permutations, product

import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.technology.node_scaling import (
    NODES_NM,
    area_factor,
    energy_factor,
    wire_factor,
)

VOLTS = st.floats(0.7, 1.2)
NODE = st.sampled_from(NODES_NM)


def test_the_worked_example_of_the_source_comes_out():
    """Erratum to section 4.2.1: 1 pJ at 65 nm and 1.3 V is 0.1755 pJ at 32 nm and 0.9 V."""
    assert energy_factor(65, 1.3, 32, 0.9) == pytest.approx(0.1755, abs=1e-4)


def test_polynomials_follow_the_simulated_inverters():
    """Table 2 of the source: 1.05, 0.51, 0.179 and 0.111 fJ at nominal voltages."""
    simulated = {45: (1.1, 1.05), 32: (0.97, 0.51), 16: (0.86, 0.179), 7: (0.8, 0.111)}
    for (a, (volts_a, fj_a)), (b, (volts_b, fj_b)) in permutations(simulated.items(), 2):
        # the fits are loose at the ends of their range, up to 1.8 times
        assert 0.5 < energy_factor(a, volts_a, b, volts_b) / (fj_b / fj_a) < 2


@given(NODE, VOLTS)
def test_nothing_changes_at_the_same_node_and_voltage(node, volts):
    assert energy_factor(node, volts, node, volts) == 1
    assert area_factor(node, node) == 1
    assert wire_factor(node, volts, node, volts) == 1


@given(NODE, NODE, NODE, VOLTS)
def test_energies_scale_through_a_third_node_alike(a, b, c, volts):
    direct = energy_factor(a, volts, c, volts)
    assert energy_factor(a, volts, b, volts) * energy_factor(b, volts, c, volts) == (
        pytest.approx(direct)
    )


@pytest.mark.parametrize(
    ("small", "large"), [(b, a) for a, b in product(NODES_NM, NODES_NM) if b < a]
)
def test_a_smaller_node_is_smaller_and_takes_less(small, large):
    assert area_factor(large, small) < 1 < area_factor(small, large)
    # the table is rounded to two digits
    assert area_factor(large, small) * area_factor(small, large) == pytest.approx(1, rel=0.08)
    for volts in (0.7, 0.8, 0.9, 1.0):
        assert energy_factor(large, volts, small, volts) < 1
        # wires scale less than gates do, over more than one node
        if large >= 45 and small <= 20:
            assert energy_factor(large, volts, small, volts) < wire_factor(
                large, volts, small, volts
            )


@given(NODE, VOLTS, VOLTS)
def test_more_voltage_takes_more_energy(node, a, b):
    low, high = sorted((a, b))
    assert energy_factor(node, low, node, high) >= 1
    assert wire_factor(node, low, node, high) == pytest.approx((high / low) ** 2)


@pytest.mark.parametrize("node", [28, 0, -45, 5, 180])
def test_nodes_without_factors_are_refused(node):
    with pytest.raises(ValueError, match=f"no scaling factors for {node} nm; nodes are 130, 90"):
        energy_factor(node, 0.8, 45, 0.8)
    with pytest.raises(ValueError, match="no scaling factors"):
        area_factor(45, node)


@pytest.mark.parametrize("volts", [0.0, -1.0, 0.5, 5.0, float("nan")])
def test_voltages_outside_the_fits_are_refused(volts):
    with pytest.raises(ValueError, match=r"no scaling factors for .* V; voltages are 0\.6 to 1\.3"):
        energy_factor(45, volts, 16, 0.8)
    with pytest.raises(ValueError, match="no scaling factors"):
        wire_factor(45, 0.8, 16, volts)
