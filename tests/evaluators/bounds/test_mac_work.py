from dataclasses import replace
from math import prod

import numpy as np
import pytest

from archloom.evaluators.bounds import mac_work
from archloom.evaluators.bounds.mac_work import MacWork, parallelism
from archloom.space.hardware.effects import Effects
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload.dims import DIMS

from ...cases.designs import edge, eyeriss_like, several, tpu_like

DESIGNS = [edge(), eyeriss_like(), tpu_like(), several((2, 2))]
MACS = np.array([6000, 77, 4096, 1], np.int64)
LOOPS = np.array(
    [
        [1, 1, 5, 4, 10, 10, 1, 3],
        [1, 7, 1, 1, 11, 1, 1, 1],
        [4, 1, 32, 32, 1, 1, 1, 1],
        [1] * 8,
    ],
    np.int64,
)
DENSITY = np.array([[0.5, 0.25], [1.0, 0.3], [0.7, 1.0], [1.0, 1.0]])


def by_hand(hardware: Hardware, loops: list[int]) -> float:
    """MACs that one layer occupies: by axis no more than children, or than bounds multiply to."""
    cores = 4 if hardware.fusion_level is None else 1
    most = float(cores)
    inside = len(hardware.levels) - (cores > 1)
    for level, (x, y) in zip(hardware.levels[:inside], hardware.fanouts, strict=False):
        for dims, children in ((level.spatial_x, x), (level.spatial_y, y)):
            most *= min(children, prod(loops[DIMS.index(d)] for d in dims))
    return min(most, float(prod(loops)))


@pytest.mark.parametrize("hardware", DESIGNS, ids=lambda hardware: hardware.name)
def test_layers_occupy_what_axes_and_bounds_allow(hardware: Hardware) -> None:
    work, parallel = MacWork(MACS, LOOPS, DENSITY), parallelism(hardware)
    occupied = [by_hand(hardware, loops) for loops in LOOPS.tolist()]
    assert work.occupied(parallel).tolist() == occupied
    cycles = sum(macs / most for macs, most in zip(MACS.tolist(), occupied, strict=True))
    assert work.cycles(parallel) == pytest.approx(cycles, rel=1e-12)
    few, many = work.cycles_on(parallel, np.array([1.0, 1e9]))
    assert few == MACS.sum()
    assert many == pytest.approx(cycles, rel=1e-12)


def test_zeros_are_left_out_where_they_are_skipped_or_gated() -> None:
    work = MacWork(MACS, LOOPS, DENSITY)
    hardware = replace(edge(), effects=Effects(weight_zeros="skipped", input_zeros="gated"))
    parallel = parallelism(hardware)
    left = MACS * DENSITY[:, 0] / work.occupied(parallel)
    assert work.cycles(parallel) == pytest.approx(left.sum(), rel=1e-12)
    assert work.energetic(parallel.zeros) == pytest.approx(float(MACS @ DENSITY.prod(axis=1)))
    assert work.energetic(("computed", "computed")) == MACS.sum()


def test_what_is_remembered_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mac_work, "_MOST_MESHES", 2)
    work, some = MacWork(MACS, LOOPS, DENSITY), np.array([True, False, True, False])
    for hardware in [*DESIGNS, *DESIGNS]:
        parallel = parallelism(hardware)
        fresh = MacWork(MACS, LOOPS, DENSITY)
        assert work.cycles(parallel) == fresh.cycles(parallel)
        own = MacWork(MACS[some], LOOPS[some], DENSITY[some])
        assert fresh.some(some).cycles(parallel) == own.cycles(parallel)


def test_no_layer_takes_no_cycles() -> None:
    nothing = MacWork(MACS[:0], LOOPS[:0], DENSITY[:0])
    assert nothing.cycles(parallelism(edge())) == 0.0
    assert nothing.energetic(("computed", "computed")) == 0.0
