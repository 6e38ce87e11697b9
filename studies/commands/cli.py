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
from .compare import COMPARE_EXAMPLES, compare
from .compress import COMPRESS_EXAMPLES, compress
from .machine import COMPILE_EXAMPLE, compile_
from .machine.measure import MEASURE_EXAMPLES, measure
from .map import MAP_EXAMPLES, map_
from .options import (
    NETWORK_SETTINGS,
    App,
    Argument,
    AsJson,
    Exit,
    HardwareSettings,
    Option,
    Out,
    Pick,
    Study,
    Technology,
    WordBits,
    echo,
)
from .published import REPRODUCE_EXAMPLES, reproduce
from .schedule import SCHEDULE_EXAMPLES, schedule
from .serve import SERVE_EXAMPLES, serve
from .setup import INIT_EXAMPLES, SCHEMA_EXAMPLES, init, schema
from .study import (
    COPY_EXAMPLES,
    REPORT_EXAMPLES,
    RESUME_EXAMPLE,
    RUN_EXAMPLE,
    copy,
    report,
    resume_,
    run_,
)
from .weave import WEAVE_EXAMPLES, weave

app = App(
    help="Searches hardware, layer fusion and mapping together for DNN accelerators.",
    epilog="Example: archloom run quickstart; archloom init my_study",
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
        help="Say the version.",
    )
)


app.add(init, INIT_EXAMPLES)
app.add(run_, RUN_EXAMPLE, "run")
app.add(resume_, RESUME_EXAMPLE, "resume")


app.add(compile_, COMPILE_EXAMPLE, "compile")


@app.command_of(epilog="Example: archloom doctor; archloom doctor studies/quickstart.yaml")
def doctor(
    study: Annotated[
        Path | None, Argument("[STUDY]", "A study file, or 'quickstart', to check.", file_of)
    ] = None,
    out: Out = None,
) -> None:
    """Say whether this machine can run studies: versions, cores, memory, disk, compiled kernels.

    With STUDY: whether that one could start. The exit code is 1 if something is in the way; what to
    do about it is said.
    """
    from .machine import diagnose
    from .study import Overrides, read_study

    raise Exit(diagnose(partial(read_study, study, Overrides()) if study else None, out))


@app.command_of(epilog="Example: archloom pareto runs/quickstart --json")
def pareto(
    study: Study,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    pick: Pick = None,
) -> None:
    """Print the Pareto front of a study in its objectives; also while it runs."""
    from archloom.search.hardware.certify import certificate_text
    from archloom.studies.analysis import read_front

    from .study import front_csv, front_json, front_legend, front_table

    if as_csv and as_json:
        raise UserError("--csv and --json exclude each other; say one of them")
    front = read_front(study, pick)
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


@app.command_of(epilog="Example: archloom show runs/quickstart 17; archloom show runs/stack_digits")
def show(
    study: Study,
    trial: Annotated[
        str | None,
        Argument(
            metavar="[TRIAL]",
            help="Its number, or 'baseline'; of a study of kind stack all points are shown.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take one trial apart: hardware, costs by level and layer, fusion groups, mappings.

    Of a study of kind stack: the table of its points, with the front of accuracy, time and size.
    """
    from archloom.studies.storage import is_stack, read_header

    if is_stack(study):
        from .study import show_stack

        show_stack(study, trial, as_json, new_console())
    elif trial is None:
        read_header(study)
        raise UserError(f"say which trial of {study}: its number, or baseline")
    else:
        from .study import show_trial

        show_trial(study, trial, as_json, new_console())


@app.command_of(epilog="Example: archloom status runs/quickstart; watch archloom status DIR")
def status(study: Study, as_json: AsJson = False) -> None:
    """Say how far a study is, who works on it, what runs and what failed; from any shell."""
    from archloom.studies.storage import is_stack

    if is_stack(study):
        from .study import show_stack_status

        show_stack_status(study, as_json, new_console())
    else:
        from .study import show_status

        show_status(study, as_json, new_console())


app.add(report, REPORT_EXAMPLES)


@app.command_of(
    epilog="Example: archloom evaluate --arch arch.yaml --problem layer.yaml --mapping map.yaml"
)
def evaluate(
    arch: Annotated[
        list[Path], Option("--arch", help="Architecture; again for files that go with it.")
    ],
    problem: Annotated[Path, Option("--problem", help="The layer.")],
    mapping: Annotated[Path, Option("--mapping", help="The loops.")],
    ert: Annotated[
        Path | None, Option("--ert", help="Energies of Accelergy; else a technology's.")
    ] = None,
    component: Annotated[
        list[Path] | None, Option("--component", help="Compound components.")
    ] = None,
    technology: Annotated[
        str, Option("--technology", help="Table for energies that the files leave open.")
    ] = "cacti_45nm",
    as_json: AsJson = False,
) -> None:
    """Evaluate one mapping from Timeloop's YAML files (v0.2 to v0.4).

    What is read, and what is refused by name, is in docs/timeloop.md.
    """
    from .map import Files, evaluate_files

    files = Files(arch, problem, mapping, ert, component or [], technology)
    evaluate_files(files, as_json, new_console())


@app.command_of(epilog="Example: archloom validate tests/data/timeloop_cases.jsonl")
def validate(
    cases: Annotated[
        Path | None, Argument(metavar="[CASES]", help="File with a case on each line.")
    ] = None,
    as_json: AsJson = False,
    as_markdown: Annotated[
        bool, Option("--markdown", help="Without CASES: print docs/validation.md.")
    ] = False,
    rows: Annotated[int, Option("--rows", least=1, help="Most cases in the table.")] = 20,
) -> None:
    """Compare the cost model with recorded outputs of Timeloop, or with published chips.

    CASES holds mappings with the counts, energy and cycles that were recorded for them; its
    format is in docs/timeloop.md. Without CASES: figures of Eyeriss and TPU-v3 beside ours. The
    exit code is 1 if something differs that should agree.
    """
    if cases is not None and as_markdown:
        raise UserError("--markdown prints the published figures; leave CASES out")
    if as_json and as_markdown:
        raise UserError("--json and --markdown exclude each other; say one of them")
    if cases is None:
        from .published import show_published

        sound = show_published(as_json, as_markdown, new_console())
    else:
        from .published import validate_cases

        sound = validate_cases(cases, as_json, rows, new_console())
    if not sound:
        raise Exit(1)


app.add(map_, MAP_EXAMPLES, "map")
app.add(schedule, SCHEDULE_EXAMPLES)
app.add(weave, WEAVE_EXAMPLES)
app.add(compare, COMPARE_EXAMPLES)
app.add(compress, COMPRESS_EXAMPLES)
app.add(serve, SERVE_EXAMPLES)
app.add(measure, MEASURE_EXAMPLES)
app.add(copy, COPY_EXAMPLES)
app.add(reproduce, REPRODUCE_EXAMPLES)
app.add(schema, SCHEMA_EXAMPLES)


@app.command_of(
    epilog="Example: archloom hardware eyeriss; archloom hardware tpu_v3 --technology n7 --json; "
    "archloom hardware my.yaml --set pe_x=16 --set l2_kib=512"
)
def hardware(
    source: Annotated[
        str,
        Argument(
            metavar="HARDWARE", help="A preset, host (this machine), a template, or a file of one."
        ),
    ],
    settings: HardwareSettings = None,
    technology: Technology = None,
    word_bits: WordBits = None,
    as_json: AsJson = False,
) -> None:
    """Show a design: levels, energy of each access, area, TDP, and where the prices come from.

    Of a template, parameters that nobody sets have their first values; all values are listed.
    """
    from archloom.studies.config import find_hardware

    from .catalogue import show_hardware

    found = find_hardware(source, settings or [], technology, word_bits, complete=True)
    show_hardware(found, as_json, new_console())


@app.command_of(
    epilog="Example: archloom networks; archloom networks bert_base --batch 4 "
    "--set sequence_length=384; archloom networks resnet50 --out resnet50.html"
)
def networks(
    source: Annotated[
        str | None,
        Argument(
            metavar="NETWORK",
            help="A name, an ONNX file, a network's JSON, or a directory of Timeloop problems. "
            "Without it, all names are listed.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help=NETWORK_SETTINGS,
        ),
    ] = None,
    batch: Annotated[
        int | None, Option("--batch", least=1, help="Images of a pass; else the network's.")
    ] = None,
    word_bits: Annotated[
        int, Option("--word-bits", least=1, help="Width of words, for bytes; bfloat16 has 16.")
    ] = 16,
    out: Annotated[
        Path | None,
        Option("--out", metavar="FILE", help="Draw its graph: .html, .png or .svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a network: layers, shapes, MACs, bytes, intensity; or a picture of its graph."""
    if source is None:
        from .catalogue import show_networks

        if out is not None:
            raise UserError(f"--out {out}: say which network to draw")
        if settings:
            raise UserError(f"--set {settings[0]}: say which network; options differ")
        show_networks(batch, word_bits, as_json, new_console())
    else:
        from archloom.studies.config import WorkloadOptions

        from .catalogue import show_network

        asked = WorkloadOptions(tuple(settings or ()), batch, word_bits)
        show_network(source, asked, as_json, out, new_console())


@app.command_of(epilog="Example: archloom technology n7")
def technology(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="Without it, all tables are listed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a technology table: entries, DRAMs, error of the SRAM fit, and every source."""
    from .catalogue import show_technologies, show_technology

    if name is None:
        show_technologies(as_json, new_console())
    else:
        show_technology(name, as_json, new_console())


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
