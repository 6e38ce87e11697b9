"""A design with other values in the place of those that no source gives."""

from collections.abc import Sequence
from dataclasses import replace

from archloom.evaluators import hardware_cost
from archloom.space.design_space import AssumedValue, Value
from archloom.space.hardware import Hardware
from archloom.space.workload import Network
from archloom.studies.config import HardwareVariants
from archloom.studies.engine.progress import SILENT, Stages

from .pooled_mappings import MappingsEffort, figures_of
from .result import Effect, Outcome, Sensitivity


def sensitivity(
    hardware: Hardware,
    variants: HardwareVariants,
    networks: Sequence[Network],
    effort: MappingsEffort,
    factor: float = 2.0,
    stages: Stages = SILENT,
) -> Sensitivity:
    """Return what a design costs with each assumed value divided and multiplied by a factor.

    Args:
        hardware: the design as it is.
        variants: its assumed values, and designs with others.
        networks: what runs, each with the batch of a pass.
        effort: of mappings, on each design.
        factor: above 1.
        stages: told how far it is.

    Raises:
        InfeasibleError: a network cannot run on the design as it is.
    """
    designs, planned = [hardware], list[tuple[Outcome, int]]()
    for one in variants.assumed:
        for times in (1 / factor, factor):
            values, built = _varied(variants, one, times)
            outcome = Outcome(values, refused=built if isinstance(built, str) else "")
            planned.append((outcome, len(designs)))
            if isinstance(built, Hardware):
                designs.append(built)
    runs = [figures_of(network, designs, effort, stages) for network in networks]
    costs = [
        (hardware_cost(design).area_mm2, tuple(of[i] for of in runs))
        for i, design in enumerate(designs)
    ]
    area, base = costs[0]
    outcomes = [
        one if one.refused else replace(one, area_mm2=costs[i][0], runs=costs[i][1])
        for one, i in planned
    ]
    pairs = zip(variants.assumed, outcomes[::2], outcomes[1::2], strict=True)
    effects = tuple(Effect(*one) for one in pairs)
    return Sensitivity(hardware, tuple(networks), effort, factor, Outcome({}, area, base), effects)


def _varied(
    variants: HardwareVariants, assumed: AssumedValue, times: float
) -> tuple[dict[str, Value], Hardware | str]:
    """Return the values of a design that has so many times one value, by key path, and the design;
    or why there is none."""
    shown: dict[str, Value] = {}
    try:
        values = assumed.scaled(times)
        paths = (assumed.mark.key, assumed.mark.product_with)
        shown = dict(zip(paths, values.values(), strict=False))
        return shown, variants.built(values)
    except ValueError as error:
        return shown, str(error.__cause__ or error)
