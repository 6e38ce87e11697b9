"""Kernels of convolutions: shape, algorithm, type of data, format of weights; and which there are.

The axes are those of Gibson et al., "DLAS: An Exploration and Assessment of the Deep Learning
Acceleration Stack", sections 4.2 to 4.4.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from archloom.space import Infeasible, did_you_mean

from .shape import ConvShape

Algorithm = Literal["direct", "gemm", "spatial_pack", "library", "portable"]
DType = Literal["float32", "float16", "float16_stored", "int8"]

#: direct, im2col with a matrix product, spatial pack (compiled by Halide); oneDNN as torch calls
#: it; plain loops compiled by numba
ALGORITHMS: Final[tuple[str, ...]] = get_args(Algorithm)

#: ``float16`` also adds up in float16, ``float16_stored`` in float32; ``int8`` in int32
DTYPES: Final[tuple[str, ...]] = get_args(DType)

#: algorithms that need the package halide
COMPILED: Final[tuple[str, ...]] = ("direct", "gemm", "spatial_pack")

#: algorithms and types that have kernels for weights in CSR
SPARSE: Final[tuple[str, ...]] = ("direct", "gemm", "portable")

_NUMBA_TYPES: Final = ("float32", "int8")


class CompileError(Exception):
    """A schedule that a compiler refuses."""


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """What a kernel computes, and on what data; how is its schedule.

    Attributes:
        shape: of the convolution.
        algorithm: one of :data:`ALGORITHMS`.
        dtype: one of :data:`DTYPES`.
        sparse: whether weights are in CSR, a row for each output channel; else dense.
        density: share of the weights that are not zero.

    Raises:
        ValueError: an unknown algorithm or type, or a density outside [0, 1].
    """

    shape: ConvShape
    algorithm: str
    dtype: str = "float32"
    sparse: bool = False
    density: float = 1.0

    def __post_init__(self) -> None:
        for name, value, known in (
            ("algorithm", self.algorithm, ALGORITHMS),
            ("dtype", self.dtype, DTYPES),
        ):
            if value not in known:
                raise ValueError(f"{name} {value!r} is not known; {did_you_mean(value, known)}")
        if not 0 <= self.density <= 1:
            raise ValueError(f"density is {self.density}, must be from 0 up to 1")

    @property
    def reference(self) -> "KernelSpec":
        """The library's kernel that this one is compared with: float32, all weights."""
        return replace(self, algorithm="library", dtype="float32", sparse=False, density=1.0)

    def __str__(self) -> str:
        """Return its name: every kernel has one of its own."""
        form = f" csr {self.density:g}" if self.sparse else ""
        form = form or (f" density {self.density:g}" if self.density < 1 else "")
        return f"{self.shape} {self.algorithm} {self.dtype}{form}"


def missing_kernel(spec: KernelSpec) -> Infeasible | None:
    """Return why there is no such kernel; None if there is one."""
    name = spec.algorithm
    if spec.sparse and (name not in SPARSE or spec.dtype != "float32"):
        hint = f"the kernels for CSR weights are {', '.join(SPARSE)}, in float32 only"
        return _absent(f"{name} {spec.dtype} in CSR", hint)
    if name == "library" and spec.dtype != "float32":
        return _absent(
            f"library {spec.dtype}", "the library is measured with dense float32 weights only"
        )
    if name == "portable" and spec.dtype not in _NUMBA_TYPES:
        return _absent(
            f"portable {spec.dtype}",
            "numba cannot compile float16 for this processor; use float32 or int8",
        )
    return None


def _absent(what: str, hint: str) -> Infeasible:
    return Infeasible("no_host_kernel", what, 1, 0, "", hint)
