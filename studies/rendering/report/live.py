"""The report of a study that may be running, served to browsers; the study is only read."""

import json
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from time import monotonic
from typing import Any, ClassVar, Final

from archloom.studies.analysis import StudyStatus, read_status
from archloom.studies.config import Location, stored_pick
from archloom.studies.storage import read_header, results_digest

from ...errors import UserError
from ..html import packed_plotly, render
from .material import Gatherer
from .page import page_values, study_body, study_page

#: seconds for which an answer to browsers that ask what is new stays true
_FRESH_S: Final = 1.0

_HTML, _JSON = "text/html; charset=utf-8", "application/json"


class LiveReport:
    """The page of a study as it is now; any number of threads may ask.

    Args:
        location: of the study.
        pick: a rule in place of the study's.

    Raises:
        UserError: there is no study, or no such rule.
    """

    def __init__(self, location: Location, pick: str | None = None) -> None:
        self._location, self._gatherer = location, Gatherer(location, pick)
        config = read_header(location).config
        stored_pick(config, pick)
        self._name: str = config["name"]
        self._looking, self._making = Lock(), Lock()
        self._status: dict[str, str] = {}
        self._looked_s = -_FRESH_S
        self._made, self._values = "", dict[str, Any]()

    def status(self) -> dict[str, str]:
        """Return ``version``, another one where the page is, and ``text``: how far the study is."""
        with self._looking:
            if monotonic() - self._looked_s >= _FRESH_S:
                self._status = self._look()
                self._looked_s = monotonic()
            return self._status

    def _look(self) -> dict[str, str]:
        try:
            text = status_text(read_status(self._location))
            return {"version": results_digest(self._location), "text": text}
        except UserError as error:
            return {"version": self._status.get("version", ""), "text": str(error)}

    def page(self) -> str:
        """Return the whole page."""
        return self._rendered(whole=True)

    def body(self) -> str:
        """Return what of the page changes."""
        return self._rendered(whole=False)

    def _rendered(self, whole: bool) -> str:
        version = self.status()["version"]
        with self._making:
            try:
                if version != self._made:
                    material = self._gatherer.gather()
                    self._values = page_values(material, live=True)
                    self._made = version
            except UserError as error:
                if not self._values:
                    return self._waiting(str(error), whole)
            return study_page(self._values) if whole else study_body(self._values)

    def _waiting(self, why: str, whole: bool) -> str:
        shown = {"name": self._name, "why": why}
        if not whole:
            return render("waiting_body.html.j2", **shown)
        title = f"{self._name} - Archloom"
        return render("waiting.html.j2", title=title, live=True, plotly=packed_plotly(), **shown)


def status_text(status: StudyStatus) -> str:
    """Say how far a study is, in a line."""
    text = f"{status.trials} of {status.trials_wanted} trials, {status.front} on the front"
    if status.failures:
        text += f", {len(status.failures)} rounds failed"
    if status.process is None:
        over = status.trials >= status.trials_wanted
        return f"{text}; {'the study has ended' if over else 'no process is running it'}"
    running = [label for label, *_ in status.running]
    doing = ", ".join([*status.stages, *running[:4]]) or "proposing designs"
    more = f" and {len(running) - 4} more" if len(running) > 4 else ""
    return f"{text}; running: {doing}{more}"


class _Handler(BaseHTTPRequestHandler):
    report: ClassVar[LiveReport]

    def do_GET(self) -> None:
        """Answer a browser."""
        path = self.path.partition("?")[0]
        if path == "/":
            self._answer(self.report.page(), _HTML)
        elif path == "/body.html":
            self._answer(self.report.body(), _HTML)
        elif path == "/status.json":
            self._answer(json.dumps(self.report.status()), _JSON)
        elif path == "/favicon.ico":
            # browsers ask for one; there is none
            self.send_response(HTTPStatus.NO_CONTENT)
            self.end_headers()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        try:
            self.wfile.write(data)
        except ConnectionError:
            # who asked is gone
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing of each answer."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def live_server(report: LiveReport, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server of a report, which listens; ``serve_forever`` makes it answer.

    Args:
        report: what it serves.
        host: name or address of this machine.
        port: 0 for any that is free.

    Raises:
        UserError: it cannot listen there.
    """
    handler = type("Handler", (_Handler,), {"report": report})
    server = type("Server", (_Server,), {"address_family": _family(host)})
    try:
        made: ThreadingHTTPServer = server((host, port), handler)
    except OSError as error:
        raise UserError(
            f"--host {host} --port {port}: cannot listen there ({error.strerror}); "
            "choose another port, or --port 0 for a free one"
        ) from None
    return made


def address_of(server: ThreadingHTTPServer) -> str:
    """Return the address that browsers are given."""
    host, port = server.server_address[:2]
    name = f"[{host!s}]" if ":" in str(host) else str(host)
    return f"http://{name}:{port}/"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
