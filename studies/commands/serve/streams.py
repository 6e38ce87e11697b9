"""Requests as users ask for them: closed loops, Poisson, bursts, traces."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

import numpy as np

from archloom.search.weaving.serving import (
    Draws,
    Requests,
    Tenants,
    closed_requests,
    draws_of,
    given_requests,
    open_requests,
)
from archloom.studies.rendering.text import known

from ...errors import UserError
from .trace_file import Trace, read_trace

#: kinds of arrivals; of the first two, requests come whatever becomes of them
KINDS: Final = ("poisson", "bursts", "single", "batches")

_LOAD: Final = 0.7
_REQUESTS: Final = 3000
_SIZE: Final = 8

#: a run of more takes minutes
_MOST_REQUESTS: Final = 10**7


@dataclass(frozen=True)
class Stream:
    """When requests come.

    Attributes:
        kind: one of :data:`KINDS`.
        load: of open arrivals, a share of the rates at load 1.
        qps: requests a second in all, instead.
        size: requests of a burst or a batch.
        trace: a file of requests instead.
        requests: in all.
        seed: of what is random.

    Raises:
        UserError: options that exclude each other, or a number out of range.
    """

    kind: str = "poisson"
    load: float | None = None
    qps: float | None = None
    size: int | None = None
    trace: Path | None = None
    requests: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        known(self.kind, "--arrivals", KINDS)
        if self.trace is not None:
            given = {
                "--arrivals": self.kind != "poisson",
                "--load": self.load is not None,
                "--qps": self.qps is not None,
                "--size": self.size is not None,
                "--requests": self.requests is not None,
            }
            for option in (option for option, there in given.items() if there):
                raise UserError(
                    f"--trace and {option} exclude each other; the trace defines all requests"
                )
        if self.load is not None and self.qps is not None:
            raise UserError("--load and --qps exclude each other; use one of them")
        for option, value in (("--load", self.load), ("--qps", self.qps)):
            if value is None:
                continue
            if not self.open:
                raise UserError(
                    f"{option} applies to poisson and bursts; with --arrivals {self.kind} a "
                    "request arrives when another one has ended"
                )
            if not (isfinite(value) and 0 < value <= 1e9):
                raise UserError(f"{option} must be above 0 and at most 1e9, got {value:g}")
        if self.size is not None and self.kind not in ("bursts", "batches"):
            raise UserError(f"--size applies to bursts and batches, not to --arrivals {self.kind}")
        if (self.requests or 0) > _MOST_REQUESTS:
            raise UserError(f"--requests must be at most {_MOST_REQUESTS}, got {self.requests}")

    @property
    def open(self) -> bool:
        """Whether requests come whatever becomes of them, drawn at random."""
        return self.trace is None and self.kind in ("poisson", "bursts")

    @property
    def count(self) -> int:
        """Requests in all, if no trace says."""
        return self.requests or _REQUESTS

    @property
    def together(self) -> int:
        """Requests that come at once."""
        return (self.size or _SIZE) if self.kind in ("bursts", "batches") else 1

    @property
    def text(self) -> str:
        """What it is, in headings."""
        if self.trace is not None:
            return f"trace {self.trace}"
        of = f" of {self.together}" if self.together > 1 else ""
        names = {"single": "single streams", "batches": "closed loops of batches"}
        return f"{names.get(self.kind, self.kind)}{of}"

    def draws(self) -> Draws:
        """Return the random numbers of open arrivals; the same for all loads and policies."""
        return draws_of(self.count, self.seed, self.together)

    def load_of(self, tenants: Tenants) -> float:
        """Return the load of open arrivals."""
        if self.qps is not None:
            return self.qps / (float(tenants.rates.sum()) * tenants.ticks_per_s)
        return self.load or _LOAD


def requests_of(stream: Stream, tenants: Tenants) -> Requests:
    """Return the requests that a stream has for tenants.

    Raises:
        UserError: a trace that cannot be read, or with times too late to be counted.
    """
    if stream.trace is not None:
        return _traced(stream.trace, tenants)
    if stream.open:
        rates = tenants.rates * stream.load_of(tenants)
        return open_requests(stream.draws(), rates, tenants.within)
    batches = [stream.together] * len(tenants.chains)
    return closed_requests(stream.count, batches, tenants.within)


def _traced(path: Path, tenants: Tenants) -> Requests:
    trace: Trace = read_trace(path, [chain.name for chain in tenants.chains])
    ticks = np.rint(trace.seconds * tenants.ticks_per_s)
    if ticks.max() > 2**59:
        raise UserError(
            f"--trace {path}: a request arrives at {trace.seconds.max():g} s; the simulation "
            f"covers at most {2**59 / tenants.ticks_per_s:.4g} s"
        )
    return given_requests(ticks.astype(np.int64), trace.network, tenants.within)
