"""Forms of a study's workloads: their groups, what is left in each layer, and all accuracies."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.space.design_space.compression import (
    CompressedForms,
    PrunedGroup,
    Widths,
    grouped,
    in_parts,
)
from archloom.studies.config import (
    StudyConfig,
    Workload,
    baseline_hardware,
    path_of,
    without_forms,
)

from ...errors import UserError

if TYPE_CHECKING:
    from archloom.studies.engine.progress import Stages

    from .measured import FormMeasurer, Groups

#: forms of a workload: each is trained, and more than these would take hours
_MOST_FORMS: Final = 4096

#: bits of the narrowest integers
_LEAST_BITS: Final = 2


def with_forms(config: StudyConfig, stages: "Stages", check: Callable[[], None]) -> StudyConfig:
    """Return a config whose compressed workloads have their forms; this takes its time.

    Each form is pruned, fine-tuned and tested at every width that designs of the space can have,
    unless that was done before.

    Args:
        config: of a study that begins.
        stages: hear of the progress.
        check: called where stopping is safe; may raise.

    Raises:
        UserError: what is wrong with a workload.
    """
    unknown = without_forms(config.workloads)
    if not unknown:
        return config
    widths = _widths(config)
    workloads = tuple(
        _measured(i, workload, config.seed, (widths, stages, check))
        if workload in unknown
        else workload
        for i, workload in enumerate(config.workloads)
    )
    return replace(config, workloads=workloads)


def _widths(config: StudyConfig) -> list[Widths]:
    """Return the widths of all designs that a study may run."""
    from archloom.space.design_space import HardwareSpace

    space = HardwareSpace.load(config.space)
    found = {Widths(*each) for each in space.operand_widths()}
    if config.baseline:
        found.add(Widths(*baseline_hardware(config.baseline, space).operand_widths))
    if narrow := [each for each in sorted(found) if min(each) < _LEAST_BITS]:
        raise UserError(
            f"space {config.space} has designs with words of {min(narrow[0])} bits; models are "
            f"rounded to {_LEAST_BITS} bits or more"
        )
    return sorted(found)


def _measured(
    position: int,
    workload: Workload,
    seed: int,
    how: "tuple[Sequence[Widths], Stages, Callable[[], None]]",
) -> Workload:
    from archloom.evaluators.accuracy.training import deterministic

    from .kept_model import read_kept
    from .measured import FormMeasurer

    reference, (widths, stages, check) = workload.reference, how
    assert isinstance(reference, dict), "compressed workloads are mappings"
    stages.begin(f"reading {path_of(reference).name}")
    try:
        data = reference.get("data_dir")
        kept = read_kept(path_of(reference), Path(data) if data else None)
        groups = _groups(workload, kept.dense)
    except (UserError, ValueError) as error:
        raise UserError(f"workloads[{position}]: {error}") from None
    finally:
        stages.end()
    levels = [_levels(reference, name) for name in groups]
    if (count := prod(map(len, levels))) > _MOST_FORMS:
        raise UserError(
            f"workloads[{position}]: {count} forms are more than {_MOST_FORMS}, and each has to be "
            "trained; use fewer groups or levels"
        )
    measurer = FormMeasurer(kept, groups, reference["fine_tune"], seed, check)
    with deterministic():
        pruned = tuple(map(_pruned, [measurer] * len(groups), groups, levels))
        accuracies: dict[tuple[tuple[float, ...], Widths], float] = {}
        stages.begin(f"accuracy of the forms of {workload.label}", count)
        for form in product(*levels):
            found = measurer.percent(form, widths)
            accuracies |= {(form, each): p for each, p in zip(widths, found, strict=True)}
            shown = ", ".join(f"{p:.2f}" for p in found)
            stages.advance(f"pruned {' '.join(f'{level:g}' for level in form)}: {shown} %")
        stages.end()
    return replace(workload, forms=CompressedForms(workload.network, pruned, accuracies))


def _groups(workload: Workload, model: Any) -> "Groups":
    """Return the names of the layers of each group.

    Raises:
        ValueError: patterns that do not fit the model.
    """
    from archloom.evaluators.accuracy.pruning import prunable_layers

    assert isinstance(workload.reference, dict), "compressed workloads are mappings"
    wanted, layers = workload.reference["groups"], prunable_layers(model)
    known = {layer.name for layer in workload.network.layers}
    if missing := [layer for layer in layers if layer not in known]:
        raise ValueError(f"{missing[0]} is no layer of the network beside the weights")
    if isinstance(wanted, int):
        return in_parts(workload.network, layers, wanted)
    return grouped(layers, wanted)


def _levels(reference: dict[str, Any], group: str) -> tuple[float, ...]:
    levels = reference["levels"]
    return tuple(levels[group] if isinstance(levels, dict) else levels)


def _pruned(measurer: "FormMeasurer", group: str, levels: tuple[float, ...]) -> PrunedGroup:
    """Return a group with the share of weights that each of its layers has left at each level.

    A layer without weights keeps one: shares of 0 have no meaning in a network.
    """
    layers, densities = measurer.groups[group], []
    for level in levels:
        at = [level if name == group else 0.0 for name in measurer.groups]
        model, _ = measurer.pruned(at)
        parts: list[Any] = [model.get_submodule(layer) for layer in layers]
        left = [(int(p.weight.count_nonzero()), p.weight.numel()) for p in parts]
        densities.append(tuple(max(1, some) / every for some, every in left))
    return PrunedGroup(group, levels, layers, tuple(densities))
