"""Expected times of kept kernels: a sample of what docs/validation/host_kernels.md says of all of
them."""

import gzip
import json
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import spearmanr

from archloom.evaluators.host.kernel import KernelSpec
from archloom.evaluators.host.machine.expectation import Prediction, predicted, warm
from archloom.evaluators.host.schedules import read_schedule
from archloom.evaluators.host.shape import read_shape
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware import Hardware

from ....source_tree import ROOT

DATA = ROOT / "benchmarks" / "data"
EVERY = 2

Kernel = tuple[KernelSpec, float, Prediction]


@pytest.fixture(scope="module")
def host() -> Hardware:
    found = HardwareSpace.load(str(DATA / "host_one_core.yaml")).build({})
    assert isinstance(found, Hardware)
    return found


@pytest.fixture(scope="module")
def kernels(host) -> list[Kernel]:
    """Every other layer, with all of its kernels."""
    of: dict[str, list[tuple[str, dict[str, object], float]]] = defaultdict(list)
    with gzip.open(DATA / "host_kernels.jsonl.gz", "rt") as lines:
        for line in lines:
            kernel, schedule, time_us = json.loads(line)
            of[kernel.split()[0]].append((kernel, schedule, time_us))
    found = []
    for shape in list(of)[::EVERY]:
        for kernel, schedule, time_us in of[shape]:
            spec = KernelSpec(read_shape(shape), *kernel.split()[1:])
            expected = predicted(spec, read_schedule(schedule), warm(host, spec))
            assert expected is not None
            found.append((spec, time_us, expected))
    return found


def within(kernels: list[Kernel], *names: str) -> float:
    """Spearman's correlation within a layer, the mean over layers."""
    of = defaultdict(list)
    for spec, time_us, expected in kernels:
        of[spec.shape].append((sum(getattr(expected, name) for name in names), time_us))
    return float(np.mean([spearmanr(*zip(*pairs, strict=True)).statistic for pairs in of.values()]))


def test_the_model_ranks_what_was_measured(kernels) -> None:
    assert len(kernels) > 900
    nests = [expected.nest for _, _, expected in kernels]
    times = [time_us for _, time_us, _ in kernels]
    assert spearmanr(nests, times).statistic > 0.87


def test_memory_and_copies_decide_within_a_layer(kernels) -> None:
    vectors = within(kernels, "products")
    model, copied = within(kernels, "nest"), within(kernels, "nest", "copies")
    assert 0.5 < vectors < model < copied


def test_the_best_kernels_of_3x3_layers_take_what_is_expected(kernels, host) -> None:
    ratios = []
    for spec, time_us, expected in kernels:
        # no kernel is faster than a full vector of products in each cycle
        assert time_us * host.frequency_mhz > 0.97 * spec.shape.macs / host.macs
        assert expected.chains >= expected.products
    for shape in {spec.shape for spec, _, _ in kernels}:
        if not shape.depthwise and (shape.r, shape.s) == (3, 3):
            best = min((t, e.nest) for spec, t, e in kernels if spec.shape == shape)
            ratios.append(best[0] * host.frequency_mhz / best[1])
    assert len(ratios) > 5
    assert 0.95 < np.median(ratios) < 1.1
