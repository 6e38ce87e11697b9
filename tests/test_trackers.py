"""Callbacks for experiment trackers: what each study hands to them.

None of the trackers is installed for the tests. The classes below take what the real ones take, by
their signatures in mlflow-skinny 3.17.2, tensorboard 2.21.0 with torch 2.13.0, and wandb 0.31.0,
and note it; with these versions the three files were run by hand, W&B offline.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

import archloom as al

from .cases.studies import write_study
from .source_tree import ROOT

FOLDER = ROOT / "examples" / "trackers"

Noted = list[tuple[Any, ...]]


def run(
    name: str, fakes: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> al.Study:
    """Run an example beside modules that stand in for the tracker's."""
    for module, contents in fakes.items():
        made = ModuleType(module)
        vars(made).update(contents)
        monkeypatch.setitem(sys.modules, module, made)
    spec = spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(str(write_study(folder)), str(folder / "tiny"))
    return al.load_study(folder / "tiny")


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: Noted = []
    runs: list[str] = []

    @contextmanager
    def start_run(
        run_id: str | None = None, experiment_id: str | None = None, run_name: str | None = None,
        nested: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        assert (run_id, experiment_id) == (None, None)
        assert run_name is not None
        assert nested == bool(runs), "MLflow refuses a run inside another that is not nested"
        runs.append(run_name)
        yield
        runs.pop()

    def log_params(params: dict[str, Any]) -> None:
        noted.append((runs[-1], params))

    def log_metrics(metrics: dict[str, float], step: int | None = None) -> None:
        assert step is None
        assert all(type(value) is float for value in metrics.values())
        noted.append((runs[-1], metrics))

    def set_tag(key: str, value: Any) -> None:
        noted.append((runs[-1], {key: value}))

    def log_dict(dictionary: dict[str, Any], artifact_file: str) -> None:
        noted.append((artifact_file, dictionary))

    functions = (start_run, log_params, log_metrics, set_tag, log_dict)
    study = run(
        "mlflow_tracker", {"mlflow": {f.__name__: f for f in functions}}, tmp_path, monkeypatch
    )
    for trial in study.trials:
        mine = [what for name, what in noted if name == f"trial {trial.number}"]
        assert mine == [trial.point, {"state": trial.state}, trial.values]
    assert noted[-1] == ("front.json", study.front().to_dict())
    assert len(noted) == 3 * len(study.trials) + 1
    assert runs == []


class SummaryWriter:
    """Notes what TensorBoard's takes."""

    noted: ClassVar[Noted] = []

    def __init__(self, log_dir: str | None = None) -> None:
        self.noted.append(("folder", log_dir))

    def __enter__(self) -> "SummaryWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.noted.append(("closed",))

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> None:
        self.noted.append((tag, float(scalar_value), global_step))

    def add_text(self, tag: str, text_string: str, global_step: int | None = None) -> None:
        self.noted.append((tag, text_string, global_step))

    def flush(self) -> None:
        self.noted.append(("flushed",))


def test_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SummaryWriter, "noted", [])
    fakes = {"torch.utils.tensorboard": {"SummaryWriter": SummaryWriter}}
    study = run("tensorboard_tracker", fakes, tmp_path, monkeypatch)
    noted = SummaryWriter.noted
    assert noted[0] == ("folder", str(tmp_path / "tiny-tensorboard"))
    expected: Noted = []
    for trial in study.trials:
        expected += [(name, value, trial.number) for name, value in trial.values.items()]
        expected += [("state", trial.state, trial.number), ("flushed",)]
    front = ("designs on the front", float(len(study.front())), len(study.trials))
    assert noted[1:] == [*expected, front, ("closed",)]


def test_weights_and_biases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: Noted = []

    class Run:
        def log(
            self, data: dict[str, Any], step: int | None = None, commit: bool | None = None
        ) -> None:
            assert commit is None
            noted.append((step, data))

    @contextmanager
    def init(project: str | None = None, name: str | None = None) -> Iterator[Run]:
        assert (project, name) == ("archloom", str(tmp_path / "tiny.yaml"))
        yield Run()

    class Table:
        def __init__(self, columns: Any = None, data: Any = None, dataframe: Any = None) -> None:
            assert (columns, data) == (None, None)
            self.rows = len(dataframe)

    fakes = {"wandb": {"init": init, "Table": Table}}
    study = run("wandb_tracker", fakes, tmp_path, monkeypatch)
    assert noted[:-1] == [
        (trial.number, {**trial.values, **trial.point, "state": trial.state})
        for trial in study.trials
    ]
    step, data = noted[-1]
    assert step is None
    assert data["trials"].rows == len(study.trials)
