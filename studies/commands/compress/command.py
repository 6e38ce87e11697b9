"""``archloom compress``: do all steps, print what they came to, keep it."""

import json
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from archloom.evaluators.accuracy import WeightsError
from archloom.evaluators.accuracy.data import DatasetError, load_dataset
from archloom.evaluators.accuracy.training import deterministic
from archloom.studies.engine import Stopped, StopRequest
from archloom.studies.engine.progress import ProgressView
from archloom.studies.rendering.text import new_console, print_json, print_line
from archloom.studies.solve.compressing import Settings, StepFigures, Steps
from archloom.studies.storage import write_whole

from ...errors import INTERRUPTED, UserError, writing
from .picture import save_compression
from .record import compression_record
from .tables import print_compression

if TYPE_CHECKING:
    from rich.console import Console

    from archloom.evaluators.accuracy.data import Dataset

#: settings that steps depend on; more methods, levels and seeds may be asked for later
_FIXED: Final = ("model", "data", "seed", "epochs", "fine_tune", "width")


def run_compression(settings: Settings, as_json: bool, console: "Console") -> int:
    """Train, compress, print, keep; return the exit code.

    Raises:
        UserError: data, weights or a directory that do not fit.
    """
    notes = new_console(stderr=True)
    stop = StopRequest()
    try:
        with ProgressView(notes) as view:
            view.begin(f"reading {settings.data}")
            data = load_dataset(settings.data, settings.data_dir)
            view.end()
            _claim(settings)
            with stop, deterministic():
                steps = [
                    figures
                    for seed in range(settings.seeds)
                    for figures in Steps(settings, data, seed, view, stop.check).run()
                ]
            record = _keep(settings, data, steps)
    except (DatasetError, WeightsError) as error:
        raise UserError(str(error)) from None
    except Stopped:
        print_line(
            f"stopped; finished steps are kept in {settings.out}; the same command resumes", notes
        )
        return INTERRUPTED
    if as_json:
        print_json(record, console)
    else:
        print_compression(record, console)
        print_line(
            f"wrote results.json, compression.png, weights and networks to {settings.out}", notes
        )
    return 0


def _claim(settings: Settings) -> None:
    """Write down what a directory is for; refuse one that is for something else.

    Raises:
        UserError: it holds steps of other settings, or what is none of ours.
    """
    wanted = _identity(settings)
    path = settings.out / "settings.json"
    if path.exists():
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise UserError(
                f"{path} is not valid JSON; choose another directory with --out"
            ) from None
        differ = [key for key, value in wanted.items() if held.get(key) != value]
        if differ:
            listed = "; ".join(f"{key} {held.get(key)!r}, now {wanted[key]!r}" for key in differ)
            raise UserError(
                f"{settings.out} holds results with other settings: {listed}; choose another "
                "directory with --out, or use the earlier settings"
            )
        return
    if settings.out.is_dir() and any(settings.out.iterdir()):
        raise UserError(f"{settings.out} is not empty; choose another directory with --out")
    with writing(path):
        settings.out.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(wanted, indent=2) + "\n")


def _identity(settings: Settings) -> dict[str, Any]:
    own = settings.weights
    return {
        **{key: value for key, value in asdict(settings).items() if key in _FIXED},
        "weights_sha256": None if own is None else sha256(own.read_bytes()).hexdigest(),
        "torch": version("torch"),
    }


def _keep(settings: Settings, data: "Dataset", steps: list[StepFigures]) -> dict[str, Any]:
    """Write results.json and compression.png; return the record."""
    record = compression_record(settings, data.split, steps)
    with writing(settings.out):
        write_whole(settings.out / "results.json", json.dumps(record, indent=2) + "\n")
        save_compression(settings.out / "compression.png", record)
    return record
