"""``archloom report``: a study's report as a file, or live in browsers while it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from archloom.studies.commands.options import Option, Pick, Study, echo
from archloom.studies.config import Location
from archloom.studies.rendering.text import new_console, print_line

from ...errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

REPORT_EXAMPLES: Final = (
    "archloom report runs/quickstart",
    "archloom report runs/quickstart --out reports",
    "archloom report runs/quickstart --live --port 0",
)

HOST: Final = "127.0.0.1"
PORT: Final = 8000
_MOST: Final = 65535


def report(
    study: Study,
    pick: Pick = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="Directory for the report (default: the directory of the study).",
        ),
    ] = None,
    live: Annotated[
        bool,
        Option("--live", help="Serve the page to browsers and update it while the study runs."),
    ] = False,
    port: Annotated[
        int | None,
        Option("--port", least=0, help="Port of --live; 0 selects a free one (default: 8000)."),
    ] = None,
    host: Annotated[
        str | None,
        Option(
            "--host", metavar="NAME", help="Address that --live listens at (default: 127.0.0.1)."
        ),
    ] = None,
) -> None:
    """Write a report of a study: one HTML file with interactive plots, and a PNG summary.

    With --live no file is written: the page is served to browsers and updated until Ctrl-C.
    """
    from archloom.studies.storage import is_stack

    stack = is_stack(study)
    _check(stack, live, out, port, host)
    if live:
        _serve(study, pick, host, port, new_console(stderr=True))
    elif stack:
        from .stack import report_stack

        echo(report_stack(study, pick, out))
    else:
        from archloom.studies.engine.progress import ProgressView
        from archloom.studies.rendering.report import write_report

        # what is printed are the paths; progress goes beside them
        with ProgressView(new_console(stderr=True)) as view:
            paths = write_report(study, pick, view, out)
        for path in paths:
            echo(path)


def _check(stack: bool, live: bool, out: Path | None, port: int | None, host: str | None) -> None:
    """Refuse options that do not go together.

    Raises:
        UserError: they do not, or there is no such port.
    """
    if not live:
        for option, value in (("--port", port), ("--host", host)):
            if value is not None:
                raise UserError(f"{option} {value} needs --live; give both or neither")
        return
    if out is not None:
        raise UserError(f"--out {out}: --live writes no file; use one of them")
    if stack:
        raise UserError("--live does not support studies of kind stack; leave it out")
    if port is not None and port > _MOST:
        raise UserError(f"--port {port} must be at most {_MOST}, or 0 for any that is free")


def _serve(
    location: Location, pick: str | None, host: str | None, port: int | None, console: "Console"
) -> None:
    """Serve a study's report until Ctrl-C.

    Args:
        location: of the study, which is only read.
        pick: a rule in place of the study's.
        host: that is listened at; None for this machine alone.
        port: likewise; None for 8000.
        console: told the address.

    Raises:
        UserError: there is no study, or the port cannot be listened at.
    """
    from archloom.studies.rendering.report import LiveReport, address_of, live_server

    report = LiveReport(location, pick)
    with live_server(report, host or HOST, PORT if port is None else port) as server:
        print_line(f"{location} at {address_of(server)} (Ctrl-C ends it)", console)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_line("ended", console)
