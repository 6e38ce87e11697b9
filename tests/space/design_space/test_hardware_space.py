import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.shipped import TEMPLATES
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware

from .test_template import GOOD

SPACES = {name: HardwareSpace.load(name) for name in TEMPLATES}
names = st.sampled_from(TEMPLATES)
seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> HardwareSpace:
    path: Path = tmp_path_factory.mktemp("space") / "mine.yaml"
    path.write_text(GOOD)
    return HardwareSpace.load(path)


def test_enumeration_gives_each_hardware_once(small: HardwareSpace) -> None:
    points = list(small.enumerate())
    # 3 pe_x, 3 rows, 3 glb_kib; private has no line, shared has two
    assert len(points) == small.cardinality == 3 * 3 * 3 * (1 + 2)
    assert len({small.point_key(point) for point in points}) == len(points)
    assert all(small.canonical(point) == point for point in points)
    built = [b for b in map(small.build, points) if isinstance(b, Hardware)]
    assert len(set(built)) == len(built)
    # the rule leaves out pe_x 4 with 6 rows
    assert len(built) == len(points) - 9


def test_cardinality_of_the_shipped_spaces() -> None:
    assert SPACES["casco_edge"].cardinality == 9 * 9 * 5 * 4 * 4 * 6 * 3 * 3
    # Table 3 of FAST: meshes, L1 (private or shared), L2 (none, private or shared), the rest
    assert SPACES["fast"].cardinality == 9**4 * (11**3 + 11) * (1 + 8**3 + 8) * 10 * 4 * 9


def test_a_broken_rule_gives_numbers_and_a_hint() -> None:
    space = SPACES["casco_edge"]
    point = {p.name: p.values[0] for p in space.parameters} | {"pe_x": 16, "pe_y": 28}
    found = space.build(point)
    assert found == Infeasible(
        "max_pes", "pe_x = 16, pe_y = 28", 448, 384, "PEs", "use a smaller pe_x or pe_y"
    )


def test_parameters_without_effect_do_not_matter(small: HardwareSpace) -> None:
    point = {"pe_x": 1, "rows": 2, "mode": "private", "glb_kib": 0}
    same = [point, {**point, "line": 2}, {**point, "line": 4}]
    assert len({small.point_key(p) for p in same}) == 1
    assert len({small.build(p) for p in same}) == 1
    np.testing.assert_array_equal(small.encode(same), small.encode([point] * 3))
    assert small.canonical({**point, "line": 4})["line"] == 2


def test_values_keep_their_type(small: HardwareSpace) -> None:
    point = {"pe_x": 2.0, "rows": 4.0, "mode": "private", "glb_kib": False}
    found = small.canonical(point)
    assert found == {"pe_x": 2, "rows": 4, "mode": "private", "glb_kib": 0, "line": 2}
    assert [type(v) for v in found.values()] == [int, int, str, int, int]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pe_x": 3}, "parameter pe_x: 3 is not one of its values; the nearest is 2"),
        ({"mode": "privat"}, "parameter mode: 'privat' is not one of its values; did you mean"),
        ({"line": 3}, "parameter line: 3 is not one of its values"),
        ({"pe_xx": 1}, "parameter 'pe_xx' is not known; did you mean pe_x"),
        ({"mode": "shared"}, "parameter line is missing"),
    ],
)
def test_wrong_points_are_refused(
    small: HardwareSpace, change: dict[str, int | str], message: str
) -> None:
    point = {"pe_x": 1, "rows": 2, "mode": "private", "glb_kib": 0}
    with pytest.raises(ValueError, match=message):
        small.build({**point, **change})


def test_neighbours_are_one_step_away(small: HardwareSpace) -> None:
    point = {"pe_x": 1, "rows": 4, "mode": "shared", "glb_kib": 8, "line": 4}
    changes = [
        {"pe_x": 2},
        {"rows": 2},
        {"rows": 6},
        {"mode": "private", "line": 2},
        {"glb_kib": 0},
        {"glb_kib": 32},
        {"line": 2},
    ]
    assert small.neighbours(point) == [{**point, **change} for change in changes]


def test_encoding_has_a_column_for_each_number_and_each_text(small: HardwareSpace) -> None:
    points = [
        {"pe_x": 2, "rows": 4, "mode": "shared", "glb_kib": 8, "line": 4},
        {"pe_x": 4, "rows": 2, "mode": "private", "glb_kib": 32},
    ]
    expected = [[0.5, 0.5, 0.0, 1.0, 0.25, 1.0], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]]
    np.testing.assert_allclose(small.encode(points), expected)
    assert small.encode([]).shape == (0, 6)


@given(names, seeds)
def test_samples_are_canonical_and_build(name: str, seed: int) -> None:
    space = SPACES[name]
    point = space.sample(np.random.default_rng(seed))
    assert space.sample(np.random.default_rng(seed)) == point
    assert space.canonical(point) == point
    assert isinstance(space.build(point), Hardware | Infeasible)
    row = space.encode([point])
    assert row.shape == (1, space.encode([]).shape[1])
    assert row.dtype == np.float64
    assert row.min() >= 0
    assert row.max() <= 1


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_was_built_before_changes_no_design(name: str) -> None:
    space, rng = HardwareSpace.load(name), np.random.default_rng(1)
    points = [space.sample(rng) for _ in range(50)]
    built = [space.build(point) for point in points]
    again = HardwareSpace.load(name)
    assert [again.build(point) for point in points[::-1]] == built[::-1]
    for point, hardware in zip(points[:5], built, strict=False):
        assert HardwareSpace.load(name).build(point) == hardware


@given(names, seeds)
def test_neighbours_are_new_points_that_lead_back(name: str, seed: int) -> None:
    space = SPACES[name]
    point = space.sample(np.random.default_rng(seed))
    near = space.neighbours(point)
    keys = [space.point_key(p) for p in near]
    assert len(set(keys)) == len(keys)
    assert space.point_key(point) not in keys
    switches = {name for p in space.parameters if p.when for name in p.when.names}
    for other in near:
        assert list(space.canonical(other).items()) == list(other.items())
        if all(other[s] == point[s] for s in switches):
            assert point in space.neighbours(other)


@given(names, seeds, seeds)
def test_encoding_tells_points_apart(name: str, first: int, second: int) -> None:
    space = SPACES[name]
    a, b = (space.sample(np.random.default_rng(seed)) for seed in (first, second))
    rows = space.encode([a, b])
    assert (rows[0] == rows[1]).all() == (space.point_key(a) == space.point_key(b))


def test_a_space_travels_to_other_processes() -> None:
    space = SPACES["fast"]
    point = space.sample(np.random.default_rng(1))
    assert pickle.loads(pickle.dumps(space)).build(point) == space.build(point)


FAST = {
    "pes_x": 8,
    "pes_y": 8,
    "systolic_x": 32,
    "systolic_y": 32,
    "l1_config": "shared",
    "l1_total_kib": 16,
    "l2_config": "disabled",
    "global_buffer_mib": 128,
    "gddr6_channels": 8,
    "native_batch": 8,
}


def fast(**changes: int | str) -> Hardware:
    built = SPACES["fast"].build({**FAST, **changes})
    assert isinstance(built, Hardware)
    return built


def test_fast_large_has_the_published_peaks() -> None:
    """FAST Table 4: 131 TFLOPS, 448 GB/s, batch 8."""
    chip = fast()
    assert 2 * chip.macs * chip.frequency_mhz / 1e6 == pytest.approx(131, rel=0.001)
    assert chip.dram_gbytes_per_s == pytest.approx(448)
    assert chip.native_batch == 8
    assert [level.name for level in chip.levels] == ["latch", "l1", "global_buffer", "dram"]
    assert chip.fanouts == ((1, 1), (32, 32), (8, 8), (1, 1))
    assert chip.fusion_level == 2


def test_fast_arrays_are_weight_stationary() -> None:
    latch, l1, *_ = fast().levels
    assert (latch.keeps, latch.storage, latch.total_bytes) == (("weights",), "register", 4)
    assert (l1.spatial_x, l1.spatial_y) == (("K",), ("C", "R", "S"))
    scalar = fast(systolic_x=1, systolic_y=1)
    assert scalar.datapath == "scalar"
    assert scalar.levels[0].name == "l1"
    # a scalar PE reads three words and writes one in a cycle
    assert scalar.levels[0].bandwidth_words == 4
    assert fast(systolic_x=1).datapath == "vector"


@pytest.mark.parametrize("l1", ["private", "shared"])
@pytest.mark.parametrize("l2", ["private", "shared"])
def test_fast_l2_is_a_multiple_of_the_l1_below(l1: str, l2: str) -> None:
    sizes = (
        {"l1_input_kib": 1, "l1_weight_kib": 4, "l1_output_kib": 2}
        if l1 == "private"
        else {"l1_total_kib": 8}
    )
    multipliers = (
        {"l2_input_multiplier": 2, "l2_weight_multiplier": 8, "l2_output_multiplier": 4}
        if l2 == "private"
        else {"l2_total_multiplier": 16}
    )
    levels = fast(l1_config=l1, l2_config=l2, **sizes, **multipliers).levels
    kib = {
        ("private", "private"): (4 * 8, 1 * 2, 2 * 4),
        ("shared", "private"): (8 * 8, 8 * 2, 8 * 4),
        ("private", "shared"): (16 * 7,),
        ("shared", "shared"): (16 * 8,),
    }[l1, l2]
    assert levels[2].name == "l2"
    assert levels[2].private == (l2 == "private")
    capacity = levels[2].capacity_bytes
    amounts = [b for _, b in capacity] if isinstance(capacity, tuple) else [capacity]
    assert amounts == [1024 * k for k in kib]


def test_fast_without_a_global_buffer_has_no_place_to_fuse() -> None:
    chip = fast(global_buffer_mib=0)
    assert [level.name for level in chip.levels] == ["latch", "l1", "dram"]
    assert chip.fusion_level is None


def test_casco_edge_picks_the_memory_of_its_scratchpads() -> None:
    space = SPACES["casco_edge"]
    point = {p.name: p.values[-1] for p in space.parameters} | {"pe_x": 12, "pe_y": 28}
    large = space.build(point)
    small = space.build({**point, "weight_spad_bytes": 64, "input_spad_bytes": 64})
    assert isinstance(large, Hardware)
    assert isinstance(small, Hardware)
    assert (large.levels[0].storage, small.levels[0].storage) == ("sram", "register")
    assert large.dram_gbytes_per_s == pytest.approx(4 * 6.4)
    assert large.fusion_level == 1
