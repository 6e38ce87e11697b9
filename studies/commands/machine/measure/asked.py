"""What a command line asks to be measured, and everything that is wrong with it at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from archloom.evaluators.host import (
    ALGORITHMS,
    COMPILED,
    DTYPES,
    ConvShape,
    read_shape,
)
from archloom.evaluators.host.machine import has_halide, usable_cores
from archloom.search.hardware.schedules import TUNERS, Effort
from archloom.space import did_you_mean
from archloom.space.workload import Network
from archloom.studies.config import WorkloadOptions, find_network, normal
from archloom.studies.solve.measuring import Wanted, layers_of, variants_of

from ....errors import UserError

Value = TypeVar("Value")

#: what to do where compiled algorithms are asked for and cannot be
INSTALL = "pip install 'archloom[host]'"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command line says.

    Attributes:
        source: a network; None for layers.
        layers: shapes.
        settings: of the network.
        algorithms: with commas; None for all.
        dtypes, densities: with commas.
        effort: trials, optimizer, seed, threads.
    """

    source: str | None
    layers: tuple[str, ...]
    settings: tuple[str, ...]
    algorithms: str | None
    dtypes: str
    densities: str
    effort: tuple[int, str, int, int]


def wanted_of(asked: Asked) -> Wanted:
    """Return what is to be measured.

    Raises:
        UserError: everything that is wrong with what is asked.
    """
    faults: list[str] = []
    names = _names(asked.algorithms or ",".join(_available()), "--algorithm", ALGORITHMS, faults)
    dtypes = _names(asked.dtypes, "--dtype", DTYPES, faults)
    densities = list(_densities(asked.densities, faults))
    trials, optimizer, seed, threads = asked.effort
    faults += _unknown([optimizer], "--optimizer", list(TUNERS))
    if threads > len(usable_cores()):
        faults.append(f"--threads {threads}: there are {len(usable_cores())} cores")
    needed = [name for name in names if name in COMPILED]
    if needed and not has_halide():
        faults.append(
            f"--algorithm {needed[0]}: is compiled by halide, which is not installed: {INSTALL}; "
            "library and portable work without it"
        )
    network = _tried(lambda: _network(asked), faults)
    shapes = _shapes(asked, faults)
    if faults:
        raise UserError("\n".join(faults))
    effort = Effort(trials, 5, optimizer, seed)
    variants = tuple(variants_of(names, dtypes, densities))
    if network is None:
        return Wanted("layers", None, shapes, variants, effort, threads)
    found, skipped = layers_of(network)
    if not found:
        raise UserError(f"{network.name}: has no convolution that kernels compute: {skipped[0][1]}")
    return Wanted(network.name, network, found, variants, effort, threads, skipped)


def _available() -> list[str]:
    return [name for name in ALGORITHMS if name not in COMPILED or has_halide()]


def _network(asked: Asked) -> Network | None:
    if asked.source is None:
        if not asked.layers:
            raise UserError("say a network, or --layer; archloom networks lists them")
        if asked.settings:
            raise UserError(f"--network-set {asked.settings[0]}: say of which network")
        return None
    if asked.layers:
        raise UserError(f"--layer {asked.layers[0]} and {asked.source}: say one of them")
    options = WorkloadOptions(asked.settings, 1, 16, "--network-set")
    return find_network(normal(asked.source, Path.cwd()), options)


def _shapes(asked: Asked, faults: list[str]) -> dict[ConvShape, tuple[str, ...]]:
    found: dict[ConvShape, tuple[str, ...]] = {}
    for text in asked.layers:
        try:
            found[read_shape(text)] = (text,)
        except ValueError as error:
            faults.append(f"--layer {error}")
    return found


def _tried(read: Callable[[], Value], faults: list[str]) -> Value | None:
    try:
        return read()
    except UserError as error:
        faults.append(str(error))
        return None


def _names(text: str, option: str, known: Sequence[str], faults: list[str]) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    faults += _unknown(names, option, known)
    if not names:
        faults.append(f"{option} {text!r}: names nothing; known: {', '.join(known)}")
    return [name for name in names if name in known]


def _unknown(names: Sequence[str], option: str, known: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            yield f"{option} {name!r} is not known; {hint}"


def _densities(text: str, faults: list[str]) -> Iterator[float]:
    for part in text.split(","):
        try:
            share = float(part)
        except ValueError:
            share = -1.0
        if 0 <= share <= 1:
            yield share
        else:
            faults.append(f"--density {part!r}: must be a share from 0 up to 1, as 0.2")
