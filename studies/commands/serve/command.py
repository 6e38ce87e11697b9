"""``archloom serve``: serve requests, print what became of them, draw it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.search.weaving.serving import (
    RULES,
    SHED_AT,
    LoadPoint,
    Policy,
    StableLoad,
    Tenants,
    load_curve,
    served,
    serving_metrics,
    stable_load,
)
from archloom.studies.rendering.pictures import ENDINGS, check_picture, save_serving
from archloom.studies.rendering.text import known, print_json, print_line

from ...errors import UserError
from .chains import chains_on
from .streams import Stream, requests_of
from .tables import print_serving, requests_csv, serving_record
from .wishes import read_deadlines, read_shares

if TYPE_CHECKING:
    from rich.console import Console

#: loads of a picture
LOADS: Final = tuple(round(0.1 * i, 1) for i in range(1, 13))

_MISSED: Final = 0.01


@dataclass(frozen=True)
class Tenancy:
    """Who shares what, as users write it.

    Attributes:
        sources: networks.
        hardware: what they share.
        batch: images of a request.
        shares: of the requests.
        deadlines: of networks.
    """

    sources: tuple[str, ...]
    hardware: str
    batch: int | None = None
    shares: tuple[str, ...] = ()
    deadlines: tuple[str, ...] = ()


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
        if self.as_csv and self.as_json:
            raise UserError("--csv and --json exclude each other; say one of them")
        if self.missed is not None and not self.stable:
            raise UserError("--missed is for --stable; say both")
        if self.missed is not None and not 0.0 <= self.missed < 1.0:
            raise UserError(f"--missed must be from 0 and below 1, got {self.missed:g}")
        check_picture(self.plot, "--plot", ENDINGS)


def policy_of(rule: str, slack: float | None, shed: float | None, shed_at: str | None) -> Policy:
    """Return how requests are served.

    Raises:
        UserError: an unknown rule, or a number out of range.
    """
    known(rule, "--policy", list(RULES))
    if shed_at is not None:
        known(shed_at, "--shed-at", list(SHED_AT))
        if shed is None:
            raise UserError("--shed-at says when --shed is looked at; say both")
    for option, value in (("--slack", slack), ("--shed", shed)):
        if value is not None and not 0.0 <= value <= 1e6:
            raise UserError(f"{option} must be from 0 up to 1e6, got {value:g}")
    return Policy(rule, slack, shed, shed_at or "start")


def tenants_of(tenancy: Tenancy) -> Tenants:
    """Return the networks of a command line on what they share.

    Raises:
        UserError: a network, hardware, share or deadline that there is none of.
    """
    chains, npu = chains_on(tenancy.sources, tenancy.hardware, tenancy.batch)
    names = [chain.name for chain in chains]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{twice[0]} is named twice; each network is served once")
    deadlines = read_deadlines(tenancy.deadlines, names)
    return Tenants(tuple(chains), npu, deadlines, read_shares(tenancy.shares, names))


def serve_requests(
    tenancy: Tenancy, stream: Stream, policy: Policy, answer: Answer, console: "Console"
) -> None:
    """Serve requests, print and draw what became of them.

    Raises:
        UserError: anything that users wrote wrongly.
    """
    from rich.console import Console

    tenants = tenants_of(tenancy)
    _check(tenants, stream, policy, answer)
    try:
        found = served(tenants, policy, requests_of(stream, tenants), stream.count)
    except ValueError as error:
        raise UserError(str(error)) from None
    stable = _stable(tenants, stream, policy, answer)
    record = serving_record(found, serving_metrics(found), stream, stable)
    if answer.as_csv:
        console.file.write(requests_csv(found))
    elif answer.as_json:
        print_json(record, console)
    else:
        print_serving(record, console)
    if answer.plot is not None:
        save_serving(answer.plot, found, curves(tenants, stream, policy))
        print_line(f"{answer.plot}: what requests got", Console(stderr=True))


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
            raise UserError(f"{option} needs a deadline: give a network one with --deadline")
    if answer.stable and not stream.open:
        raise UserError("--stable scales random arrivals; say --arrivals poisson or bursts")


def _stable(tenants: Tenants, stream: Stream, policy: Policy, answer: Answer) -> StableLoad | None:
    if not answer.stable:
        return None
    missed = _MISSED if answer.missed is None else answer.missed
    return stable_load(tenants, policy, stream.draws(), missed)


def curves(tenants: Tenants, stream: Stream, policy: Policy) -> dict[str, Sequence[LoadPoint]]:
    """Return figures over the load: of the policy, and of one request after another."""
    if not stream.open:
        return {}
    policies = {policy.text: policy, "fcfs": Policy("fcfs")}
    return {
        name: load_curve(tenants, used, stream.draws(), LOADS) for name, used in policies.items()
    }
