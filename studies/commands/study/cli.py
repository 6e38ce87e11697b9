"""The command lines of ``archloom run``, ``archloom resume`` and ``archloom pareto``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.commands.options import Argument, AsJson, Exit, Option, Out, Pick, Study, echo
from archloom.studies.config import file_of
from archloom.studies.rendering.text import new_console

from ...errors import UserError

RUN_EXAMPLES: Final = (
    "archloom run quickstart",
    "archloom run studies/quickstart.yaml --out runs/first --workers 2",
    "archloom run examples/stack_digits.yaml",
)
RESUME_EXAMPLES: Final = (
    "archloom resume runs/quickstart",
    "archloom resume runs/quickstart --trials 48",
    "archloom resume runs/quickstart --retry-failed --memory-mb 4000",
)
PARETO_EXAMPLES: Final = (
    "archloom pareto runs/quickstart",
    "archloom pareto runs/quickstart --csv",
    "archloom pareto runs/quickstart --objectives latency,energy",
)

_Executor = Annotated[
    str | None,
    Option(
        "--executor",
        metavar="NAME",
        help="Where trials run: inline (this process) or ray (parallel workers); for studies with "
        "'kind: stack' inline or processes. It changes the run time, not the result (default: the "
        "study file's executor).",
    ),
]
_Workers = Annotated[
    int | None,
    Option(
        "--workers",
        help="Number of trials run in parallel (default: the study file's number; without one, all "
        "cores of the machine or of the cluster).",
    ),
]
_Address = Annotated[
    str | None,
    Option(
        "--address",
        metavar="HOST:PORT",
        help="Address of a running Ray cluster, or local to start Ray on this machine (default: "
        "the study file's address).",
    ),
]
_Log = Annotated[
    Path | None,
    Option("--log", metavar="FILE", help="Append events of the study to this file, as JSON Lines."),
]
_Metrics = Annotated[
    Path | None,
    Option(
        "--metrics",
        metavar="FILE",
        help="Write metrics to this file in Prometheus text format, and keep it up to date.",
    ),
]


def run_(
    study: Annotated[
        Path, Argument("STUDY", "Study file (.yaml), or 'quickstart'.", file_of, "study files")
    ],
    out: Out = None,
    executor: _Executor = None,
    workers: _Workers = None,
    address: _Address = None,
    method: Annotated[
        str | None,
        Option(
            "--method",
            metavar="NAME",
            help="Search as a published method does: casco, hasco or hasco_optimus. It replaces "
            "the study file's optimizer, halving and fusion search (default: none).",
            names="methods",
        ),
    ] = None,
    log: _Log = None,
    metrics: _Metrics = None,
) -> None:
    """Run a study. If its directory already holds it, resume it.

    Ctrl-C stops the study without losing finished work; archloom resume resumes it. A file with
    'kind: stack' compares models, compression methods, convolution algorithms and kernel schedules
    on this machine in accuracy, time and size (docs/reference/study_files.md).
    """
    from archloom.studies.config import kind_of

    from .study_file import Overrides, find_study, read_study

    echo(f"reading {study}")
    if kind_of(found := find_study(study)) == "stack":
        from .stack import StackOverrides, run_stack

        others = {"--address": address, "--method": method, "--log": log, "--metrics": metrics}
        raise Exit(run_stack(found, out, StackOverrides(executor, workers, others)))
    config = read_study(study, Overrides(executor, workers, address), method)
    from .run import start
    from .telling import Telling

    raise Exit(start(config, config.location(out), new_console(), Telling(log, metrics)))


def resume_(
    study: Study,
    trials: Annotated[
        int | None,
        Option(
            "--trials",
            least=1,
            help="Trials in all from now on, more or fewer than before. The result is that of a "
            "study that had as many from the start.",
        ),
    ] = None,
    executor: _Executor = None,
    workers: _Workers = None,
    address: _Address = None,
    retry_failed: Annotated[
        bool,
        Option(
            "--retry-failed",
            help="Repeat trials that crashed, exceeded a limit, or were lost with their machine. "
            "For studies with 'kind: stack', repeat measurements that a busy machine refused.",
        ),
    ] = False,
    cpu_s: Annotated[
        float | None,
        Option(
            "--cpu-s",
            help="Maximum CPU time of one round of a trial, in seconds (default: the study file's "
            "limit).",
        ),
    ] = None,
    memory_mb: Annotated[
        float | None,
        Option(
            "--memory-mb",
            help="Maximum memory of one round of a trial, in MB (default: the study file's limit).",
        ),
    ] = None,
    log: _Log = None,
    metrics: _Metrics = None,
) -> None:
    """Resume a study that was stopped or killed. The result is that of an uninterrupted run.

    With --trials a study that has ended is extended to that number of trials. A batch that the old
    number cut short is completed and halved again, so the states of its trials may change.

    Exit codes: 0 if the study ended with a Pareto front, 1 if it ended without one, 3 if trials
    were set aside because machines failed them repeatedly, 4 if a disk or a cluster failed, and 130
    after Ctrl-C.
    """
    from archloom.studies.storage import is_stack

    if is_stack(study):
        from .stack import StackOverrides, resume_stack

        others = {
            "--trials": trials, "--address": address, "--cpu-s": cpu_s, "--memory-mb": memory_mb,
            "--log": log, "--metrics": metrics,
        }  # fmt: skip
        asked = StackOverrides(executor, workers, others)
        raise Exit(resume_stack(study, asked, retry_failed))
    from .run import resume
    from .study_file import Overrides
    from .telling import Telling

    overrides = Overrides(executor, workers, address, cpu_s, memory_mb, trials)
    telling = Telling(log, metrics)
    raise Exit(resume(study, overrides, new_console(), retry_failed, telling))


def pareto_(
    study: Study,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV, one line per design.")] = False,
    as_json: AsJson = False,
    pick: Pick = None,
    objectives: Annotated[
        str | None,
        Option(
            "--objectives",
            metavar="LIST",
            help="Objectives other than those of the study, separated by commas: "
            "latency,energy:max,edp:resnet50 (default: the study's objectives).",
        ),
    ] = None,
) -> None:
    """Print the Pareto front of a study. The study may still be running.

    With --objectives it prints the recorded trials that are not dominated in other objectives than
    those of the study. The search did not optimise them, so better designs may be missing.
    """
    from archloom.search.hardware.certify import certificate_text
    from archloom.studies.analysis import read_front, read_other_front

    from .pareto import front_csv, front_json, front_legend, front_table

    if as_csv and as_json:
        raise UserError("--csv and --json exclude each other; use one of them")
    if objectives is None:
        front = read_front(study, pick)
    else:
        front = read_other_front(study, objectives, pick)
    if as_csv:
        echo(front_csv(front), nl=False)
    elif as_json:
        echo(front_json(front))
    else:
        console = new_console()
        console.print(front_table(front))
        if legend := front_legend(front):
            console.print(legend, highlight=False, soft_wrap=True)
        if front.proof:
            console.print(certificate_text(front.proof), highlight=False, soft_wrap=True)
