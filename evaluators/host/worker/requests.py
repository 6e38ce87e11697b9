"""What a parent asks a worker for, and what it answers."""

from dataclasses import dataclass

from ..chain import ChainSpec
from ..kernel import KernelSpec
from ..operands import StoredWeights
from ..samples import Block
from ..schedules import Schedule


@dataclass(frozen=True, slots=True)
class Prepare:
    """Compile and check a kernel, and keep it under a name.

    Attributes:
        name: for turns.
        spec, schedule: the kernel.
        budget_us: of a first time; 0 for none.
        stored: its weights; None for random ones.
    """

    name: str
    spec: KernelSpec
    schedule: Schedule
    budget_us: float = 0.0
    stored: StoredWeights | None = None


@dataclass(frozen=True, slots=True)
class PrepareNetwork:
    """Compile a network, check each layer, and keep it under a name."""

    name: str
    chain: ChainSpec


@dataclass(frozen=True, slots=True)
class Turn:
    """Time a block of each kernel.

    Attributes:
        names: of kernels that are prepared.
        budget_us: of each block, about.
    """

    names: tuple[str, ...]
    budget_us: float


@dataclass(frozen=True, slots=True)
class Turned:
    """Times of a turn.

    Attributes:
        blocks: by name.
        before_us, after_us: of the control kernel.
        load: average over the last minute, at the end.
    """

    blocks: dict[str, Block]
    before_us: float
    after_us: float
    load: float


@dataclass(frozen=True, slots=True)
class Failed:
    """Something that could not be done.

    Attributes:
        kind: ``not_compiled``, ``wrong_result``, ``too_slow``, ``died`` or ``crashed``.
        message: why.
    """

    kind: str
    message: str


Answer = object
"""What a request asks for, or :class:`Failed`."""
