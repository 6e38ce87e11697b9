"""The command line of ``archloom export``."""

from typing import Annotated, Final

from archloom.studies.commands.options import Option, Study, echo

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
            help="csv, json, parquet or optuna.",
            names="export formats",
        ),
    ] = "csv",
    out: Annotated[
        str | None,
        Option(
            "--out",
            metavar="FILE",
            help="Else csv and json are printed. Of optuna: the URL of a storage.",
        ),
    ] = None,
) -> None:
    """Write all trials for other programs: one row a trial, with its state and what went wrong.

    Names of columns have units. parquet needs pip install 'archloom[parquet]'. optuna keeps the
    trials in a storage of Optuna, which optuna-dashboard shows; a second time adds what is new.
    """
    from .files import FORMATS, export_file, export_optuna, printed

    if form not in FORMATS:
        from archloom.studies.rendering.text import known

        known(form, "--format", FORMATS)
    if form == "optuna":
        echo(export_optuna(study, out))
    elif out is not None or form == "parquet":
        echo(export_file(study, form, out))
    else:
        echo(printed(study, form), nl=False)
