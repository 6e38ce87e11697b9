"""Ray on this machine, or the cluster that runs at an address."""

import logging
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
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

#: how Ray refuses a cluster with other versions
_OTHER_VERSIONS: Final = re.compile(
    r"Version mismatch: The cluster was started with: Ray: (\S+) Python: (\S+) "
    r"This process on .* was started with: Ray: (\S+) Python: (\S+)"
)

#: where Ray looks for the token of a cluster
_TOKEN_VARIABLES: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_TOKEN_FILE: Final = Path("~/.ray/auth_token")

#: what a cluster may want that refuses
_TOKEN: Final = (
    f"if it was started with token authentication, which is Ray's default, copy {_TOKEN_FILE} from "
    "its head to this machine, or say RAY_AUTH_TOKEN_PATH"
)


def connect(address: str | None, workers: int) -> None:
    """Start Ray on this machine, or join a cluster.

    Args:
        address: host:port of the cluster; None for this machine.
        workers: that there is to be room for on this machine.

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
        }
    try:
        with _own_signals():
            ray.init(**options)
    except (ConnectionError, RuntimeError, ray.exceptions.RayError) as error:
        text = " ".join(str(error).split())
        if address is None:
            raise TroubleError(f"Ray does not start on this machine: {text}") from None
        raise TroubleError(refusal(address, text)) from None


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
            f"no Ray cluster answers at {address!r} ({error}); give host:port of one that runs "
            "(--address, or executor.address in the study file), say --executor inline, "
            "or --address local to start Ray here"
        ) from None
