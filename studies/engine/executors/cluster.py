"""Ray on this machine, or the cluster that runs at an address."""

import logging
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from ...errors import TroubleError

#: Ray's smallest object store is 75 MB; what workers share is far smaller.
_OBJECT_STORE_BYTES: Final = 100 * 2**20

#: One thread per worker: workers share the cores, and threads of numba and torch on top of
#: that make every trial many times slower.
_WORKER_ENVIRONMENT: Final = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}

#: By this Ray knows whether a machine may be one of many; else it listens at 127.0.0.1 alone. Its
#: option for that, ``_node_ip_address``, is resolved to an address that others reach.
_ONE_OF_MANY: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"

#: Ray lets whoever connects first wait until workers have started that it makes beforehand. It
#: gives these up by the wall clock, and if that jumps meanwhile, waits for them for ever.
_SETTINGS: Final = {"prestart_worker_first_driver": False}

#: What Ray starts beside its node, each a Python of its own, and no study here uses: what asks a
#: cloud for machines, what passes on what workers print, and a dashboard without its pages. They
#: take three of the eight seconds of a start, and Ray has no option for that.
_UNUSED: Final = ("start_monitor", "start_log_monitor", "start_api_server")

#: how Ray refuses a cluster with other versions
_OTHER_VERSIONS: Final = re.compile(
    r"Version mismatch: The cluster was started with: Ray: (\S+) Python: (\S+) "
    r"This process on .* was started with: Ray: (\S+) Python: (\S+)"
)

#: where Ray looks for the token of a cluster
_TOKEN_VARIABLES: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_TOKEN_FILE: Final = Path("~/.ray/auth_token")

#: seconds that are as good as no limit; the kernel's timer does not take all numbers
_LONGEST_S: Final = 1e8

#: what a cluster may want that refuses
_TOKEN: Final = (
    f"if it was started with token authentication, which is Ray's default, copy {_TOKEN_FILE} from "
    "its head to this machine, or set RAY_AUTH_TOKEN_PATH"
)


def connect(address: str | None, workers: int, start_s: float) -> None:
    """Start Ray on this machine, or join a cluster.

    A start that hangs, hangs in compiled code that hears no signal. So SIGALRM ends this process
    if it takes too long, and SIGINT and SIGTERM end it at once; the kernel's timer counts time
    since the boot, whatever the wall clock does. Whoever watches says what it means (:func:`late`).

    Args:
        address: host:port of the cluster; None for this machine.
        workers: that there is to be room for on this machine.
        start_s: seconds that this may take.

    Raises:
        TroubleError: Ray does not start, or the cluster refuses.
    """
    # Read by Ray at its import: no usage reports from a user's machine.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Silences a warning about a change of default that does not touch CPU-only work.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is None:
        os.environ[_ONE_OF_MANY] = "0"
    if address is not None and _has_token():
        # Ray shows it to no cluster by itself; one that wants none takes no notice
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    import ray

    options: dict[str, Any] = {
        "address": address or "local",
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "runtime_env": {"env_vars": _WORKER_ENVIRONMENT},
    }
    if address is None:
        options |= {
            "num_cpus": workers,
            "object_store_memory": _OBJECT_STORE_BYTES,
            "include_dashboard": False,
            "_system_config": dict(_SETTINGS),
        }
    with (
        Refusals(address, ray.exceptions.RayError),
        _mortal(start_s),
        _own_signals(),
        _few_processes(),
    ):
        ray.init(**options)


class Refusals:
    """Turns what Ray raises inside, when it does not start, into one message.

    Args:
        address: of the cluster; None for this machine.
        kind: of Ray's own errors.

    Raises:
        TroubleError: Ray raised one of these, an error of the system's, or a bare exception, as
            it does for a node that does not come up.
    """

    def __init__(self, address: str | None, kind: type[Exception]) -> None:
        self._address = address
        self._kinds = (OSError, RuntimeError, kind)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is not Exception and not isinstance(error, self._kinds):
            return
        text = " ".join(str(error).split())
        if self._address is None:
            raise TroubleError(f"Ray does not start on this machine: {text}") from None
        raise TroubleError(refusal(self._address, text)) from None


def late(address: str | None, start_s: float) -> str:
    """Return what it means that a start was ended by SIGALRM, for people.

    Args:
        address: of the cluster; None for this machine.
        start_s: seconds that it had.
    """
    if address is None:
        what = f"Ray did not start on this machine within {start_s:g} s"
    else:
        what = (
            f"the cluster at {address} accepts connections, but did not let this machine join "
            f"within {start_s:g} s; check its head node ('ray status' there)"
        )
    return f"{what}; if it needs longer, raise executor.start_s in the study file"


def end_late_start() -> None:
    """End this process as the kernel does where a start hangs; see :func:`connect`."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGALRM)


@contextmanager
def _mortal(start_s: float) -> Iterator[None]:
    """Let signals end this process whatever it does, and the kernel send one after some time."""
    deadly = (signal.SIGALRM, signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.SIG_DFL) for number in deadly}
    signal.setitimer(signal.ITIMER_REAL, min(start_s, _LONGEST_S))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep Ray from handling SIGTERM: it would end this process wherever that is just then.

    It has no option for that.
    """
    real = signal.signal

    def kept(number: int, handler: Any) -> Any:
        return signal.getsignal(number) if number == signal.SIGTERM else real(number, handler)

    signal.signal = kept  # type: ignore[assignment]
    try:
        yield
    finally:
        signal.signal = real


@contextmanager
def _few_processes() -> Iterator[None]:
    """Keep Ray from starting processes that are not used; a Ray that has no such step is let be."""
    from ray._private.node import Node

    steps = {name: getattr(Node, name) for name in _UNUSED if hasattr(Node, name)}
    for name in steps:
        setattr(Node, name, lambda *_, **__: None)
    try:
        yield
    finally:
        for name, step in steps.items():
            setattr(Node, name, step)


def refusal(address: str, text: str) -> str:
    """Return what a cluster's refusal is about, for people.

    Args:
        address: of the cluster.
        text: what Ray said, on one line.
    """
    if versions := _OTHER_VERSIONS.search(text):
        ray, python, my_ray, my_python = versions.groups()
        return (
            f"the cluster at {address} runs Ray {ray} on Python {python}, and this is Ray {my_ray} "
            f"on Python {my_python}; install the same versions on all machines"
        )
    return f"the cluster at {address} refuses: {text}; {_TOKEN}"


def _has_token() -> bool:
    return any(name in os.environ for name in _TOKEN_VARIABLES) or _TOKEN_FILE.expanduser().exists()


def check_reachable(address: str) -> None:
    """Knock at a cluster's door: Ray itself tries for minutes before it gives up.

    Raises:
        TroubleError: nothing answers.
    """
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        socket.create_connection((parts.hostname, parts.port or 0), timeout=10).close()
    except (OSError, ValueError) as error:
        raise TroubleError(
            f"no Ray cluster answers at {address!r} ({error}); give host:port of a running cluster "
            "(--address, or executor.address in the study file), use --executor inline, "
            "or --address local to start Ray here"
        ) from None
