"""Scaling of energy and area from one technology node to another.

Source: Stillmaker and Baas, "Scaling equations for the accurate prediction of CMOS device
performance from 180 nm to 7 nm", Integration 58 (2017), with the authors' erratum. The factors
come from simulated gates: what is mostly wires, such as a large SRAM, follows them only roughly.
"""

from typing import Final

#: feature sizes with both area and energy factors
NODES_NM: Final = (130, 90, 65, 45, 32, 20, 16, 14, 10, 7)

# Table of area factors: row from, column to, in the order of NODES_NM. Two digits, as printed.
_AREA: Final = (
    (1, 0.44, 0.23, 0.16, 0.072, 0.033, 0.03, 0.027, 0.016, 0.0092),
    (2.3, 1, 0.53, 0.35, 0.16, 0.075, 0.067, 0.061, 0.036, 0.021),
    (4.3, 1.9, 1, 0.66, 0.31, 0.14, 0.13, 0.12, 0.068, 0.039),
    (6.4, 2.8, 1.5, 1, 0.46, 0.21, 0.19, 0.17, 0.1, 0.059),
    (14, 6.1, 3.3, 2.2, 1, 0.46, 0.41, 0.38, 0.22, 0.13),
    (30, 13, 7.1, 4.7, 2.2, 1, 0.89, 0.82, 0.48, 0.28),
    (34, 15, 7.9, 5.3, 2.4, 1.1, 1, 0.91, 0.54, 0.31),
    (37, 16, 8.7, 5.8, 2.7, 1.2, 1.1, 1, 0.59, 0.34),
    (63, 28, 15, 9.8, 4.5, 2.1, 1.9, 1.7, 1, 0.58),
    (110, 48, 25, 17, 7.8, 3.6, 3.2, 2.9, 1.7, 1),
)

# Table 5: energy = a V^2 + b V + c. Bulk transistors down to 65 nm, high-k metal gate at 45 and
# 32 nm, multi-gate below; the high performance row of each.
_ENERGY: Final = {
    130: (7.171, -6.709, 2.904),
    90: (4.762, -4.781, 2.092),
    65: (3.755, -4.398, 1.975),
    45: (1.018, -0.3107, 0.1539),
    32: (0.8367, -0.4341, 0.1701),
    20: (0.373, -0.1582, 0.04104),
    16: (0.2958, -0.1241, 0.03024),
    14: (0.2363, -0.09675, 0.02239),
    10: (0.2068, -0.09311, 0.02375),
    7: (0.1776, -0.09097, 0.02447),
}

#: supply voltages that the polynomials were fitted over, about
_LOWEST_VOLTS: Final = 0.6
_HIGHEST_VOLTS: Final = 1.3


def energy_factor(from_nm: int, from_volts: float, to_nm: int, to_volts: float) -> float:
    """Return the energy of a gate at one node and voltage over that at another.

    Raises:
        ValueError: a node that the source does not have, or a voltage outside its fits.
    """
    return _energy(to_nm, to_volts) / _energy(from_nm, from_volts)


def area_factor(from_nm: int, to_nm: int) -> float:
    """Return the area of a circuit at one node over that at another; raises ValueError."""
    return _AREA[_place(from_nm)][_place(to_nm)]


def wire_factor(from_nm: int, from_volts: float, to_nm: int, to_volts: float) -> float:
    """Return the energy of a wire between two parts of a circuit at one node over another.

    The capacitance of a wire per length hardly changes from node to node (Ho, Mai and Horowitz,
    "The future of wires", Proc. IEEE 2001), so energy follows its length, which is the square
    root of the area, and the square of the voltage. Raises ValueError as the others.
    """
    for volts in (from_volts, to_volts):
        _check_volts(volts)
    return float(area_factor(from_nm, to_nm) ** 0.5 * (to_volts / from_volts) ** 2)


def _energy(node_nm: int, volts: float) -> float:
    _place(node_nm)
    _check_volts(volts)
    a, b, c = _ENERGY[node_nm]
    return a * volts**2 + b * volts + c


def _place(node_nm: int) -> int:
    if node_nm not in NODES_NM:
        known = ", ".join(map(str, NODES_NM))
        raise ValueError(f"no scaling factors for {node_nm} nm; nodes are {known} nm")
    return NODES_NM.index(node_nm)


def _check_volts(volts: float) -> None:
    if not _LOWEST_VOLTS <= volts <= _HIGHEST_VOLTS:
        raise ValueError(
            f"no scaling factors for {volts} V; voltages are {_LOWEST_VOLTS} to {_HIGHEST_VOLTS} V"
        )
