"""Schedules: their constraints, curated starts, and records."""

from dataclasses import fields
from itertools import islice, product

import pytest

from archloom.evaluators.host.kernel import COMPILED, KernelSpec
from archloom.evaluators.host.schedules import (
    MOST_ACCUMULATORS,
    MOST_UNROLLED,
    Direct,
    Gemm,
    SpatialPack,
    Untuned,
    curated,
    read_schedule,
    schedule_kind,
    schedule_record,
)
from archloom.evaluators.host.shape import read_shape, shape_of_layer
from archloom.space.networks.registry import network

CIFAR = ("resnet18_cifar10", "vgg16_cifar10", "mobilenetv1_cifar10", "mobilenetv2_cifar10")
RESNET = read_shape("64x32x32:64:3x3")


@pytest.mark.parametrize("name", CIFAR)
@pytest.mark.parametrize("algorithm", [*COMPILED, "csr direct", "csr gemm"])
def test_every_cifar_layer_has_curated_starts_that_fit(name: str, algorithm: str) -> None:
    sparse, algorithm = algorithm.startswith("csr"), algorithm.split()[-1]
    for layer in network(name).layers:
        if layer.uses_macs:
            spec = KernelSpec(shape_of_layer(layer), algorithm, sparse=sparse)  # type: ignore[arg-type]
            starts = curated(spec)
            assert starts
            assert len(set(starts)) == len(starts)
            assert all(start.fault(spec) is None for start in starts)


@pytest.mark.parametrize(
    ("schedule", "shape", "fault"),
    [
        (Direct(8, 4, 4, 2), "64x32x32:64:3x3", "accumulators"),
        (Direct(8, 2, 2, 4, unroll=True), "64x32x32:64:3x3", "unrolled products"),
        (Direct(32, 2), "64x32x32:64:3x3", "x tile"),
        (Direct(8, 1, 2), "8x9x9:8:3x3", "y_rows"),
        (Direct(8, 1, 1, 4), "8x9x9:6:3x3", "channels"),
        (Gemm(16, 8, 1, unroll=2), "8x7x7:8:3x3", "pixel tile"),
        (Gemm(8, 1, 4, unroll=2), "3x9x9:8:3x3", "unroll"),
        (Gemm(8, 1, columns="tile"), "8x9x9:8:3x3", "columns of a tile"),
        (SpatialPack(16), "8x9x9:8:3x3", "vector"),
        (SpatialPack(8, 2), "8x9x9:8:3x3", "width"),
        (SpatialPack(8, 1, 2), "8x9x9:8:3x3", "height"),
        (SpatialPack(8, unroll=4), "6x9x9:8:3x3", "unroll"),
    ],
)
def test_a_constraint_that_is_broken_is_named(schedule: Direct, shape: str, fault: str) -> None:
    algorithm = {"Direct": "direct", "Gemm": "gemm"}.get(type(schedule).__name__, "spatial_pack")
    why = schedule.fault(KernelSpec(read_shape(shape), algorithm))
    assert why is not None
    assert (why.reason, why.where) == ("schedule", fault)
    assert why.hint


@pytest.mark.parametrize("algorithm", COMPILED)
def test_no_schedule_that_fits_unrolls_more_than_compilers_stand(algorithm: str) -> None:
    """The product of all unrolled loops, counted by hand, is within the limit."""
    spec = KernelSpec(RESNET, algorithm)
    kind = schedule_kind(spec)
    names = [field.name for field in fields(kind)]
    found = 0
    for values in islice(product(*(kind.CHOICES[n] for n in names)), 0, None, 3):
        switched = [{"no": False, "yes": True}.get(str(v), v) for v in values]
        schedule = kind(*switched)
        if schedule.fault(spec) is None:
            found += 1
            tile = {
                "direct": ("x_vectors", "y_rows", "channels"),
                "gemm": ("pixel_vectors", "channels"),
                "spatial_pack": ("width", "height"),
            }[algorithm]
            count = max(schedule.vector // 16, 1)
            for name in tile:
                count *= getattr(schedule, name)
            assert count <= MOST_ACCUMULATORS
            unrolled = {"direct": 9 if schedule.unroll is True else 1}
            count *= unrolled.get(algorithm, int(schedule.unroll))
            assert count <= MOST_UNROLLED
    assert found > 50


@pytest.mark.parametrize("algorithm", [*COMPILED, "library"])
def test_a_schedule_is_read_as_it_is_written(algorithm: str) -> None:
    for schedule in [Untuned(), *curated(KernelSpec(RESNET, algorithm))]:
        assert read_schedule(schedule_record(schedule)) == schedule
