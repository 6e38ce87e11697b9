"""Chains of the networks that a command line names, on the hardware that it names."""

from collections.abc import Sequence
from pathlib import Path

from archloom.evaluators.weaving import NPUS, Chain, Npu, weight_stationary_chain
from archloom.space.networks import options
from archloom.studies.config import WorkloadOptions, find_network, normal
from archloom.studies.rendering.text import known

from ...errors import UserError


def chains_on(
    sources: Sequence[str], hardware: str, batch: int | None, settings: Sequence[str]
) -> tuple[list[Chain], Npu]:
    """Return a chain for each network, and what they share.

    Raises:
        UserError: a network or hardware that there is none of.
    """
    known(hardware, "--hardware", list(NPUS))
    npu, array = NPUS[hardware]
    for setting in settings:
        key, _, _ = setting.partition("=")
        name, dot, option = key.rpartition(".")
        if dot and name not in sources:
            raise UserError(f"--network-set {setting}: {name!r} is not among the networks")
        if not dot and not any(option in _options(source) for source in sources):
            raise UserError(f"--network-set {setting}: none of the networks has {option!r}")
    chains = []
    for source in sources:
        own = [own for setting in settings if (own := _own(setting, source))]
        asked = WorkloadOptions(tuple(own), None, array.word_bytes * 8, "--network-set")
        network = find_network(normal(source, Path.cwd()), asked)
        try:
            chains.append(weight_stationary_chain(network, array, batch or 1))
        except ValueError as error:
            raise UserError(str(error)) from None
    return chains, npu


def _options(source: str) -> set[str]:
    try:
        return set(options(source))
    except ValueError:
        return set()


def _own(setting: str, source: str) -> str:
    """Return a setting as it is for a network; empty if it is for others."""
    key, sign, value = setting.partition("=")
    name, dot, option = key.rpartition(".")
    if dot:
        return f"{option}{sign}{value}" if name == source else ""
    return setting if option in _options(source) else ""
