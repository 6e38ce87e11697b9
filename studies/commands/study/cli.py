"""The command lines of ``archloom run``, ``archloom resume`` and ``archloom pareto``."""

from pathlib import Path
from typing import Annotated, Final

from archloom.studies.config import file_of
from archloom.studies.rendering.text import new_console

from ...errors import UserError
from ..options import Argument, Exit, Option, Out, Pick, Study, echo

RUN_EXAMPLE: Final = (
    "Example: archloom run studies/quickstart.yaml --out runs/first --workers 2; "
    "archloom run examples/stack_digits.yaml"
)
RESUME_EXAMPLE: Final = (
    "Example: archloom resume runs/quickstart --executor inline; archloom resume runs/quickstart "
    "--trials 48; archloom resume runs/stack_digits"
)
PARETO_EXAMPLE: Final = (
    "Example: archloom pareto runs/quickstart --json; "
    "archloom pareto runs/quickstart --objectives latency,energy"
)

_Executor = Annotated[
    str | None,
    Option(
        "--executor",
        help="'inline' or 'ray', of a study of kind stack 'inline' or 'processes'; changes the "
        "time, not the result.",
    ),
]
_Workers = Annotated[
    int | None,
    Option("--workers", help="Trials at a time; all cores, here or of the cluster, if not said."),
]
_Address = Annotated[
    str | None,
    Option(
        "--address",
        metavar="HOST:PORT",
        help="Of a running Ray cluster, whatever the study says; 'local' starts Ray here.",
    ),
]
_Log = Annotated[
    Path | None,
    Option("--log", metavar="FILE", help="Append what happens, a JSON object a line."),
]
_Metrics = Annotated[
    Path | None,
    Option("--metrics", metavar="FILE", help="Keep figures for Prometheus in a text file."),
]


def run_(
    study: Annotated[
        Path, Argument("STUDY", "A study file, or 'quickstart'.", file_of, "study files")
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
            help="casco, hasco or hasco_optimus: replaces optimizer, halving and fusion search.",
            names="methods",
        ),
    ] = None,
    log: _Log = None,
    metrics: _Metrics = None,
) -> None:
    """Run a study, or go on with it if its directory holds it already. Ctrl-C is safe.

    A file with 'kind: stack' compares models, compressions, algorithms and schedules of kernels on
    this machine: accuracy, time and size (docs/study_files.md).
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
            help="Do again what crashed, broke a limit of a round, and what machines failed; of a "
            "study of kind stack, time again what a busy machine refused.",
        ),
    ] = False,
    cpu_s: Annotated[
        float | None,
        Option("--cpu-s", help="CPU-seconds of a round at most, whatever the study says."),
    ] = None,
    memory_mb: Annotated[
        float | None,
        Option("--memory-mb", help="Memory of a round at most, whatever the study says."),
    ] = None,
    log: _Log = None,
    metrics: _Metrics = None,
) -> None:
    """Go on with a study that was stopped or killed; the result is as if it never had been.

    With --trials a study that has ended goes on too, to that many trials. A batch that was cut
    short by the old number is completed and halved anew, so states of its trials may change.

    The exit code is 0 if it ends with a front, 1 without one, 3 if machines failed some trials
    again and again, 4 if a disk or a cluster failed, and 130 if you stopped it.
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
    as_csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    pick: Pick = None,
    objectives: Annotated[
        str | None,
        Option(
            "--objectives",
            metavar="LIST",
            help="Other ones than were searched, such as latency,energy:max,edp:resnet50.",
        ),
    ] = None,
) -> None:
    """Print the Pareto front of a study in its objectives; also while it runs.

    With --objectives: the recorded trials that are not dominated in these. The search has not
    optimised them, so better designs may be missing.
    """
    from archloom.search.hardware.certify import certificate_text
    from archloom.studies.analysis import read_front, read_other_front

    from .pareto import front_csv, front_json, front_legend, front_table

    if as_csv and as_json:
        raise UserError("--csv and --json exclude each other; say one of them")
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
