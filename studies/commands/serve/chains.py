"""Chains of the networks that a command line names, on the hardware that it names."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from archloom.evaluators.weaving import NPUS, Chain, Npu, weight_stationary_chain
from archloom.studies.config import WorkloadOptions, find_network, normal
from archloom.studies.rendering.text import known

from ...errors import UserError


def chains_on(sources: Sequence[str], hardware: str, batch: int | None) -> tuple[list[Chain], Npu]:
    """Return a chain for each network, and what they share.

    Raises:
        UserError: a network or hardware that there is none of.
    """
    known(hardware, "--hardware", list(NPUS))
    npu, array = NPUS[hardware]
    chains = []
    for source in sources:
        name, _, rest = source.partition(":")
        asked = WorkloadOptions(
            tuple(filter(None, rest.split(","))), None, array.word_bytes * 8, "option"
        )
        network = find_network(normal(name, Path.cwd()), asked)
        try:
            chains.append(replace(weight_stationary_chain(network, array, batch or 1), name=name))
        except ValueError as error:
            raise UserError(str(error)) from None
    return chains, npu
