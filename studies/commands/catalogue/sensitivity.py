"""``archloom hardware --sensitivity``: which values of a design no source gives, and what they
decide."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.space import InfeasibleError
from archloom.space.hardware import Hardware, pass_batch
from archloom.space.workload import Network
from archloom.studies.config import (
    ChosenHardware,
    HardwareVariants,
    WorkloadOptions,
    find_network,
    normal,
)
from archloom.studies.engine.progress import ProgressView
from archloom.studies.rendering.pictures import check_picture
from archloom.studies.rendering.sensitivity import (
    draw_tornado,
    print_sensitivity,
    sensitivity_record,
)
from archloom.studies.rendering.text import new_console, print_json, print_line
from archloom.studies.solve.sensitivity import MappingsEffort, sensitivity

from ...errors import INTERRUPTED, NOTHING_FOUND, AllFaults, UserError

if TYPE_CHECKING:
    from rich.console import Console

#: a convolutional network and a transformer, if nobody says others
DEFAULT_NETWORKS: Final = ("resnet18", "bert_base")


@dataclass(frozen=True)
class Asked:
    """What is asked for.

    Attributes:
        networks: names or files.
        factor: by which values are divided and multiplied.
        effort: of the mappings.
        as_json: print JSON instead of tables.
        plot: file for the picture.

    Raises:
        UserError: a factor that changes nothing, a network that stands twice, or a file that is no
            picture or has no folder; all of them.
    """

    networks: Sequence[str]
    factor: float
    effort: MappingsEffort
    as_json: bool = False
    plot: Path | None = None

    def __post_init__(self) -> None:
        faults = AllFaults()
        with faults.collecting():
            if not (self.factor > 1 and isfinite(self.factor)):
                raise UserError(f"--factor must be a number above 1, got {self.factor:g}")
        with faults.collecting():
            for at, name in enumerate(self.networks):
                if name in self.networks[:at]:
                    raise UserError(f"--network {name} is given twice")
        with faults.collecting():
            check_picture(self.plot, "--plot")
        faults.raise_any()


def show_sensitivity(chosen: ChosenHardware, asked: Asked, console: "Console") -> int:
    """Evaluate a design and its variants, print and draw what comes of it; return the exit code.

    Raises:
        UserError: no marked values, a network that cannot be read, or a picture that cannot be
            written.
    """
    hardware, variants = chosen.hardware, HardwareVariants(chosen)
    if not variants.assumed:
        raise UserError(
            f"{hardware.name}: {chosen.file} marks no value as an assumption, so there is nothing "
            "to vary; name values that no source gives, each with a reason, below the key "
            "assumptions"
        )
    networks = _networks(asked.networks, hardware)
    notes = new_console(stderr=True)
    try:
        with ProgressView(notes) as view:
            found = sensitivity(hardware, variants, networks, asked.effort, asked.factor, view)
    except InfeasibleError as error:
        print_line(f"{hardware.name}: {error}", notes)
        return NOTHING_FOUND
    except KeyboardInterrupt:
        print_line("stopped before all designs were evaluated", notes)
        return INTERRUPTED
    if asked.as_json:
        print_json(sensitivity_record(found, str(chosen.file)), console)
    else:
        print_sensitivity(found, str(chosen.file), console)
    if asked.plot is not None:
        draw_tornado(found, asked.plot)
        print_line(f"wrote {asked.plot}: changes with other values", notes)
    return 0


def _networks(sources: Sequence[str], hardware: Hardware) -> list[Network]:
    """Return what runs, each with the batch of a pass on the design as it is."""
    options = WorkloadOptions((), None, hardware.word_bits, "--network")
    found, faults = list[Network](), AllFaults()
    for source in sources:
        with faults.collecting():
            found.append(find_network(normal(source, Path.cwd()), options))
    faults.raise_any()
    return [network.with_batch(pass_batch(network, hardware)) for network in found]
