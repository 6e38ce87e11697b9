"""The command line of ``archloom export``."""

from typing import Annotated, Final

from archloom.studies.commands.options import Option, Study, echo

FORMATS: Final = ("csv", "json", "parquet", "optuna")

EXPORT_EXAMPLES: Final = (
    "archloom export runs/quickstart --format csv --out trials.csv",
    "archloom export runs/quickstart --format optuna --out sqlite:///study.db",
)


def export(
    study: Study,
    form: Annotated[
        str,
        Option(
            "--format",
            metavar="FORMAT",
            help="Format: csv, json, parquet or optuna.",
            names=FORMATS,
        ),
    ] = "csv",
    out: Annotated[
        str | None,
        Option(
            "--out",
            metavar="FILE",
            help="Output file (default: csv and json are printed); for optuna the URL of a "
            "storage, such as sqlite:///study.db.",
        ),
    ] = None,
) -> None:
    """Export all trials for other programs, one row per trial, with its state and any error.

    Column names have units. The format parquet needs pip install 'archloom[parquet]'. The format
    optuna copies the trials into an Optuna storage, which optuna-dashboard shows; a second export
    adds new trials.
    """
    from .files import export_file, export_optuna, printed

    if form not in FORMATS:
        from archloom.studies.rendering.text import known

        known(form, "--format", FORMATS)
    if form == "optuna":
        echo(export_optuna(study, out))
    elif out is not None or form == "parquet":
        echo(export_file(study, form, out))
    else:
        echo(printed(study, form), nl=False)
