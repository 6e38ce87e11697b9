"""Faults of nodes of a cluster, in networks of their own: those of ``cluster_faults.py``."""

from collections.abc import Callable
from typing import Final

from ..cluster_faults import FAULTS, one_run
from .run import Run

#: the way of a slow network takes a module of the kernel; that nothing happens is no fault
_LEFT_OUT: Final = ("undisturbed", "slow_way")

#: rounds of the study: ten for each of four batches
_ROUNDS: Final = 30


def _fault(kind: str) -> Callable[[Run], None]:
    def fault(run: Run) -> None:
        try:
            code, _, _ = one_run(kind, run.folder, run.rng, _ROUNDS)
        finally:
            run.said += (run.folder / "said").read_text()
        wanted = (0, 4) if kind == "head_killed" else (0,)
        assert code in wanted, f"exit code {code}"

    return fault


NODES: Final[dict[str, Callable[[Run], None]]] = {
    kind: _fault(kind) for kind in FAULTS if kind not in _LEFT_OUT
}
