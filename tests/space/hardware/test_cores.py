"""How a chip falls into cores, and what it is that does not."""

from dataclasses import replace

import pytest

from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS
from archloom.space.errors import Infeasible
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware

CHIP = preset("edgetpu")


def with_levels(hardware: Hardware, **changes: dict[str, object]) -> Hardware:
    """Return the hardware with some fields of the levels of these names replaced."""
    levels = (replace(v, **changes.get(v.name, {})) for v in hardware.levels)  # type: ignore[arg-type]
    return replace(hardware, levels=tuple(levels))


def test_a_chip_with_a_buffer_for_each_tensor_has_no_cores() -> None:
    cores = fusion_cores(preset("eyeriss_v2"))
    assert isinstance(cores, Infeasible)
    assert cores.reason == "no_shared_buffer"


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "eyeriss_v2"])
def test_the_cores_of_a_published_chip_add_up_to_it(name: str) -> None:
    chip, cores = preset(name), fusion_cores(preset(name))
    assert isinstance(cores, Cores)
    assert cores.count == {"edgetpu": 16, "tpu_v3": 2}.get(name, 1)
    assert cores.one.fusion_level == len(chip.levels) - 2
    assert (cores.one == chip) == (cores.count == 1)
    assert cores.one.macs * cores.count == chip.macs
    assert cores.one.vector_lanes * cores.count == chip.vector_lanes
    assert cores.one.levels[-1] == chip.levels[-1]
    for part, whole in zip(cores.one.levels[:-1], chip.levels[:-1], strict=True):
        assert part.instances * cores.count == whole.instances
        assert replace(part, mesh=whole.mesh) == whole
    assert cores.one.fanouts[:-1] == chip.fanouts[:-1]


def test_lanes_that_do_not_go_round_stay_idle() -> None:
    cores = fusion_cores(replace(CHIP, vector_lanes=47))
    assert isinstance(cores, Cores)
    assert cores.one.vector_lanes == 2


HOPS = AccessEnergy(1.0, 1.0, 1.0, hop_pj=0.5)
LEAKS = AccessEnergy(1.0, 1.0, 1.0, leakage_pj=0.5)


@pytest.mark.parametrize(
    ("chip", "says"),
    [
        (with_levels(CHIP, pe_memory={"keeps": ("inputs",)}), "pe_memory is not one"),
        (with_levels(CHIP, pe_memory={"storage": "register"}), "pe_memory is not one"),
        (with_levels(CHIP, dram={"tensor_bits": (("outputs", 16),)}), "pe_memory is not one"),
        (replace(CHIP, vector_lanes=15), "but 15 vector lanes are fewer than one for each"),
        (
            replace(CHIP, effects=Effects(network="mesh")),
            "the energy of the network between them and DRAM",
        ),
        (
            with_levels(CHIP, dram={"energy": HOPS}),
            "the energy of the network between them and DRAM",
        ),
        (with_levels(CHIP, dram={"energy": LEAKS}), "the leakage of dram cannot be divided"),
        (
            with_levels(CHIP, pe_memory={"cluster_size": 2}),
            "a cluster of 2 instances of pe_memory spans",
        ),
        (
            with_levels(CHIP, core_memory={"cluster_size": 4}),
            "a cluster of 4 instances of core_memory spans",
        ),
        (
            with_levels(CHIP, pe_memory={"mesh": (256, 4)}, core_memory={"mesh": (256, 4)}),
            "pe_memory has 1024 instances, which fusion uses as cores, but they do not divide",
        ),
        (replace(CHIP, levels=CHIP.levels[-1:]), "but the chip has no level besides DRAM"),
    ],
)
def test_a_chip_that_does_not_fall_into_cores_says_what_does_not(chip: Hardware, says: str) -> None:
    why = fusion_cores(chip)
    assert isinstance(why, Infeasible)
    assert why.reason == "no_shared_buffer"
    assert says in why.hint
