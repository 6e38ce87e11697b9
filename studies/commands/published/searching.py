"""Studies of tables of papers, run as ``archloom run`` runs a study."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from archloom.studies.analysis import read_status
from archloom.studies.commands.study import carry_out, ready
from archloom.studies.config import StudyConfig
from archloom.studies.engine.progress import Watch
from archloom.studies.solve.papers import Studies


@contextmanager
def studies_of(
    name: str, out: Path | None, view: Watch, spent: Callable[[float], None]
) -> Iterator[Studies]:
    """Yield how studies of a table are run: in directories below ``out``, or in ones that are gone
    afterwards; ``spent`` hears the CPU-seconds of workers that are other processes.

    They raise KeyboardInterrupt if the user stops, and go on from there when they are run again.
    """

    def run(config: StudyConfig, folder: Path) -> None:
        # the engine, which other tables do without
        from archloom.studies.engine import Stopped, StopRequest
        from archloom.studies.storage import Store, bring_up_to_date

        bring_up_to_date(folder)
        study, header, _ = ready(config, folder, view)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with Store.create(folder, header) as store:
            try:
                carry_out(study, store, StopRequest(), view)
            except Stopped:
                raise KeyboardInterrupt from None
        if config.executor.name != "inline":
            spent(read_status(folder).searched_cpu_s)

    if out is not None:
        yield Studies(out / f"{name}-studies", run)
        return
    with TemporaryDirectory(prefix="archloom-") as folder:
        yield Studies(Path(folder), run)
