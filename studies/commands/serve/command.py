"""``archloom serve``: serve requests, print what became of them, draw it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from archloom.evaluators.weaving import TickError
from archloom.search.weaving.serving import (
    RULES,
    SHED_AT,
    Deadline,
    LoadPoint,
    Policy,
    Requests,
    StableLoad,
    Tenants,
    load_curve,
    served,
    serving_metrics,
    stable_load,
)
from archloom.space import Infeasible
from archloom.studies.commands.weave import (
    Chip,
    Planning,
    Source,
    chains_of,
    check_maps,
    effort_for,
)
from archloom.studies.engine.progress import ProgressView, Stages
from archloom.studies.rendering.pictures import ENDINGS, check_picture
from archloom.studies.rendering.pictures.weaving import save_serving
from archloom.studies.rendering.text import known, new_console, print_json, print_line

from ...errors import INTERRUPTED, NOTHING_FOUND, AllFaults, UserError
from .streams import Stream, requests_of
from .tables import print_serving, requests_csv, serving_record

if TYPE_CHECKING:
    from rich.console import Console

#: loads of a picture
LOADS: Final = tuple(round(0.1 * i, 1) for i in range(1, 13))

_MISSED: Final = 0.01

#: layers of a schedule that is kept
_MOST_STEPS: Final = 5_000_000


@dataclass(frozen=True)
class Tenancy:
    """Who shares what.

    Attributes:
        sources: networks.
        chip: what they share.
        planning: how chains are made of networks.
        maps: ``fit``, if maps have to fit on the chip, or ``unlimited``.
        shares: of the requests; None for what bounds STP.
        deadlines: of networks.
    """

    sources: tuple[Source, ...]
    chip: Chip
    planning: Planning
    maps: str
    shares: tuple[float, ...] | None
    deadlines: tuple[Deadline | None, ...]


@dataclass(frozen=True)
class Answer:
    """What is printed and drawn.

    Attributes:
        as_json: JSON instead of tables.
        as_csv: CSV of all requests instead.
        plot: file of a picture.
        stable: whether the stable load is looked for.
        missed: share of requests that may be missed there.

    Raises:
        UserError: options that exclude each other, or a file that is no picture.
    """

    as_json: bool = False
    as_csv: bool = False
    plot: Path | None = None
    stable: bool = False
    missed: float | None = None

    def __post_init__(self) -> None:
        faults = AllFaults()
        with faults.collecting():
            if self.as_csv and self.as_json:
                raise UserError("--csv and --json exclude each other; use one of them")
        with faults.collecting():
            if self.missed is not None and not self.stable:
                raise UserError("--missed applies to --stable; give both or neither")
        with faults.collecting():
            if self.missed is not None and not 0.0 <= self.missed < 1.0:
                raise UserError(f"--missed must be from 0 and below 1, got {self.missed:g}")
        with faults.collecting():
            check_picture(self.plot, "--plot", ENDINGS)
        faults.raise_any()


def policy_of(rule: str, slack: float | None, shed: float | None, shed_at: str | None) -> Policy:
    """Return how requests are served.

    Raises:
        UserError: an unknown rule, or a number out of range.
    """
    known(rule, "--policy", list(RULES))
    if shed_at is not None:
        known(shed_at, "--shed-at", list(SHED_AT))
        if shed is None:
            raise UserError("--shed-at applies to --shed; give both or neither")
    for option, value in (("--slack", slack), ("--shed", shed)):
        if value is not None and not 0.0 <= value <= 1e6:
            raise UserError(f"{option} must be from 0 up to 1e6, got {value:g}")
    return Policy(rule, slack, shed, shed_at or "start")


def tenants_of(tenancy: Tenancy, seed: int, stages: Stages) -> Tenants | Infeasible | None:
    """Return the networks of a command line on what they share; why one cannot run there; or None
    if somebody stopped the search of a plan.

    Raises:
        UserError: options of plans where there are none, or maps that do not fit.
    """
    effort = effort_for(tenancy.planning, tenancy.chip, tenancy.sources, seed)
    chains = chains_of(tenancy.sources, tenancy.chip, effort, stages)
    if chains is None or isinstance(chains, Infeasible):
        return chains
    if tenancy.maps == "fit":
        check_maps(chains, tenancy.chip)
    return Tenants(tuple(chains), tenancy.chip.npu, tenancy.deadlines, tenancy.shares)


def serve_requests(
    tenancy: Tenancy, stream: Stream, policy: Policy, answer: Answer, console: "Console"
) -> int:
    """Serve requests, print and draw what became of them; return the exit code.

    Raises:
        UserError: anything that users wrote wrongly.
    """
    notes = new_console(stderr=True)
    try:
        with ProgressView(notes) as view:
            tenants = tenants_of(tenancy, stream.seed, view)
            if tenants is None or isinstance(tenants, Infeasible):
                print_line(
                    str(tenants or "stopped before a plan of every network was found"), notes
                )
                return INTERRUPTED if tenants is None else NOTHING_FOUND
            _check(tenants, stream, policy, answer)
            view.begin("simulating requests")
            requests = requests_of(stream, tenants)
            found = served(tenants, policy, requests, _most(stream), log=_logged(tenants, requests))
            stable = _stable(tenants, stream, policy, answer)
            curves = _curves(tenants, stream, policy) if answer.plot is not None else {}
            view.end()
    except TickError as error:
        raise UserError(str(error)) from None
    except KeyboardInterrupt:
        print_line("stopped before all requests were simulated", notes)
        return INTERRUPTED
    record = serving_record(found, serving_metrics(found), stream, stable)
    if answer.as_csv:
        console.file.write(requests_csv(found))
    elif answer.as_json:
        print_json(record, console)
    else:
        print_serving(record, console)
    if answer.plot is not None:
        save_serving(answer.plot, found, curves)
        print_line(f"wrote {answer.plot}: latency, goodput and 99th percentile", notes)
    return 0


def _most(stream: Stream) -> int | None:
    """Requests in all; None for as many as a trace has."""
    return None if stream.trace is not None else stream.count


def _logged(tenants: Tenants, requests: Requests) -> bool:
    """Whether the order of layers is kept, which says how much room maps take."""
    return len(requests.arrival) * int(np.diff(tenants.work.first).max()) <= _MOST_STEPS


def _check(tenants: Tenants, stream: Stream, policy: Policy, answer: Answer) -> None:
    """Raise UserError if options ask for what needs deadlines or random arrivals without them."""
    without = [
        chain.name
        for chain, deadline in zip(tenants.chains, tenants.deadlines, strict=True)
        if deadline is None
    ]
    asked = {
        "--stable": answer.stable,
        "--shed": policy.shed is not None,
        "--slack": policy.slack_window is not None,
        "--policy edf": policy.rule == "edf",
    }
    if len(without) == len(tenants.chains):
        for option in (option for option, there in asked.items() if there):
            raise UserError(
                f"{option} needs deadlines; give at least one network a deadline with --deadline"
            )
    if answer.stable and not stream.open:
        raise UserError(
            "--stable varies the load of random arrivals; use --arrivals poisson or bursts"
        )


def _stable(tenants: Tenants, stream: Stream, policy: Policy, answer: Answer) -> StableLoad | None:
    if not answer.stable:
        return None
    missed = _MISSED if answer.missed is None else answer.missed
    return stable_load(tenants, policy, stream.draws(), missed)


def _curves(tenants: Tenants, stream: Stream, policy: Policy) -> dict[str, Sequence[LoadPoint]]:
    """Return figures over the load: of the policy, and of one request after another."""
    if not stream.open:
        return {}
    policies = {policy.text: policy, "fcfs": Policy("fcfs")}
    return {
        name: load_curve(tenants, used, stream.draws(), LOADS) for name, used in policies.items()
    }
