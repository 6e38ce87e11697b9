"""Weights of trained models in kernels: read from files, and right in whole networks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.network import to_network
from archloom.evaluators.accuracy.pruning.weights import prune_weights
from archloom.evaluators.accuracy.quantization.folding import folded
from archloom.evaluators.host.chain import Chain, ChainSpec
from archloom.evaluators.host.executable import executable
from archloom.evaluators.host.kernel import KernelSpec
from archloom.evaluators.host.operands import StoredWeights, random_operands, stored_operands
from archloom.evaluators.host.reference import reference
from archloom.evaluators.host.schedules import Code, Schedule, Untuned
from archloom.evaluators.host.shape import ConvShape, read_shape, shape_of_layer

SHAPE = read_shape("4x5x5:6:3x3,activation=relu")


def kept(path: Path, **arrays: Any) -> StoredWeights:
    np.savez(path, **{f"conv.{name}": value for name, value in arrays.items()})
    return StoredWeights(str(path), "conv")


def test_weights_of_a_file_are_those_of_the_kernel(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    weight, bias = rng.standard_normal((6, 4, 3, 3)), rng.standard_normal(6)
    stored = kept(tmp_path / "one.npz", weight=weight, bias=bias)
    found = stored_operands(KernelSpec(SHAPE, "gemm", "float32", True, 0.5), stored)
    np.testing.assert_array_equal(found.weights, weight.astype(np.float32))
    np.testing.assert_array_equal(found.bias, bias.astype(np.float32))
    # the image is that of all kernels of the shape
    np.testing.assert_array_equal(found.image, random_operands(KernelSpec(SHAPE, "gemm")).image)


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    spec = KernelSpec(SHAPE, "gemm")
    odd = kept(tmp_path / "odd.npz", weight=np.zeros((6, 4, 3, 2)), bias=np.zeros(6))
    with pytest.raises(ValueError, match=r"has 144 weights and 6 biases, .* needs 216 and 6"):
        stored_operands(spec, odd)
    with pytest.raises(ValueError, match="other has 0 weights"):
        stored_operands(spec, replace(odd, layer="other"))
    with pytest.raises(ValueError, match="weights of a file are floats"):
        stored_operands(replace(spec, dtype="int8"), odd)


def test_code_in_csr_is_compiled_once_for_all_densities() -> None:
    code: Code = {}
    results = []
    for density in (0.0, 0.3, 1.0):
        spec = KernelSpec(SHAPE, "gemm", "float32", True, density)
        operands = random_operands(spec)
        made = executable(spec, Untuned(), operands, 1, code)
        made.checked(reference(spec, operands))
        results.append(made.result)
    assert len(code) == 1
    assert len({result.tobytes() for result in results}) == 3
    executable(KernelSpec(SHAPE, "gemm"), Untuned(), random_operands(spec), 1, code)
    assert len(code) == 2


def test_a_pruned_network_computes_in_csr_what_torch_computes(tmp_path: Path) -> None:
    """Every layer has its own weights, those of equal shape too."""
    image = (1, 8, 8)
    model = build_model("vgg16", image, 10, 0.125, seed=2)
    prune_weights(model, 0.7)
    model.eval()
    plain, net = folded(model), to_network(model, image, "pruned")
    arrays: dict[str, Any] = {}
    kernels: dict[ConvShape, tuple[KernelSpec, Schedule]] = {}
    for name, part in plain.named_modules():
        if isinstance(part, torch.nn.Conv2d):
            assert part.bias is not None
            arrays |= {f"{name}.weight": part.weight.detach(), f"{name}.bias": part.bias.detach()}
    for layer in net.layers:
        if layer.uses_macs:
            shape = shape_of_layer(layer)
            assert isinstance(shape, ConvShape)
            kernels[shape] = (
                KernelSpec(shape, "gemm", "float32", layer.operator == "conv"),
                Untuned(),
            )
    path = tmp_path / "pruned.npz"
    np.savez(path, **arrays)
    names = [name.removesuffix(".weight") for name in arrays if name.endswith("weight")]
    spec = ChainSpec(net, kernels, {name: StoredWeights(str(path), name) for name in names})
    assert len(names) > len(kernels), "some layers share a shape"
    chain = Chain(spec, 1)
    read: list[torch.Tensor] = []
    plain.get_submodule("classifier").register_forward_pre_hook(lambda _, x: read.append(x[0]))
    source = next(name for name in chain.maps if name not in {x.name for x in net.layers})
    with torch.no_grad():
        plain(torch.from_numpy(chain.maps[source]).unsqueeze(0))
    pooled = chain.maps[net.layers[-2].name]
    np.testing.assert_allclose(pooled.ravel(), read[0].numpy().ravel(), rtol=1e-4, atol=1e-5)
