"""``archloom weave``: layers of several networks on one chip, woven, bounded, printed and drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.evaluators.weaving import (
    Chain,
    Order,
    TickError,
    map_peak,
    schedule_timeline,
    simulated,
    ticked,
)
from archloom.search import WEAVERS
from archloom.search.weaving import Stream, Woven
from archloom.space import Infeasible
from archloom.studies.engine.progress import ProgressView, Stages
from archloom.studies.rendering.pictures import check_picture
from archloom.studies.rendering.pictures.weaving import WovenRun, save_trace, save_woven
from archloom.studies.rendering.text import known, new_console, print_json, print_line
from archloom.studies.solve import FusionEffort

from ...errors import INTERRUPTED, NOTHING_FOUND, AllFaults, UserError
from .chains import chains_of, check_maps
from .chip import Chip
from .figures import Result, print_csv, result_record
from .options import MAPS
from .sources import Source
from .tables import print_result

if TYPE_CHECKING:
    from rich.console import Console

#: who schedules, if nobody says
ONE_QUERY, STREAM = "exact", "strings"

#: steps of a schedule that pictures and traces have at most
_DRAWN: Final = 20_000


@dataclass(frozen=True)
class Output:
    """Choices of what is printed and written.

    Attributes:
        as_json, as_csv: print one of these instead of tables.
        plot: file for the timeline.
        trace: file for a trace viewer.

    Raises:
        UserError: both of two kinds, or a file that cannot be written as it is called.
    """

    as_json: bool = False
    as_csv: bool = False
    plot: Path | None = None
    trace: Path | None = None

    def __post_init__(self) -> None:
        faults = AllFaults()
        with faults.collecting():
            if self.as_json and self.as_csv:
                raise UserError("--csv and --json exclude each other; use one of them")
        with faults.collecting():
            check_picture(self.plot, "--plot", (".html", ".png", ".svg"))
        with faults.collecting():
            check_picture(self.trace, "--trace", (".json",))
        faults.raise_any()


@dataclass(frozen=True)
class Weaving:
    """How networks are woven.

    Attributes:
        scheduler: its name; None for the usual one.
        stream: endless queries, instead of one of each network.
        maps: one of MAPS.
        seed: of everything that is random.

    Raises:
        UserError: a name that is not known.
    """

    scheduler: str | None = None
    stream: bool = False
    maps: str = MAPS[0]
    seed: int = 0

    def __post_init__(self) -> None:
        faults = AllFaults()
        with faults.collecting():
            known(self.name, "--scheduler", list(WEAVERS))
        with faults.collecting():
            known(self.maps, "--maps", MAPS)
        faults.raise_any()

    @property
    def name(self) -> str:
        """The scheduler."""
        return self.scheduler or (STREAM if self.stream else ONE_QUERY)


def weave_networks(
    sources: Sequence[Source],
    chip: Chip,
    effort: FusionEffort,
    weaving: Weaving,
    output: Output,
    console: "Console",
) -> int:
    """Weave networks, print and draw what came of it; return the exit code.

    Raises:
        UserError: maps that do not fit, chains that are too long, or files that cannot be written.
    """
    notes = new_console(stderr=True)
    try:
        # what is printed are the figures; progress goes beside them
        with ProgressView(notes) as view:
            chains = chains_of(sources, chip, effort, view)
            if isinstance(chains, Infeasible):
                print_line(str(chains), notes)
                return NOTHING_FOUND
            result = _woven(chains, sources, chip, weaving, view) if chains else None
    except KeyboardInterrupt:
        result = None
    if result is None:
        print_line("stopped before a schedule was found", notes)
        return INTERRUPTED
    if output.as_json:
        print_json(result_record(result), console)
    elif output.as_csv:
        print_csv(result)
    else:
        print_result(result, console)
    _draw(result, output, notes)
    return 0


def _woven(
    chains: Sequence[Chain],
    sources: Sequence[Source],
    chip: Chip,
    weaving: Weaving,
    stages: Stages,
) -> Result:
    if weaving.maps == "fit":
        check_maps(chains, chip)
    try:
        work = ticked(chains, chip.npu, maps_bounded=weaving.maps == "fit")
    except TickError as error:
        raise UserError(str(error)) from None
    weaver = WEAVERS[weaving.name]()
    stages.begin(f"scheduling {work.first[-1]:,} layers with {weaving.name}")
    try:
        weave = weaver.stream if weaving.stream else weaver.weave
        found: Woven | Stream = weave(work, weaving.seed)
    finally:
        stages.end()
    stamps = simulated(work, found.order)
    peak = map_peak(work, found.order.chain, stamps)
    batches = tuple(_batch(source) for source in sources)
    return Result(tuple(chains), batches, chip, work, weaving, found, stamps, peak)


def _batch(source: Source) -> int | None:
    """Inferences of a query; None for a table, which does not say."""
    if isinstance(source.what, Chain):
        return None
    return source.batch or source.what.batch


def _draw(result: Result, output: Output, notes: "Console") -> None:
    """Write the timeline and the trace that are asked for, and say what is in them."""
    if output.plot is None and output.trace is None:
        return
    whole = result.found.order
    order = Order(whole.chain[:_DRAWN], whole.release[:_DRAWN])
    timeline = schedule_timeline(result.work, order, simulated(result.work, order))
    names, layers = zip(*((chain.name, chain.layers) for chain in result.chains), strict=True)
    run = WovenRun(
        result.title, names, layers, result.work, result.chip.npu, timeline, len(whole.chain)
    )
    if output.plot is not None:
        save_woven(run, output.plot)
        print_line(f"wrote {output.plot}: DRAM transfers, computation and buffers over time", notes)
    if output.trace is not None:
        save_trace(run, output.trace)
        print_line(f"wrote {output.trace}: trace for https://ui.perfetto.dev", notes)
