"""What a worker does: one stretch of software search for one hardware design.

Everything that goes in or out is a small value, so that it can cross process borders, be
journaled and be done again. The outcome travels as compressed JSON: the search state that a
resumed study reads from its journal is then exactly the one that an undisturbed study uses.
"""

import json
import traceback
import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..search.protocols import Curve
    from ..search.software import SoftwareResult, SoftwareSettings, SoftwareTask
    from ..space.hardware import Hardware
    from ..space.network import Network

    Advance = Callable[[SoftwareTask, dict[str, Any] | None, int], SoftwareResult]


@dataclass(frozen=True, slots=True)
class Context:
    """What all work of a study shares; an executor sends it to each worker once.

    Attributes:
        networks: that designs are found for.
        settings: of the software search.
        advance: the software search.
        held_out: networks that designs are validated on.
    """

    networks: "tuple[Network, ...]"
    settings: "SoftwareSettings"
    advance: "Advance"
    held_out: "tuple[Network, ...]" = ()


@dataclass(frozen=True, slots=True)
class Work:
    """One round of one trial, or the validation of a design on one network.

    Attributes:
        hardware: the design.
        seed: seed of the trial's software search; the same in all rounds.
        previous: payload of the trial's round before; None in the first.
        budget: evaluations to spend.
        held_out: position of the held-out network; None for the networks of the search.
    """

    hardware: "Hardware"
    seed: int
    previous: str | None
    budget: int
    held_out: int | None = None


@dataclass(frozen=True, slots=True)
class Advanced:
    """A round that went well: its compressed outcome, and what it took on wall and CPU.

    CPU seconds are of the whole process, its helper threads too: they are what a search costs,
    on however many machines it ran.
    """

    payload: str
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Crash:
    """A round that raised, or whose worker died."""

    error: str
    message: str
    traceback: str

    def to_dict(self) -> dict[str, str]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a payload says.

    Attributes:
        state: the software search's state, to go on from.
        curve: best EDP (J*s) against evaluations over the trial's life.
        networks: the best plan of each network and its metrics, as plain JSON values.
        infeasible: why no plan could be priced, as plain JSON values.
    """

    state: dict[str, Any]
    curve: "Curve"
    networks: dict[str, dict[str, Any]]
    infeasible: dict[str, Any] | None


def perform(context: Context, work: Work) -> Advanced | Crash:
    """Do the work; whatever it raises comes back as a value."""
    from ..search.software import SoftwareTask

    start, cpu_start = perf_counter(), process_time()
    try:
        held = work.held_out
        networks = context.networks if held is None else (context.held_out[held],)
        task = SoftwareTask(work.hardware, networks, context.settings, work.seed)
        state = None if work.previous is None else decode(work.previous).state
        payload = encode(context.advance(task, state, work.budget))
    except Exception as error:  # noqa: BLE001  (the one place where a crash becomes data)
        return Crash(type(error).__name__, str(error), traceback.format_exc())
    return Advanced(payload, perf_counter() - start, process_time() - cpu_start)


def encode(result: "SoftwareResult") -> str:
    """Return the result as a short string; :func:`decode` is the inverse."""
    content = {
        "state": result.state,
        "evaluations": result.curve.evaluations,
        "edp": result.curve.edp,
        "networks": {name: best.to_dict() for name, best in result.networks.items()},
        "infeasible": result.infeasible.to_dict() if result.infeasible else None,
    }
    return b85encode(zlib.compress(json.dumps(content, separators=(",", ":")).encode())).decode()


def decode(payload: str) -> Outcome:
    """Return what :func:`encode` was given."""
    from ..search.protocols import Curve

    content = json.loads(zlib.decompress(b85decode(payload)))
    curve = Curve(tuple(content["evaluations"]), tuple(content["edp"]))
    return Outcome(content["state"], curve, content["networks"], content["infeasible"])
