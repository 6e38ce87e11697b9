"""The command line. Each command calls one function of a module that it imports itself, so
that ``archloom --help`` and mistakes answer at once.
"""

import atexit
import gc
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import click

from archloom.studies.config import file_of
from archloom.studies.rendering.text import new_console

from ..errors import UserError, exit_code, faults, reason
from .catalogue import (
    HARDWARE_EXAMPLES,
    NETWORKS_EXAMPLES,
    TECHNOLOGY_EXAMPLES,
    hardware_,
    networks_,
    technology_,
)
from .compare import COMPARE_EXAMPLES, compare
from .compress import COMPRESS_EXAMPLES, compress
from .machine import COMPILE_EXAMPLES, compile_
from .machine.measure import MEASURE_EXAMPLES, measure
from .map import MAP_EXAMPLES, map_
from .options import (
    App,
    Argument,
    AsJson,
    Exit,
    Option,
    Out,
    Study,
    echo,
)
from .published import REPRODUCE_EXAMPLES, VALIDATE_EXAMPLES, reproduce, validate
from .schedule import SCHEDULE_EXAMPLES, schedule
from .serve import SERVE_EXAMPLES, serve
from .setup import (
    COMPLETION_EXAMPLES,
    INIT_EXAMPLES,
    SCHEMA_EXAMPLES,
    completion,
    init,
    schema,
)
from .study import (
    COPY_EXAMPLES,
    PARETO_EXAMPLES,
    REPORT_EXAMPLES,
    RESUME_EXAMPLES,
    RUN_EXAMPLES,
    copy,
    pareto_,
    report,
    resume_,
    run_,
)
from .study.export import EXPORT_EXAMPLES, export
from .weave import WEAVE_EXAMPLES, weave

app = App(
    help="Search hardware design, layer fusion and mapping of DNN accelerators together.",
    examples=(
        "archloom run quickstart",
        "archloom init my_study",
        "archloom schedule resnet18 --hardware eyeriss",
    ),
    exit_codes={
        0: "Success.",
        1: "The study has no Pareto front, or a check found a difference.",
        2: "A mistake in the command line or in a file.",
        3: "Some trials were set aside because machines failed them repeatedly.",
        4: "A disk, a server or a cluster failed.",
        70: "An internal error of archloom.",
        130: "Stopped with Ctrl-C.",
    },
)


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:  # noqa: ARG001
    if wanted:
        from importlib.metadata import version

        echo(f"archloom {version('archloom')}")
        context.exit()


app.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_print_version,
        help="Print the version and exit.",
    )
)


app.add(init, INIT_EXAMPLES)
app.add(run_, RUN_EXAMPLES, "run")
app.add(resume_, RESUME_EXAMPLES, "resume")


app.add(compile_, COMPILE_EXAMPLES, "compile")


@app.command_of("archloom doctor", "archloom doctor studies/quickstart.yaml")
def doctor(
    study: Annotated[
        Path | None,
        Argument("[STUDY]", "Study file to check, or 'quickstart'.", file_of, "study files"),
    ] = None,
    out: Out = None,
) -> None:
    """Check this machine: package versions, cores, memory, disk space, compiled kernels.

    With STUDY, also check whether that study can start. Each problem is printed with a remedy. The
    exit code is 0 if no problem was found and 1 otherwise.
    """
    from .machine import diagnose
    from .study import Overrides, read_study

    raise Exit(diagnose(partial(read_study, study, Overrides()) if study else None, out))


app.add(pareto_, PARETO_EXAMPLES, "pareto")


@app.command_of(
    "archloom show runs/quickstart 17",
    "archloom show runs/quickstart baseline --json",
    "archloom show runs/stack_digits",
)
def show(
    study: Study,
    trial: Annotated[
        str | None,
        Argument(
            metavar="[TRIAL]",
            help="Number of a trial, or 'baseline'. Studies with 'kind: stack' have no trials: "
            "leave it out.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print one trial in detail: hardware, energy by level and layer, fusion groups, mappings.

    For a study with 'kind: stack', print all measured points with the Pareto front of accuracy,
    time and size.
    """
    from archloom.studies.storage import is_stack, read_header

    if is_stack(study):
        from .study.stack import show_stack

        show_stack(study, trial, as_json, new_console())
    elif trial is None:
        read_header(study)
        raise UserError(f"{study}: TRIAL is missing; give the number of a trial, or baseline")
    else:
        from .study import show_trial

        show_trial(study, trial, as_json, new_console())


@app.command_of("archloom status runs/quickstart", "watch archloom status runs/quickstart")
def status(study: Study, as_json: AsJson = False) -> None:
    """Print the progress of a study: trials done, running searches, workers, failures.

    It only reads the study, so it can be called from another shell while the study runs.
    """
    from archloom.studies.storage import is_stack

    if is_stack(study):
        from .study.stack import show_stack_status

        show_stack_status(study, as_json, new_console())
    else:
        from .study import show_status

        show_status(study, as_json, new_console())


app.add(report, REPORT_EXAMPLES)


@app.command_of(
    "archloom evaluate --arch arch.yaml --problem layer.yaml --mapping map.yaml",
    "archloom evaluate --arch arch.yaml --problem layer.yaml --mapping map.yaml --ert ERT.yaml",
)
def evaluate(
    arch: Annotated[
        list[Path],
        Option(
            "--arch",
            metavar="FILE",
            help="Timeloop architecture file. May be repeated for an architecture in several "
            "files.",
        ),
    ],
    problem: Annotated[
        Path, Option("--problem", metavar="FILE", help="Timeloop problem file: the layer.")
    ],
    mapping: Annotated[
        Path, Option("--mapping", metavar="FILE", help="Timeloop mapping file: the loop nest.")
    ],
    ert: Annotated[
        Path | None,
        Option(
            "--ert",
            metavar="FILE",
            help="Energy reference table written by Accelergy (default: energies come from the "
            "technology table).",
        ),
    ] = None,
    component: Annotated[
        list[Path] | None,
        Option(
            "--component",
            metavar="FILE",
            help="Timeloop file of compound components. May be repeated.",
        ),
    ] = None,
    technology: Annotated[
        str,
        Option(
            "--technology",
            metavar="NAME",
            help="Technology table for energies that the files do not give; archloom technology "
            "lists all tables.",
        ),
    ] = "cacti_45nm",
    as_json: AsJson = False,
) -> None:
    """Evaluate one mapping from Timeloop's YAML files (v0.2 to v0.4).

    docs/reference/timeloop.md lists what is read from these files and what is rejected.
    """
    from .map import Files, evaluate_files

    files = Files(arch, problem, mapping, ert, component or [], technology)
    evaluate_files(files, as_json, new_console())


app.add(validate, VALIDATE_EXAMPLES)
app.add(map_, MAP_EXAMPLES, "map")
app.add(schedule, SCHEDULE_EXAMPLES)
app.add(weave, WEAVE_EXAMPLES)
app.add(compare, COMPARE_EXAMPLES)
app.add(compress, COMPRESS_EXAMPLES)
app.add(serve, SERVE_EXAMPLES)
app.add(measure, MEASURE_EXAMPLES)
app.add(copy, COPY_EXAMPLES)
app.add(export, EXPORT_EXAMPLES)
app.add(reproduce, REPRODUCE_EXAMPLES)
app.add(schema, SCHEMA_EXAMPLES)
app.add(completion, COMPLETION_EXAMPLES)


app.add(hardware_, HARDWARE_EXAMPLES, "hardware")
app.add(networks_, NETWORKS_EXAMPLES, "networks")
app.add(technology_, TECHNOLOGY_EXAMPLES, "technology")


def main() -> None:
    """Run the command line; a user's mistake is one message and exit code 2."""
    # Imports make hundreds of thousands of objects that stay: looking among them for garbage is a
    # fifth of a short command's time.
    gc.set_threshold(100_000, 10, 10)
    # Python looks through all of them once more as it ends, a sixth of such a command; what is
    # frozen is passed over, and goes with the process.
    atexit.register(gc.freeze)
    # Its plugins are looked for in the metadata of all that is installed; nobody needs any.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        with faults():
            app()
    except UserError as error:
        echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        # a disk or a connection, wherever it failed
        where = f"{error.filename}: " if error.filename else ""
        echo(f"error: {where}{reason(error)}", err=True)
        sys.exit(exit_code(error))
