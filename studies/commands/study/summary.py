"""Summary of a study at its end: its front, what was infeasible, and what broke a limit."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from archloom.search import Limit, ObjectiveSet
from archloom.search.hardware.certify import Certificate, certificate_text
from archloom.studies.analysis import Front, front_of
from archloom.studies.config import Location, StudyConfig, argument, named, pick_rule
from archloom.studies.rendering.text import print_line
from archloom.studies.storage import (
    TRIALS,
    OverLimit,
    Trial,
    read_baseline,
    read_certificate,
    read_validation,
)

from ...errors import NOTHING_FOUND, SET_ASIDE
from .pareto import comparison, front_legend, front_table

if TYPE_CHECKING:
    from rich.console import Console

#: trials over a limit that are told of one by one
_MOST: Final = 5


def summarize(
    trials: Sequence[Trial], config: StudyConfig, location: Location, console: "Console"
) -> int:
    """Print what a study came to, and what went wrong; return the exit code."""
    rule = pick_rule(config.pick, config.objectives)
    held_out, proof = tuple(read_validation(location)), read_certificate(location)
    front = Front(
        config.objective_set, tuple(front_of(trials, config.objective_set)), rule, held_out, proof
    )
    if front.members:
        console.print(front_table(front))
        console.print(front_legend(front), highlight=False, soft_wrap=True)
        if len(trials) < config.trials:
            text = (
                f"ended after {len(trials)} of {config.trials} trials: {why_early(trials, proof)}"
            )
            console.print(text, highlight=False, soft_wrap=True)
        if again := searched_again(trials):
            console.print(again, highlight=False, soft_wrap=True)
        if front.proof:
            console.print(certificate_text(front.proof), highlight=False, soft_wrap=True)
    else:
        why = (
            "is feasible and was evaluated"
            if all(t.edp_js is None for t in trials)
            else "satisfies all limits"
        )
        console.print(f"The Pareto front is empty: no trial {why}.")
    line = comparison(front, read_baseline(location))
    lines = [
        *([line] if line else []),
        *infeasible_lines(trials),
        *limit_lines(trials, front.objective_set),
    ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)
    for line in over_limit_lines(trials, location):
        print_line(line, console)
    failed = [trial.label for trial in trials if trial.state == "failed"]
    if failed:
        text = f"{len(failed)} of {len(trials)} trials crashed: {', '.join(failed)}; "
        console.print(f"{text}tracebacks are in {named(location, TRIALS)}", highlight=False)
    lost = [trial.label for trial in trials if trial.state == "lost"]
    if lost:
        print_line(
            f"{len(lost)} of {len(trials)} trials were set aside, because their machines failed "
            f"repeatedly: {', '.join(lost)}; when the machines work again, repeat these trials "
            f"with: archloom resume {argument(location)} --retry-failed",
            console,
        )
        return SET_ASIDE
    return 0 if front.members else NOTHING_FOUND


def why_early(trials: Sequence[Trial], proof: Certificate | None) -> str:
    """Say why a study ended before it had all its trials."""
    if proof is None or proof.boxes is not None:
        return "the search found no further design that could join the Pareto front"
    if proof.proven_at_this_budget:
        return "no design that was not evaluated can join the Pareto front"
    unsettled = Counter(t.state for t in trials if t.state not in ("complete", "infeasible"))
    states = ", ".join(f"{count} {state}" for state, count in unsettled.items())
    return (
        "every design that could join the Pareto front was evaluated; of those whose search was "
        f"cut short ({states}), {proof.open} could still join it with a larger search budget"
    )


def searched_again(trials: Sequence[Trial]) -> str:
    """Say how many trials searched designs again, and how much more; empty if none did."""
    counts = Counter(trial.effort for trial in trials if trial.effort > 1)
    if not counts:
        return ""
    parts = ", ".join(f"{count} with {effort:,} times" for effort, count in sorted(counts.items()))
    return (
        f"{counts.total()} of these trials searched designs again that could still change the "
        f"front: {parts} the mapping evaluations and plans"
    )


def over_limit_lines(trials: Sequence[Trial], location: Location) -> list[str]:
    """Say which trials broke a limit of time, memory or work, with numbers, and how to go on."""
    over = [(trial, trial.crash) for trial in trials if isinstance(trial.crash, OverLimit)]
    lines = []
    for by, counted, then in (
        (
            "round_limits",
            False,
            "these limits depend on the machine, so results may differ elsewhere; repeat these "
            f"trials with: archloom resume {argument(location)} --retry-failed --cpu-s S "
            "--memory-mb MB",
        ),
        (
            "software.fusion.work_limit",
            True,
            "this limit is the same on every machine; to change it, start a new study",
        ),
    ):
        some = [(trial, crash) for trial, crash in over if crash.reproducible == counted]
        if some:
            told = "; ".join(
                f"trial {t.label}, round {t.rounds}, {c.message}" for t, c in some[:_MOST]
            )
            more = f"; and {len(some) - _MOST} more" if len(some) > _MOST else ""
            lines += [f"{len(some)} of {len(trials)} trials exceeded {by}: {told}{more}", then]
    return lines


def infeasible_lines(trials: Sequence[Trial]) -> list[str]:
    """Say how many trials nothing could run on, and why: one line for each rule and place."""
    found: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.reason is not None:
            found.setdefault((trial.reason.reason, trial.reason.where), []).append(trial)
    return [
        f"{len(group)} of {len(trials)} trials were infeasible; for example trial "
        f"{group[0].number}: "
        f"{group[0].reason}"
        for group in found.values()
    ]


def limit_lines(trials: Sequence[Trial], objective_set: ObjectiveSet) -> list[str]:
    """Say of each limit how many trials with an EDP break it, with all software that was found, and
    which of those is the nearest."""
    lines = []
    priced = [trial for trial in trials if trial.edp_js is not None]
    for limit in objective_set.limits:
        objective = limit.objective

        def excess_of(trial: Trial, limit: Limit = limit) -> float:
            return limit.excess(limit.objective.figure(trial.figure(limit.objective)))

        over = [
            (excess, trial)
            for trial in (min(one.outcomes, key=excess_of) for one in priced)
            if (excess := excess_of(trial)) > 0
        ]
        if over:
            _, nearest = min(over, key=lambda pair: pair[0])
            lines.append(
                f"{len(over)} of {len(trials)} trials violate the limit on {objective.name} "
                f"({limit.sign} {limit.value:g}); the closest is trial {nearest.number} with "
                f"{nearest.figure(objective):.4g}"
            )
    return lines
