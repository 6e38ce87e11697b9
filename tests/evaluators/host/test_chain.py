"""Whole networks: every layer is checked on its real map, and all types and libraries run."""

import numpy as np
import pytest

from archloom.evaluators.host.chain import Chain, ChainSpec, LibraryChain, missing_chain
from archloom.evaluators.host.kernel import KernelSpec
from archloom.evaluators.host.operands import Operands, random_operands
from archloom.evaluators.host.reference import WrongResultError
from archloom.evaluators.host.schedules import Library, Schedule, Untuned
from archloom.evaluators.host.shape import ConvShape, shape_of_layer
from archloom.space.networks.registry import network
from archloom.space.workload import INPUT, Builder, Network


def small_network() -> Network:
    """A network with all that chains run: residuals, depthwise, pools, sides by side, a product."""
    net = Builder((3, 11, 11))
    x = net.conv("stem", INPUT, 8, kernel=3, stride=2, activation="relu")
    y = net.depthwise("depthwise", x, stride=1, activation="relu6")
    y = net.conv("point", y, 8, kernel=1)
    x = net.add("add", x, y)
    pooled = net.maxpool("pool", x, kernel=3, stride=2, pad=1)
    one, two = net.conv("one", pooled, 4), net.conv("two", pooled, 4, kernel=1, activation="relu")
    x = net.conv("joined", (one, two), 6)
    net.gemm("fc", net.global_avgpool("mean", x), 5)
    return net.network("small")


def kernels(
    net: Network, algorithm: str, dtype: str, schedule: Schedule, sparse: bool = False
) -> dict[ConvShape, tuple[KernelSpec, Schedule]]:
    found = {}
    for layer in net.layers:
        if layer.uses_macs:
            shape = shape_of_layer(layer)
            assert isinstance(shape, ConvShape)
            density = 0.5 if sparse else 1.0
            found[shape] = KernelSpec(shape, algorithm, dtype, sparse, density), schedule
    return found


@pytest.mark.parametrize(
    ("dtype", "sparse"), [("float32", False), ("float32", True), ("int8", False)]
)
def test_a_network_of_plain_loops_is_right_in_every_layer(dtype: str, sparse: bool) -> None:
    net = small_network()
    assert missing_chain(net) is None
    chain = Chain(ChainSpec(net, kernels(net, "portable", dtype, Untuned(), sparse)), 1)
    before = chain.maps["fc"].copy()
    assert np.any(before)
    chain.maps["fc"][:] = 0
    chain()
    np.testing.assert_array_equal(chain.maps["fc"], before)


def test_compiled_and_library_networks_compute_the_same() -> None:
    net = small_network()
    compiled = Chain(ChainSpec(net, kernels(net, "gemm", "float32", Untuned())), 1)
    library = LibraryChain(ChainSpec(net, kernels(net, "library", "float32", Library("nhwc"))))
    compiled()
    library()
    found = library.maps["fc"][0].numpy().ravel()
    np.testing.assert_allclose(compiled.maps["fc"].ravel(), found, rtol=1e-4, atol=1e-5)


def test_a_wrong_layer_is_found_on_its_real_map() -> None:
    def spoiled(spec: KernelSpec) -> Operands:
        operands = random_operands(spec)
        if spec.shape.k == 6:
            # the loops read what is in CSR by now, the reference the weights
            assert operands.csr.rows == 6
            operands.weights[0] += 1
        return operands

    net = small_network()
    chosen = kernels(net, "portable", "float32", Untuned(), sparse=True)
    Chain(ChainSpec(net, chosen), 1)
    with pytest.raises(WrongResultError):
        Chain(ChainSpec(net, chosen), 1, spoiled)


def test_a_network_that_cannot_be_run_as_a_whole_has_a_reason() -> None:
    why = missing_chain(network("bert_base"))
    assert why is not None
    assert why.hint
