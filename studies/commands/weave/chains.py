"""Chains of the networks that a command line names, on the chip that it names."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from archloom.evaluators.weaving import (
    Chain,
    SteadyWeightsError,
    unfit_layer,
    weight_stationary_chain,
)
from archloom.space import Infeasible
from archloom.studies.engine.progress import Stages
from archloom.studies.solve import FusionEffort, network_chain

from ...errors import NOTHING_FOUND, UserError
from .chip import Chip
from .sources import Source


class NoRoomError(UserError):
    """Layers whose feature maps fit in no way on the chip that is asked for."""

    exit_code: ClassVar[int] = NOTHING_FOUND


def chains_of(
    sources: Sequence[Source], chip: Chip, effort: FusionEffort, stages: Stages
) -> list[Chain] | Infeasible | None:
    """Return the chain of each source; why one cannot run; or None if somebody stopped it.

    Raises:
        UserError: a plan that cannot share the chip.
    """
    found: list[Chain] = []
    for source in sources:
        if isinstance(source.what, Chain):
            found.append(replace(source.what, name=source.label))
            continue
        try:
            chain = _chain(source, chip, effort, stages)
        except SteadyWeightsError as error:
            raise UserError(str(error)) from None
        if chain is None:
            return None
        if isinstance(chain, Infeasible):
            return replace(chain, where=f"{source.label} on {chip.npu.name}: {chain.where}")
        found.append(replace(chain, name=source.label))
    return found


def _chain(
    source: Source, chip: Chip, effort: FusionEffort, stages: Stages
) -> Chain | Infeasible | None:
    network = source.what
    assert not isinstance(network, Chain), "the caller has those"
    if chip.array is not None:
        return weight_stationary_chain(network, chip.array, source.batch or 1)
    assert chip.planned is not None, "a chip is one or the other"
    if source.batch is not None:
        network = network.with_batch(source.batch)
    return network_chain(network, chip.planned, effort, stages)


def check_maps(chains: Sequence[Chain], chip: Chip) -> None:
    """Refuse layers whose maps fit in no way.

    Raises:
        NoRoomError: they, with amounts and what would help.
    """
    wrong = [why for chain in chains if (why := unfit_layer(chain, chip.npu)) is not None]
    if wrong:
        hint = "--maps unlimited assumes that the feature map buffer is large enough"
        raise NoRoomError("\n".join([*map(str, wrong), hint]))
