from dataclasses import replace

import pytest

from archloom.space.errors import Infeasible, InfeasibleError
from archloom.space.hardware.effects import Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel

ALL = ("weights", "inputs", "outputs")
SPAD = StorageLevel(
    "spad",
    "register",
    ALL,
    (4, 2),
    (("weights", 64), ("inputs", 16), ("outputs", 32)),
    4,
    spatial_x=("K",),
    spatial_y=("C",),
)
GLB = StorageLevel("glb", "sram", ALL, (1, 1), 4096, 8, optional=True)
DRAM = StorageLevel("dram", "dram", ALL, (1, 1), None, 6.4)
CHIP = Hardware("chip", "cacti_45nm", 500, 16, (4, 2), (1, 1), (SPAD, GLB, DRAM), "lpddr4", 4)


def test_what_follows_from_the_parts() -> None:
    assert CHIP.macs == 8
    assert CHIP.fanouts == ((1, 1), (4, 2), (1, 1))
    assert CHIP.on_chip_bytes == 8 * 112 + 4096
    assert CHIP.fusion_level == 1
    assert CHIP.dram_gbytes_per_s == pytest.approx(6.4 * 2 * 0.5)
    assert (SPAD.private, GLB.private) == (True, False)
    assert SPAD.buffer_bytes("inputs") == 16
    assert GLB.buffer_bytes("inputs") == 4096
    assert DRAM.buffer_bytes("inputs") is None


def test_a_level_with_another_mesh_is_the_one_that_is_made_anew() -> None:
    hash(SPAD)
    other = SPAD.with_mesh((2, 8))
    assert other == replace(SPAD, mesh=(2, 8))
    assert hash(other) == hash(replace(SPAD, mesh=(2, 8)))
    pairs = replace(SPAD, cluster_size=4)
    for mesh in ((2, 3), (0, 4), (2, 2.5), (4,), (2**40, 2)):
        with pytest.raises(ValueError, match=r"level spad: (cluster_size|mesh)") as made:
            pairs.with_mesh(mesh)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"level spad: (cluster_size|mesh)") as anew:
            replace(pairs, mesh=mesh)
        assert str(made.value) == str(anew.value)


@pytest.mark.parametrize(
    ("array", "datapath"), [((1, 1), "scalar"), ((1, 4), "vector"), ((2, 4), "systolic")]
)
def test_datapath_and_fanout_of_arrays(array: tuple[int, int], datapath: str) -> None:
    chip = replace(CHIP, array=array)
    assert chip.datapath == datapath
    assert chip.fanouts[0] == array
    assert chip.macs == 8 * array[0] * array[1]


@pytest.mark.parametrize(
    "outermost",
    [
        replace(GLB, keeps=("weights",)),
        replace(GLB, storage="register"),
        replace(GLB, mesh=(2, 1)),
        replace(GLB, capacity_bytes=(("weights", 1), ("inputs", 1), ("outputs", 1))),
    ],
)
def test_only_a_shared_buffer_for_maps_fuses(outermost: StorageLevel) -> None:
    assert replace(CHIP, levels=(SPAD, outermost, DRAM)).fusion_level is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keeps": ()}, "keeps must name some of weights, inputs, outputs"),
        ({"keeps": ("biases",)}, "keeps must name some of"),
        ({"spatial_x": ("X",)}, "spatial dimensions are N, G, K"),
        ({"mesh": (0, 1)}, r"mesh must be instances along x and y, .* got \(0, 1\)"),
        ({"bandwidth_words": 0}, "bandwidth_words must be a number from 1e-09 .* got 0"),
        ({"capacity_bytes": None}, "all levels but DRAM need capacity_bytes"),
        ({"capacity_bytes": 0}, "capacity_bytes must be a number from 0.125 .* got 0"),
        ({"capacity_bytes": (("weights", 1),)}, "private buffers must match keeps"),
        (
            {"capacity_bytes": (("weights", 1), ("inputs", 0), ("outputs", 1))},
            "capacities must be from 0.125 up",
        ),
    ],
)
def test_impossible_levels_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"level glb: .*{message}"):
        replace(GLB, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frequency_mhz": 0}, "frequency_mhz must be a number from 0.001 .* got 0"),
        ({"vector_lanes": 0}, "vector_lanes must be a whole number from 1 .* got 0"),
        ({"levels": (SPAD, GLB)}, "the last level, and only it, must be DRAM"),
        ({"levels": (GLB, replace(GLB, name="glb"), DRAM)}, "level names must be unique"),
        ({"levels": (SPAD, replace(DRAM, keeps=("inputs",)))}, "DRAM must keep every tensor"),
        ({"pe_mesh": (6, 2)}, r"mesh \(4, 2\) of spad must divide the mesh \(6, 2\)"),
        ({"levels": (GLB, SPAD, DRAM)}, r"mesh \(4, 2\) of spad must divide the mesh \(1, 1\)"),
    ],
)
def test_impossible_hardware_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"hardware chip: .*{message}"):
        replace(CHIP, **change)  # type: ignore[arg-type]


def test_infeasibility_is_a_sentence_and_a_record() -> None:
    record = Infeasible("area_cap", "chip", 20, 12.25, "mm2", "use a smaller glb")
    assert str(record) == "area_cap at chip: needs 20 mm2, 12.25 mm2 available; use a smaller glb"
    assert Infeasible(**record.to_dict()) == record
    assert InfeasibleError(record).infeasible is record
    absent = Infeasible("no_buffer", "chip", 1, 0, "", "add one")
    assert str(absent) == "no_buffer at chip: add one"
    assert (
        Infeasible("x", "x", 2048, 1, "bytes", "").amounts == "needs 2,048 bytes, 1 byte available"
    )
    close = Infeasible("x", "x", 3.00001, 3.00002, "W", "")
    assert close.amounts == "needs 3.00001 W, 3.00002 W available"
    assert (
        str(Infeasible("few", "x", 2, 1, "", "add one"))
        == "few at x: needs 2, 1 available; add one"
    )


def test_counted_drains_need_a_level_that_results_always_leave() -> None:
    counted = Effects(drain_reads="counted")
    with pytest.raises(ValueError, match=r"drain_reads counted .* glb may be bypassed; choose fr"):
        replace(CHIP, effects=counted)
    kept = replace(GLB, optional=False)
    assert replace(CHIP, levels=(SPAD, kept, DRAM), effects=counted).effects == counted
    operands = ("weights", "inputs")
    spad = replace(SPAD, keeps=operands, capacity_bytes=SPAD.capacity_bytes[:2])
    with pytest.raises(ValueError, match=r"drain_reads counted .* no level keeps them"):
        replace(CHIP, levels=(spad, replace(GLB, keeps=operands), DRAM), effects=counted)
