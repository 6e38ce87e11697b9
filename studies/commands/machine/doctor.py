"""Command ``archloom doctor``: whether this machine can run studies, and whether one could start.

It imports nothing heavy: versions come from metadata. Only the look at compiled kernels loads
those, and it is left out where their compiler is not installed.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.studies.commands.options import echo
from archloom.studies.config import SharedStudy

from ...errors import UserError
from .speed import core_count, python_seconds

if TYPE_CHECKING:
    from archloom.studies.config import StudyConfig

_GIB: Final = 2.0**30

#: Packages that come with others, and decide whether kernels and workers run.
_BENEATH: Final = ("llvmlite",)

#: Memory of a worker with its kernels, and disk of a study with its cache (assumptions: what the
#: quickstart study takes, with a margin of two).
LEAST_MEMORY_BYTES: Final = 2 * _GIB
LEAST_DISK_BYTES: Final = 1 * _GIB


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: it is.
        found: what it is like.
        remedy: what to do; empty if all is well.
    """

    what: str
    found: str
    remedy: str = ""


def diagnose(read: "Callable[[], StudyConfig] | None", out: str | None) -> int:
    """Print what was found, and what to do; return 1 if something is in the way, else 0.

    Args:
        read: reads the study that is asked about; None for none.
        out: where the study is to be kept; None for what its file says.
    """
    wrong = 0
    for finding in (*machine_findings(), *(study_findings(read, out) if read else ())):
        mark = "!" if finding.remedy else " "
        echo(f"{mark} {finding.what:<22} {finding.found}")
        if finding.remedy:
            wrong += 1
            echo(f"  {'':<22} -> {finding.remedy}")
    problems = "1 problem" if wrong == 1 else f"{wrong} problems"
    echo(f"{problems} found, marked with !" if wrong else "no problems found")
    return 1 if wrong else 0


def machine_findings() -> Iterator[Finding]:
    """Yield what this machine and its packages are like."""
    yield Finding("python", f"{sys.version.split()[0]} ({sys.executable})")
    yield from _packages()
    yield _driver()
    memory = _free_memory_bytes()
    yield Finding("cores", f"{core_count()} available to this process")
    yield Finding("speed", f"plain Python adds a million squares in {python_seconds():.2f} CPU-s")
    remedy = ""
    if memory is not None and memory < LEAST_MEMORY_BYTES:
        remedy = "close other programs, or run studies with --workers 1"
    found = "unknown" if memory is None else f"{memory / _GIB:.1f} GiB free"
    yield Finding("memory", found, remedy)
    yield from _kernels()


def study_findings(read: "Callable[[], StudyConfig]", out: str | None) -> Iterator[Finding]:
    """Yield whether a study could start."""

    try:
        config = read()
    except UserError as error:
        yield Finding("study", str(error), "correct the study file")
        return
    size = f"{config.trials} trials, {len(config.workloads)} networks"
    yield Finding("study", f"{config.name}: {size}, space {Path(config.space).stem}")
    yield _feasibility(config)
    yield _executor(config)
    target = config.location(out)
    if isinstance(target, SharedStudy):
        yield _database(target)
        return
    yield _writable("output directory", target, "choose another directory with --out")
    yield _space("free disk space", target, "free some, or choose another directory with --out")


def _database(location: SharedStudy) -> Finding:
    from archloom.studies.storage import names_in

    try:
        there = location.name in names_in(location)
    except UserError as error:
        return Finding("database", str(error), "correct this, or choose another place with --out")
    return Finding(
        "database",
        f"{location.database} is reachable; study {location.name} "
        f"{'exists' if there else 'will be created'}",
    )


def _packages() -> Iterator[Finding]:
    """Yield archloom and what it needs, each with its version."""
    yield Finding("archloom", version("archloom"))
    names = [
        text.split(";")[0].strip() for text in requires("archloom") or () if "extra ==" not in text
    ]
    for name in (*(_name(text) for text in names), *_BENEATH):
        try:
            yield Finding(name, version(name))
        except PackageNotFoundError:
            yield Finding(name, "not installed", f"pip install {name}")


def _driver() -> Finding:
    """Say whether studies can be kept in a database, which most do without."""
    try:
        return Finding("psycopg", f"{version('psycopg')} (for studies in a database)")
    except PackageNotFoundError:
        how = "pip install 'archloom[postgresql]'"
        return Finding("psycopg", f"not installed; only needed for studies in a database: {how}")


def _name(requirement: str) -> str:
    """Return the package of a requirement such as ``numpy>=2.0,<3``."""
    return next(
        (requirement[:i] for i, sign in enumerate(requirement) if sign in " <>=!~["), requirement
    )


def _kernels() -> Iterator[Finding]:
    """Yield where kernels are cached, whether there is space, and which are missing."""
    try:
        from archloom.evaluators.jit import cache_root, missing
    except ImportError as error:
        yield Finding("kernels", f"cannot be checked: {error}", "reinstall archloom")
        return
    from .kernels import default_kernels

    kernels = default_kernels()
    root = cache_root(kernels)
    remedy = "set NUMBA_CACHE_DIR to a writable directory"
    if root is None:
        yield Finding("kernel cache", "no writable directory found", remedy)
        return
    yield _writable("kernel cache", root, remedy)
    yield _space("disk for kernels", root, "free some disk space, or set NUMBA_CACHE_DIR")
    absent = missing(kernels)
    text = f"{len(kernels) - len(absent)} of {len(kernels)} compiled"
    # no problem: a study compiles them itself when it begins
    yield Finding("kernels", text + ("; compile the others: archloom compile" if absent else ""))


def _feasibility(config: "StudyConfig") -> Finding:
    from archloom.studies.config import without_forms
    from archloom.studies.engine import prepare

    if unknown := without_forms(config.workloads):
        # to find out takes a while, and archloom run says how long
        about = ", ".join(workload.label for workload in unknown)
        return Finding("feasible designs", f"not known before compressed {about} is trained")
    try:
        prepare(config, config.space)
    except UserError as error:
        return Finding("feasible designs", str(error), "relax the hardware space or its limits")
    return Finding("feasible designs", "at least one exists")


def _executor(config: "StudyConfig") -> Finding:
    """Say whether the executor could start, without starting it."""
    choice = config.executor
    if choice.name == "inline":
        return Finding("executor", "inline (trials run in this process)")
    if choice.address is None:
        workers = choice.workers or core_count()
        return _writable(f"executor ray, {workers} workers", _ray_folder(), "set RAY_TMPDIR")
    from archloom.studies.engine.executors import check_reachable

    try:
        check_reachable(choice.address)
    except UserError as error:
        return Finding("executor", str(error), "start the cluster, or use --executor inline")
    return Finding("executor", f"Ray cluster at {choice.address} is reachable")


def _ray_folder() -> Path:
    """Return where Ray puts sockets and logs."""
    return Path(os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp")


def _writable(what: str, path: Path, remedy: str) -> Finding:
    there = _existing(path)
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Finding(what, f"{path} (writable)")
    return Finding(what, f"{path} is not writable", remedy)


def _space(what: str, path: Path, remedy: str) -> Finding:
    free = shutil.disk_usage(_existing(path)).free
    return Finding(what, f"{free / _GIB:.1f} GiB", "" if free >= LEAST_DISK_BYTES else remedy)


def _existing(path: Path) -> Path:
    """Return the nearest of a path and its parents that exists."""
    full = path.absolute()
    return next(parent for parent in (full, *full.parents) if parent.exists())


def _free_memory_bytes() -> float | None:
    """Return the memory that programs could still take; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return float(found[0]) * 1024 if found else None
