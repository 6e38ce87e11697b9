"""Operands of a kernel: an input map, weights and bias in its type, the same for every schedule."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .csr import Csr, csr_of
from .kernel import KernelSpec
from .shape import ConvShape

#: numpy's types of maps and weights, and of bias and sums
STORED: Final[dict[str, type]] = {
    "float32": np.float32,
    "float16": np.float16,
    "float16_stored": np.float16,
    "int8": np.int8,
}
ADDED: Final[dict[str, type]] = {
    "float32": np.float32,
    "float16": np.float16,
    "float16_stored": np.float32,
    "int8": np.int32,
}

#: standard deviation of int8 results: few of them are cut off at 127
_SPREAD: Final = 40.0


@dataclass(frozen=True, eq=False)
class Operands:
    """What a kernel reads.

    Attributes:
        image: [C, H, W].
        weights: [K, C / groups, R, S], zeros among them where the density is below 1.
        bias: [K].
        scale: of sums of int8 products, to results in int8; 1 for other types.
    """

    image: NDArray[Any]
    weights: NDArray[Any]
    bias: NDArray[Any]
    scale: float = 1.0

    @cached_property
    def csr(self) -> Csr:
        """The weights in CSR, checked."""
        return csr_of(self.weights)


def random_operands(spec: KernelSpec) -> Operands:
    """Return normal random operands; equal shapes, types and densities give equal ones.

    Weights of the least magnitude are zero, as after global pruning; results have about the size
    of inputs.
    """
    shape = spec.shape
    name = f"{shape} {spec.dtype} {spec.density!r}"
    seed = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
    rng = np.random.default_rng(seed)
    image = rng.standard_normal((shape.c, shape.h, shape.w))
    weights = pruned(rng.standard_normal(shape.weight_shape), spec.density)
    bias = rng.standard_normal(shape.k)
    if spec.dtype == "int8":
        return _whole(shape, image, weights, bias)
    weights /= max(np.sqrt(np.square(weights).sum() / shape.k), 1e-6)
    stored, added = STORED[spec.dtype], ADDED[spec.dtype]
    return Operands(image.astype(stored), weights.astype(stored), bias.astype(added))


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """Weights of a layer of a trained model, in a file that nobody changes.

    Attributes:
        path: of numpy's format npz, with the arrays ``LAYER.weight`` and ``LAYER.bias``.
        layer: its name.
    """

    path: str
    layer: str


def stored_operands(spec: KernelSpec, stored: StoredWeights) -> Operands:
    """Return operands whose weights and bias are those of a file; the image is random.

    Raises:
        ValueError: the file has no such layer, or of another shape; or int8, whose weights have a
            scale that no file says.
    """
    if spec.dtype == "int8":
        raise ValueError(f"{spec}: weights of a file are floats")
    arrays = _arrays(stored.path)
    found = [arrays.get(f"{stored.layer}.{part}") for part in ("weight", "bias")]
    weights, bias = (np.zeros(0) if part is None else part for part in found)
    if weights.size != spec.shape.k * spec.shape.taps or bias.size != spec.shape.k:
        raise ValueError(
            f"{stored.path}: {stored.layer} has {weights.size} weights and {bias.size} biases, "
            f"{spec.shape} needs {spec.shape.k * spec.shape.taps} and {spec.shape.k}"
        )
    return replace(
        random_operands(replace(spec, density=1.0)),
        weights=weights.reshape(spec.shape.weight_shape).astype(STORED[spec.dtype]),
        bias=bias.astype(ADDED[spec.dtype]),
    )


@lru_cache(maxsize=8)
def _arrays(path: str) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def pruned(weights: NDArray[Any], density: float) -> NDArray[Any]:
    """Return weights of which only the share with the largest magnitudes is left."""
    left = round(density * weights.size)
    flat = weights.ravel().copy()
    flat[np.argsort(-np.abs(flat), kind="stable")[left:]] = 0
    return flat.reshape(weights.shape)


def _whole(
    shape: ConvShape, image: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]
) -> Operands:
    image, weights = np.rint(image * 32), np.rint(weights * 32)
    sizes = np.sqrt(np.square(image).mean() * np.square(weights).sum() / shape.k)
    scale = np.float32(_SPREAD / max(float(sizes), 1.0))
    low, high = -127, 127
    return Operands(
        np.clip(image, low, high).astype(np.int8),
        np.clip(weights, low, high).astype(np.int8),
        np.rint(bias * sizes / 4).astype(np.int32),
        float(scale),
    )
