"""A machine as a template: what was measured is what its hardware has."""

from pathlib import Path

import pytest

from archloom.evaluators.hardware import access_costs
from archloom.evaluators.host.machine.facts import this_machine
from archloom.evaluators.host.machine.rates import LevelRates, Rates
from archloom.evaluators.host.machine.template import host_template
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware import Hardware

LEVELS = (
    LevelRates("l1", 32 * 1024, 1, 56.0, 28.0, 60.0),
    LevelRates("l2", 2**20, 1, 32.0, 24.0, 30.0),
    LevelRates("l3", 32 * 2**20, 4, 20.0, 16.0, 18.0),
    LevelRates("dram", None, 8, 9.0, 8.0, 8.5),
)


def rates(products: float = 28.0, bits: int = 512) -> Rates:
    return Rates(this_machine(1), 2500.0, bits, 32, products, LEVELS)


def built(text: str, folder: Path) -> Hardware:
    file = folder / "host.yaml"
    file.write_text(text)
    found = HardwareSpace.load(str(file)).build({})
    assert isinstance(found, Hardware)
    return found


def test_cores_lanes_and_rates_are_those_that_were_measured(tmp_path: Path) -> None:
    host = built(host_template(rates(), cores=8), tmp_path)
    assert (host.pe_mesh, host.array, host.frequency_mhz) == ((8, 1), (16, 2), 2500.0)
    registers, l1, l2, l3, dram = host.levels
    # words of 4 bytes; a cache that four cores share gives each of them what it gives to one
    assert registers.capacity_bytes == 32 * 64
    assert [level.instances for level in host.levels] == [8, 8, 8, 2, 1]
    assert (l1.read_bandwidth_words, l1.write_bandwidth_words, l1.bandwidth_words) == (14, 7, 15)
    assert (l2.read_bandwidth_words, l2.write_bandwidth_words, l2.bandwidth_words) == (8, 6, 8)
    assert (l3.read_bandwidth_words, l3.capacity_bytes) == (20, 32 * 2**20)
    assert (dram.read_bandwidth_words, dram.bandwidth_words) == (2.25, 2.25)
    assert host.dram_gbytes_per_s == pytest.approx(9.0 * 2.5)
    # it can be priced: commands that take hardware take this one
    assert access_costs(host).mac_pj > 0


def test_one_core_has_one_of_everything(tmp_path: Path) -> None:
    host = built(host_template(rates(), cores=1), tmp_path)
    assert [level.instances for level in host.levels] == [1] * 5
    assert host.levels[3].read_bandwidth_words == 5


@pytest.mark.parametrize(
    ("products", "bits", "array"),
    [(13.8, 512, (16, 1)), (30.0, 512, (16, 2)), (15.2, 256, (8, 2)), (1.1, 128, (4, 1))],
)
def test_vector_units_are_the_nearest_number(products: float, bits: int, array: object) -> None:
    found = rates(products, bits)
    assert (found.lanes, found.vector_units) == array
