"""Schedules as mappings: they cover the layer, and cost the cycles that their loops say."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from archloom.evaluators.host.kernel import KernelSpec
from archloom.evaluators.host.machine.expectation import predicted, warm
from archloom.evaluators.host.machine.loop_nests import loop_nest, mapping_of
from archloom.evaluators.host.machine.template import host_template
from archloom.evaluators.host.schedules import Direct, Gemm, Library, SpatialPack, Untuned, curated
from archloom.evaluators.host.shape import read_shape
from archloom.space.hardware import Hardware
from archloom.space.workload import DIMS, C, G, K, P, Q, R, S

from .test_template import built, rates

SHAPES = (
    "64x32x32:64:3x3,activation=relu",
    "96x16x16:96:3x3,groups=96",
    "64x16x16:128:1x1",
    "32x15x15:48:5x5,stride=2,groups=2",
    "512x2x2:512:3x3",
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Hardware:
    folder: Path = tmp_path_factory.mktemp("host")
    return built(host_template(rates(15.0), cores=1), folder)


def specs():
    for text in SHAPES:
        for algorithm in ("direct", "gemm", "spatial_pack"):
            spec = KernelSpec(read_shape(text), algorithm)
            starts = [*islice(curated(spec), 3)]
            starts.append(Untuned())
            yield from ((spec, schedule) for schedule in starts)


@pytest.mark.parametrize(("spec", "schedule"), list(specs()), ids=str)
def test_loops_cover_the_layer_and_tiles_fit_where_they_stand(spec, schedule, host) -> None:
    nest = loop_nest(spec, schedule, host.array[0])
    assert nest is not None
    # a product of im2col has the multiply-accumulates of its convolution
    assert nest.layer.macs == spec.shape.macs
    mapping = mapping_of(nest, host)
    pairs = list(zip(mapping.factors, nest.layer.bounds, strict=True))
    assert all(factor >= bound for factor, bound in pairs)
    # and nowhere a whole tile more than what is there
    assert all(factor < 2 * bound + 64 for factor, bound in pairs)
    found = predicted(spec, schedule, host)
    assert found is not None
    assert found.nest >= found.products * 0.999
    assert found.chains >= found.products
    again = predicted(spec, schedule, warm(host, spec))
    assert again is not None
    assert again.nest <= found.nest
    assert (found.copies == 0) == (
        spec.algorithm == "direct" or (spec.algorithm == "gemm" and spec.shape.pointwise)
    )


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize(("spec", "schedule"), list(specs()), ids=str)
def test_loops_cover_the_layer_in_narrow_registers(spec, schedule, lanes, host) -> None:
    narrow = replace(host, array=(lanes, host.array[0] * host.array[1] // lanes))
    nest = loop_nest(spec, schedule, lanes)
    assert nest is not None
    factors = mapping_of(nest, narrow).factors
    assert all(f >= bound for f, bound in zip(factors, nest.layer.bounds, strict=True))
    assert predicted(spec, schedule, narrow) is not None


def test_a_direct_kernel_loop_by_loop(host: Hardware) -> None:
    """A tile of 4 channels, 2 rows and 32 pixels; its window inside, then pixels, then channels."""
    spec = KernelSpec(read_shape("64x32x32:64:3x3"), "direct")
    nest = loop_nest(spec, Direct(16, 2, 2, 4, "channels_outer"), 16)
    assert nest is not None
    assert nest.lanes == (Q, 16)
    assert nest.tile == ((K, 4), (P, 2), (Q, 2))
    assert nest.accumulators == 16
    assert [loop for loop in nest.loops if loop[1] > 1] == [
        *((S, 3), (R, 3), (C, 64)),
        *((P, 16), (K, 16)),
    ]
    mapping = mapping_of(nest, host)
    held = {DIMS[d]: n for d, n in enumerate(mapping.levels[0].temporal) if n > 1}
    assert held == {"K": 4, "P": 2, "Q": 2}
    # weights of 4 channels, 4 rows of 64 maps and the tile are 43 kB: a cache of 32 kB has no room
    assert mapping.levels[1].temporal[C] == 1
    assert mapping.levels[2].temporal[C] == 64


def test_a_kernel_without_a_tile_updates_memory_for_each_product(host: Hardware) -> None:
    """One vector read and written for each vector of products: bandwidth decides, not products."""
    spec = KernelSpec(read_shape("64x32x32:64:3x3"), "direct")
    slow, fast = (predicted(spec, s, host) for s in (Untuned(16), Direct(16, 2, 2, 4)))
    assert slow is not None
    assert fast is not None
    assert slow.products == fast.products
    # a sum read and written in each step, at 15 words a cycle, where registers hold the tile
    assert slow.nest > 2 * 16 / 15 * slow.products
    assert fast.nest < 1.1 * fast.products


def test_few_accumulators_wait_for_their_products(host: Hardware) -> None:
    spec = KernelSpec(read_shape("64x16x16:128:1x1"), "gemm")
    for vectors, channels, factor in ((1, 1, 4), (2, 1, 2), (1, 4, 1), (4, 4, 1)):
        found = predicted(spec, Gemm(16, vectors, channels), host)
        assert found is not None
        assert found.chains == factor * found.products


def test_halos_of_tiles_are_copied() -> None:
    spec = KernelSpec(read_shape("32x16x16:64:3x3"), "spatial_pack")
    nest = loop_nest(spec, SpatialPack(16, 4, 2), 16)
    assert nest is not None
    # 4 x 8 tiles of (2 + 2) x (4 + 2) pixels
    assert nest.copied_words == 32 * 32 * 4 * 6
    assert nest.copy_bytes == 4 * 32 * 4 * 6
    whole = loop_nest(spec, SpatialPack(16, 4, 2, packing="whole"), 16)
    assert whole is not None
    assert whole.copy_bytes == 4 * whole.copied_words


def test_two_vector_units_share_a_tile(tmp_path: Path) -> None:
    spec = KernelSpec(read_shape("64x32x32:64:3x3"), "direct")
    schedule = Direct(16, 2, 2, 4)
    one = built(host_template(rates(15.0), cores=1), tmp_path)
    two = built(host_template(rates(30.0), cores=1), tmp_path)
    assert mapping_of(loop_nest(spec, schedule, 16), two).levels[0].spatial_y[K] == 2
    single, double = predicted(spec, schedule, one), predicted(spec, schedule, two)
    assert single is not None
    assert double is not None
    assert double.products == single.products / 2
    assert double.nest < 0.75 * single.nest


@pytest.mark.parametrize(
    ("spec", "schedule"),
    [
        (KernelSpec(read_shape(SHAPES[0]), "direct", sparse=True, density=0.5), Untuned()),
        (KernelSpec(read_shape(SHAPES[0]), "direct", "int8"), Untuned()),
        (KernelSpec(read_shape(SHAPES[0]), "library"), Library()),
    ],
)
def test_loops_that_are_not_known_are_none(spec, schedule, host) -> None:
    assert loop_nest(spec, schedule, 16) is None
    assert predicted(spec, schedule, host) is None


def test_operands_of_a_kernel_that_runs_again_are_in_a_cache(host: Hardware) -> None:
    small, large = (KernelSpec(read_shape(t), "direct") for t in ("8x8x8:8:1x1", SHAPES[4]))
    *_, of_small = warm(host, small).levels
    assert of_small.bandwidth_words == host.levels[1].bandwidth_words
    # 9.4 MB of weights
    *inner, of_large = warm(host, large).levels
    assert of_large.bandwidth_words == host.levels[3].bandwidth_words
    assert inner[1] == host.levels[1]


def test_groups_are_loops_of_their_own() -> None:
    spec = KernelSpec(read_shape(SHAPES[3]), "direct")
    nest = loop_nest(spec, Untuned(), 16)
    assert nest is not None
    assert nest.loops[-1] == (G, 2)
    assert nest.layer.stride == (2, 2)
    assert (R, 5) in nest.loops
