"""A real browser without a window: Chromium, spoken to through pipes (its DevTools protocol)."""

import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

#: starts a program with our ends of two pipes as its files 3 and 4
_START = (
    "import os, sys\n"
    "r, w = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2]))\n"
    "r, w = (os.dup(r), os.dup(w))\n"
    "os.dup2(r, 63); os.dup2(w, 64); os.dup2(63, 3); os.dup2(64, 4)\n"
    "os.execvp(sys.argv[3], sys.argv[3:])\n"
)

_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--mute-audio", "--remote-debugging-pipe"),
)

#: seconds that a page may take, on a machine that does much else
_PATIENCE_S = 120.0


def chromium() -> str | None:
    """Return the browser; None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := which(name))), None)


class Browser:
    """A browser with one page; a context manager.

    Attributes:
        errors: what pages said that is wrong: uncaught exceptions, console errors, failed loads.
    """

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._count, self._rest = 0, b""
        self._events: list[dict[str, Any]] = []
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

    def __enter__(self) -> Self:
        program = chromium()
        assert program is not None
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        profile = f"--user-data-dir={self._folder.name}"
        ends = (theirs_in, theirs_out)
        command = [sys.executable, "-c", _START, *map(str, ends), program, *_FLAGS, profile]
        self._process = subprocess.Popen(
            [*command, "about:blank"], pass_fds=ends, stderr=subprocess.DEVNULL
        )
        for end in ends:
            os.close(end)
        self._session = ""
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        asked = {"targetId": page["targetId"], "flatten": True}
        self._session = self._call("Target.attachToTarget", **asked)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def open(self, address: str, width: int = 1100, height: int = 900) -> None:
        """Open a page and wait until it is drawn."""
        self.resize(width, height)
        self._call("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.drawn === 'yes'")

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window a size."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def value(self, expression: str) -> Any:
        """Return what JavaScript makes of an expression; promises are waited for."""
        found = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise AssertionError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = monotonic() + _PATIENCE_S
        while not self.value(expression):
            if monotonic() > end:
                raise AssertionError(f"never came true: {expression}; {self.errors}")
            sleep(0.05)

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """Write what the page looks like as a PNG."""
        found = self._call("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        path.write_bytes(base64.b64decode(found["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        asked: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._hear(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._from, 1 << 20)
            if not more:
                raise AssertionError("the browser ended")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def _hear(self, event: dict[str, Any]) -> None:
        said = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.errors.append(str(details.get("exception", {}).get("description", details)))
        elif event.get("method") == "Runtime.consoleAPICalled" and said["type"] == "error":
            self.errors.append(
                str([arg.get("value", arg.get("description")) for arg in said["args"]])
            )
        elif event.get("method") == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.errors.append(str(said["entry"]["text"]))
