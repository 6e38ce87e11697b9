"""``archloom schedule``: which layers of a network run fused on a hardware, and what that costs."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.search import FUSION_SEARCHES, MAPPING_SEARCHES
from archloom.search.mapping import FACTORS
from archloom.search.software import SoftwareSettings
from archloom.space import Infeasible
from archloom.space.hardware import Hardware, pass_batch
from archloom.space.workload import Network
from archloom.studies.config import WorkloadOptions, find_network, normal
from archloom.studies.rendering.pictures import (
    ENDINGS,
    check_picture,
    fused_groups,
    pinned_reads,
    save_memory,
    save_picture,
)
from archloom.studies.rendering.text import known, print_json, print_line
from archloom.studies.solve import FusionEffort, Schedule, search_plan

from ...errors import INTERRUPTED, NOTHING_FOUND, UserError
from .plan_file import read_plan
from .tables import ScheduleProgress, print_schedule, schedule_record

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Output:
    """Choices of what is printed and drawn.

    Attributes:
        as_json: print JSON instead of tables.
        plot: file for the picture of the network with its groups.
        memory: file for the picture of what the buffer holds over time.

    Raises:
        UserError: a file that is no picture, or has no folder.
    """

    as_json: bool = False
    plot: Path | None = None
    memory: Path | None = None

    def __post_init__(self) -> None:
        check_picture(self.plot, "--plot", ENDINGS)
        check_picture(self.memory, "--memory")


def effort_of(
    fusion: str,
    evaluations: int,
    mapping: str,
    mapping_evaluations: int | None,
    seed: int,
    factors: str = "imperfect",
) -> FusionEffort:
    """Return the effort that options ask for.

    Raises:
        UserError: an unknown planner, mapping search or kind of factors.
    """
    known(FUSION_SEARCHES.today(fusion), "--fusion", list(FUSION_SEARCHES))
    known(mapping, "--mapping", list(MAPPING_SEARCHES))
    known(factors, "--factors", FACTORS)
    settings = SoftwareSettings(fusion=fusion, mapping=mapping, factors=factors)
    if mapping_evaluations is not None:
        settings = replace(settings, mapping_evaluations=mapping_evaluations)
    return FusionEffort(settings, evaluations, seed, borders=fusion != "none")


def given(path: Path, network: Network, effort: FusionEffort) -> FusionEffort:
    """Return the effort of pricing the plan of a file.

    Raises:
        UserError: see :func:`archloom.studies.commands.schedule.plan_file.read_plan`.
    """
    # layer by layer, and the plan
    return replace(effort, evaluations=2, plan=read_plan(path, network))


def network_of(
    source: str, settings: list[str], batch: int | None, hardware: Hardware, fold: bool = False
) -> Network:
    """Return the network that a command line means, with the batch of a pass.

    Raises:
        UserError: see :func:`archloom.studies.config.workloads.find_network`.
    """
    asked = WorkloadOptions(tuple(settings), batch, hardware.word_bits, "--network-set", fold)
    network = find_network(normal(source, Path.cwd()), asked)
    return network if batch is not None else network.with_batch(pass_batch(network, hardware))


def schedule_network(
    network: Network, hardware: Hardware, effort: FusionEffort, output: Output, console: "Console"
) -> int:
    """Search a plan, print and draw it; return the exit code.

    Raises:
        UserError: a picture that cannot be drawn or written.
    """
    from rich.console import Console

    if output.memory is not None and hardware.fusion_level is None:
        raise UserError(
            f"--memory: {hardware.name} has no buffer that is shared by all PEs, so there is "
            "nothing to draw"
        )
    notes = Console(stderr=True)
    with ScheduleProgress(effort.evaluations, effort.prove, notes) as live:
        found = search_plan(network, hardware, effort, live.tell)
    if found is None:
        print_line("stopped before any plan was evaluated", notes)
        return INTERRUPTED
    if isinstance(found, Infeasible):
        print_line(f"{network.name} on {hardware.name}: {found}", notes)
        return NOTHING_FOUND
    record = schedule_record(found, effort)
    if output.as_json:
        print_json(record, console)
    else:
        print_schedule(record, console)
    for sentence in found.notes:
        print_line(f"{effort.settings.fusion}: {sentence}", notes)
    draw(found, record["groups"], output, notes)
    if found.interrupted:
        text = f"stopped after {found.evaluations} of {effort.evaluations} plans were evaluated"
        print_line(text, notes)
        return INTERRUPTED
    return 0


def draw(
    found: Schedule, groups: list[dict[str, object]], output: Output, notes: "Console"
) -> None:
    """Draw what is asked for, and say what is on it."""
    if output.plot is not None:
        network = found.cost.network
        pinned = pinned_reads(network, groups)
        save_picture(network, output.plot, fused_groups(groups), pinned, "--plot")
        print_line(f"wrote {output.plot}: the network's graph with its fusion groups", notes)
    if output.memory is not None:
        save_memory(found.cost, output.memory)
        print_line(f"wrote {output.memory}: buffer contents over time", notes)
