"""Studies of tables of papers, run as ``archloom run`` runs a study."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from archloom.studies.analysis import read_status
from archloom.studies.commands.study import carry_out, ready
from archloom.studies.config import StudyConfig
from archloom.studies.engine.progress import Watch
from archloom.studies.solve.papers import Studies
from archloom.studies.solve.stack import StackConfig


@contextmanager
def _one_study(view: Watch) -> Iterator[None]:
    """Watch one study of several; one that the user stops ends all."""
    from archloom.studies.engine import Stopped

    try:
        yield
    except Stopped:
        raise KeyboardInterrupt from None
    finally:
        view.over()


@contextmanager
def studies_of(
    name: str, out: Path | None, view: Watch, spent: Callable[[float], None]
) -> Iterator[Studies]:
    """Yield how studies of a table are run: in directories below ``out``, or in ones that are gone
    afterwards; ``spent`` hears the CPU-seconds of workers that are other processes.

    They raise KeyboardInterrupt if the user stops, and go on from there when they are run again.
    Those that run on Ray share it and its workers, which are started once, and ended here.
    """
    # the engine, which other tables do without; Ray is imported where a study runs on it
    from archloom.studies.engine import RaySession

    def run(config: StudyConfig, folder: Path) -> None:
        from archloom.studies.engine import StopRequest
        from archloom.studies.storage import Store, bring_up_to_date

        bring_up_to_date(folder)
        study, header, _ = ready(config, folder, view)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with Store.create(folder, header) as store, _one_study(view):
            carry_out(study, store, StopRequest(), view, session=session)
        if config.executor.name != "inline":
            spent(read_status(folder).searched_cpu_s)

    def run_stack(config: StackConfig, folder: Path) -> Mapping[str, Any]:
        from archloom.studies.engine import StopRequest
        from archloom.studies.solve.stack import StackStudy, claim, require_packages

        require_packages(config)
        claim(config, folder)
        with _one_study(view), StopRequest() as stop:
            return StackStudy(config, folder, view, stop.check).run()

    with ExitStack() as held:
        session = held.enter_context(RaySession())
        if out is None:
            folder = Path(held.enter_context(TemporaryDirectory(prefix="archloom-")))
        else:
            folder = out / f"{name}-studies"
        yield Studies(folder, run, run_stack)
