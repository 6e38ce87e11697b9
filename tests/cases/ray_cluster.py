"""Ray clusters whose nodes have a network each: namespaces of Linux, with a switch between them.

Nothing leaves the machine. It takes root, and ``ip`` of iproute2.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import IO, Final, Self

#: what a cluster of this test listens at; every namespace has all ports to itself
PORT: Final = 6379

#: seconds that anything of a cluster may take, on a machine with other work
PATIENCE_S: Final = 300.0

#: Ray sees after seconds, not minutes, that a node or its head has gone
_HASTY: Final = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
}

#: without what passes on what workers print
LEAN: Final = ("--include-log-monitor=false",)

_SCRIPTS: Final = Path(__file__).parents[2] / "examples" / "cluster"


def unable() -> str | None:
    """Return why there can be no namespaces here; None if there can."""
    if os.geteuid() != 0:
        return "namespaces take root"
    return None if shutil.which("ip") else "namespaces take ip, of iproute2"


def clean_environment() -> dict[str, str]:
    """Return the environment without what a study on this machine alone left behind in the process
    of the tests: nodes that inherit it refuse to be one of several."""
    left = ("RAY_AUTH_MODE", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")
    return {name: value for name, value in os.environ.items() if name not in left}


def until(true: Callable[[], object], what: str) -> None:
    """Wait until something is true.

    Raises:
        TimeoutError: it takes too long.
    """
    end = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


class RayCluster:
    """Nodes 1, 2, ... at 10.77.0.1, 10.77.0.2, ...; the first one is the head.

    Args:
        environment: of all processes, besides that of this one.

    Raises:
        CalledProcessError: a namespace cannot be made.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        # sockets of Ray have paths of 107 characters at the most
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        token = self.folder / "token"
        token.write_text("0123456789abcdef" * 4)
        self._environment = {
            **clean_environment(),
            **_HASTY,
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_TMPDIR": str(self.folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            **(environment or {}),
        }
        self._name = f"ray{os.getpid()}-{id(self) % 10000}"
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self._spaces: list[str] = []
        self.address = f"{self.host(1)}:{PORT}"

    def __enter__(self) -> Self:
        try:
            self._space("switch")
            _ip("-n", self._spaces[0], "link", "add", "switch", "type", "bridge")
            _ip("-n", self._spaces[0], "link", "set", "switch", "up")
        except subprocess.CalledProcessError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for space in self._spaces:
            self._kill(space)
            subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)
        for process in self._nodes.values():
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def host(number: int) -> str:
        """Return a node's address."""
        return f"10.77.0.{number}"

    def start(self, number: int, cpus: int, compiled: bool = False, **environment: str) -> None:
        """Start a node with the scripts of ``examples/cluster``, and wait until it is there.

        Args:
            number: of the node; 1 is the head.
            cpus: that its workers may use.
            compiled: whether its kernels are compiled before it joins, as the script does it.
            environment: of its processes.
        """
        if number not in self._nodes:
            self._plug_in(number)
        if number == 1:
            words = [str(_SCRIPTS / "start_head.sh"), self.host(1), str(cpus)]
        else:
            words = [str(_SCRIPTS / "start_node.sh"), self.host(1), self.host(number), str(cpus)]
        if not compiled:
            # the script without its line that compiles
            text = Path(words[0]).read_text().replace("archloom compile", ": archloom compile")
            words[:1] = ["bash", "-c", text, words[0]]
        words += ["--object-store-memory=100000000", *LEAN]
        log = (self.folder / f"node{number}.log").open("wb")
        with log:
            self._nodes[number] = subprocess.Popen(
                [*self._inside(number), *words],
                env=self._environment | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        until(lambda: self._started(number), f"node {number} does not start")

    def _started(self, number: int) -> bool:
        code, said = self._nodes[number].poll(), self.folder / f"node{number}.log"
        if code is not None:
            raise RuntimeError(f"node {number} ended with {code}: {said.read_text()}")
        return "Ray runtime started" in said.read_text()

    def command(
        self, number: int, words: Sequence[str | Path], cwd: Path, output: IO[str] | int = PIPE
    ) -> subprocess.Popen[str]:
        """Begin a command on a node; what it says goes to ``output``."""
        return subprocess.Popen(
            [*self._inside(number), *words],
            env=self._environment,
            cwd=cwd,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def ports(self, number: int) -> set[int]:
        """Return the ports at which a node's processes accept connections."""
        process = self._processes(self._space_of(number))[0]
        tables = [Path(f"/proc/{process}/net/{name}").read_text() for name in ("tcp", "tcp6")]
        rows = [line.split() for table in tables for line in table.splitlines()[1:]]
        return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}

    def kill(self, number: int) -> None:
        """Kill all that runs on a node, as when its power fails."""
        self._kill(self._space_of(number))
        self._nodes[number].wait()

    def crash(self, number: int, name: str) -> None:
        """Kill the processes of a name on a node, of Ray's for instance."""
        for process in self._processes(self._space_of(number)):
            if name in Path(f"/proc/{process}/cmdline").read_text().split("\0")[0]:
                os.kill(process, signal.SIGKILL)

    def signal(self, number: int, what: signal.Signals) -> None:
        """Send a signal to all that runs on a node."""
        for process in self._processes(self._space_of(number)):
            try:
                os.kill(process, what)
            except ProcessLookupError:
                continue

    def plug(self, number: int, connected: bool) -> None:
        """Pull a node's cable out, or put it in again."""
        state = "up" if connected else "down"
        _ip("-n", self._spaces[0], "link", "set", f"port{number}", state)

    def slow_down(self, number: int, delay_ms: int, loss_percent: float) -> None:
        """Make the way to a node long and unreliable; ``tc`` and its netem are needed."""
        where = ["netns", "exec", self._spaces[0], "tc", "qdisc", "replace", "dev", f"port{number}"]
        _ip(*where, "root", "netem", "delay", f"{delay_ms}ms", "loss", f"{loss_percent}%")

    def _plug_in(self, number: int) -> None:
        space = self._space(str(number))
        switch, port = self._spaces[0], f"port{number}"
        _ip("-n", switch, "link", "add", port, "type", "veth", "peer", "eth0", "netns", space)
        _ip("-n", switch, "link", "set", port, "master", "switch", "up")
        _ip("-n", space, "address", "add", f"{self.host(number)}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")

    def _space(self, name: str) -> str:
        space = f"{self._name}-{name}"
        _ip("netns", "add", space)
        self._spaces.append(space)
        _ip("-n", space, "link", "set", "lo", "up")
        return space

    def _space_of(self, number: int) -> str:
        return f"{self._name}-{number}"

    def _inside(self, number: int) -> list[str]:
        return ["ip", "netns", "exec", self._space_of(number)]

    def _processes(self, space: str) -> list[int]:
        said = subprocess.run(
            ["ip", "netns", "pids", space], check=False, capture_output=True, text=True
        )
        return [int(word) for word in said.stdout.split()]

    def _kill(self, space: str) -> None:
        while processes := self._processes(space):
            for process in processes:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.02)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
