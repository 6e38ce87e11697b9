"""What users write on the command line of ``archloom compress``, and what follows from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

from archloom.evaluators.accuracy.data import DATASETS
from archloom.evaluators.accuracy.models import MODELS
from archloom.space import did_you_mean
from archloom.studies.solve.compressing import METHODS, Settings, shared_epochs

from ...errors import UserError

#: methods that are done unless somebody says others
_USUAL: Final = ("weights", "channels", "float16", "int8")

_MOST_SEEDS: Final = 1000


@dataclass(frozen=True)
class Wishes:
    """The command line as it was written; see ``cli.py``."""

    model: str
    data: str
    data_dir: Path | None
    methods: tuple[str, ...]
    levels: tuple[str, ...]
    seeds: int
    seed: int
    epochs: int | None
    fine_tune: int | None
    width: float | None
    weights: Path | None
    tolerance: float
    out: Path | None


def settled(wishes: Wishes) -> Settings:
    """Return what is done.

    Raises:
        UserError: all that is wrong with it.
    """
    levels, faults = read_levels(wishes.levels)
    faults = [*_faults(wishes), *faults]
    methods = tuple(name for name in METHODS if name in (wishes.methods or _USUAL))
    named = [text.partition("=")[0] for text in wishes.levels if "=" in text]
    asked = [name for name in named if name not in methods]
    if asked and not faults:
        faults.append(f"--levels {asked[0]}=...: method {asked[0]} is not selected with --method")
    if wishes.fine_tune is not None and not any(METHODS[name] for name in methods):
        faults.append(
            "--fine-tune applies to weights and channels; neither is selected with --method"
        )
    if faults:
        raise UserError("\n".join(faults))
    entry = DATASETS[wishes.data]
    epochs = wishes.epochs or entry.epochs
    chosen = {name: levels.get(name, METHODS[name]) for name in methods if METHODS[name]}
    fine_tune = {
        name: shared_epochs(epochs, len(steps)) if wishes.fine_tune is None else wishes.fine_tune
        for name, steps in chosen.items()
    }
    out = wishes.out or Path("runs") / f"compress-{wishes.model}-{wishes.data}"
    return Settings(
        wishes.model, wishes.data, wishes.data_dir, methods, chosen, wishes.seeds, wishes.seed,
        epochs, fine_tune, wishes.width or entry.width, wishes.weights, wishes.tolerance, out,
    )  # fmt: skip


def _faults(wishes: Wishes) -> Iterator[str]:
    for name, option, known in (
        (wishes.model, "MODEL", MODELS),
        (wishes.data, "--data", DATASETS),
        *((method, "--method", METHODS) for method in wishes.methods),
    ):
        if name not in known:
            hint = did_you_mean(name, known)
            valid = "" if hint.startswith("known") else f"; known: {', '.join(known)}"
            yield f"{option} {name!r} is not known; {hint}{valid}"
    entry = DATASETS.get(wishes.data)
    if entry is not None and entry.needs_folder and wishes.data_dir is None:
        yield f"--data {wishes.data} needs the directory of the data set; use --data-dir DIR"
    if entry is not None and not entry.needs_folder and wishes.data_dir is not None:
        yield (
            f"--data {wishes.data} comes with a Python package; leave --data-dir {wishes.data_dir} "
            "out"
        )
    if wishes.width is not None and not 0.0 < wishes.width <= 4.0:
        yield f"--width must be above 0 and up to 4, got {wishes.width:g}"
    if not (isfinite(wishes.tolerance) and 0.0 <= wishes.tolerance <= 100.0):
        yield f"--tolerance must be from 0 to 100 percentage points, got {wishes.tolerance:g}"
    if wishes.seeds > _MOST_SEEDS:
        yield f"--seeds must be up to {_MOST_SEEDS}, got {wishes.seeds}"
    if wishes.weights is not None and wishes.epochs is not None:
        yield "--epochs trains from scratch and --weights does not train; use one of them"
    if wishes.weights is not None and not wishes.weights.is_file():
        yield f"--weights {wishes.weights}: no such file"
    if wishes.out is not None and wishes.out.exists() and not wishes.out.is_dir():
        yield f"--out {wishes.out} is a file; choose another directory"


def read_levels(texts: Sequence[str]) -> tuple[dict[str, tuple[float, ...]], list[str]]:
    """Return the levels of each method that somebody gave levels, and all that is wrong."""
    levels: dict[str, tuple[float, ...]] = {}
    faults: list[str] = []
    pruning = [name for name, default in METHODS.items() if default]
    for text in texts:
        name, sign, listed = text.rpartition("=")
        try:
            names = [name] if sign else pruning
            if sign and name not in pruning:
                raise ValueError(f"{name!r} has no levels; {did_you_mean(name, pruning)}")
            shares = _shares(listed)
            if taken := [each for each in names if each in levels and sign]:
                raise ValueError(f"levels of {taken[0]} are given twice")
            levels |= {each: shares for each in names if each not in levels}
        except ValueError as error:
            faults.append(f"--levels {text}: {error}")
    return levels, faults


def _shares(listed: str) -> tuple[float, ...]:
    shares = []
    for part in listed.split(","):
        try:
            share = float(part)
        except ValueError:
            raise ValueError(
                f"{part!r} is not a number; levels are fractions such as 0.5,0.8"
            ) from None
        if not 0.0 < share < 1.0:
            raise ValueError(f"{part.strip()} must be a fraction above 0 and below 1")
        shares.append(share)
    if sorted(set(shares)) != shares:
        raise ValueError("levels must ascend, because each level is pruned from the one before it")
    return tuple(shares)
