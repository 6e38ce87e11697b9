"""Studies of kind stack on the command line: end to end, killed, searched; what others refuse."""

import json
import math
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from archloom.evaluators.accuracy.training import Trainer
from archloom.evaluators.host import samples
from archloom.evaluators.host.worker import session
from archloom.evaluators.host.worker.client import Worker
from archloom.search import non_dominated
from archloom.space.workload import read_network
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.solve.measuring.wanted import layers_of
from archloom.studies.storage.journal import Journal, read_events

from ...cases.studies import begin
from ...cases.sweeps import sweep

STUDY = """\
kind: stack
models: [vgg16]
width: 0.125
seeds: 1
epochs: 1
fine_tune: 0
compression: [{weights: 0.8}]
algorithms: [gemm, spatial_pack]
tuning: {trials: 1}
executor: inline
"""
"""The smallest of the models, in CSR; there is no spatial pack in CSR."""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def said(*arguments: str | Path) -> str:
    """Return the message that a mistake gets."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def written(folder: Path, text: str = STUDY) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(text)
    return path


def events(folder: Path) -> Iterator[dict[str, Any]]:
    for event in read_events(folder / "journal.jsonl"):
        yield from event["events"] if event["kind"] == "together" else [event]


def names(folder: Path) -> Counter[tuple[str, str]]:
    """Return how often each kernel, schedule and point was timed."""
    schedules = ((e["kernel"], json.dumps(e["schedule"])) for e in events(folder)
                 if e["kind"] == "tried")  # fmt: skip
    rows = ((e["kind"], e["name"]) for e in events(folder) if e["kind"] in ("kernel", "point"))
    return Counter([*schedules, *rows])


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module", autouse=True)
def any_noise() -> Iterator[None]:
    """Times of a busy machine count: what is tested is what becomes of times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "MOST_NOISE", math.inf)
        patch.setattr(session, "MOST_MOVED", math.inf)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a study that ended; tests must not write to it."""
    folder = tmp_path_factory.mktemp("stack")
    done = run("run", written(folder), "--out", folder / "out")
    assert done.exit_code == 0, done.output
    return folder / "out"


def test_all_points_have_an_accuracy_and_a_time_or_a_reason(finished: Path) -> None:
    found = results(finished)
    assert found["axes"] == {
        "model": ["vgg16"],
        "compression": ["weights 0.8"],
        "algorithm": ["gemm", "spatial_pack"],
        "tuned": [False, True],
    }
    points = found["points"]
    axes = [(p["compression"], p["algorithm"], p["tuned"]) for p in points]
    assert axes == [("weights 0.8", a, t) for a in ("gemm", "spatial_pack") for t in (False, True)]
    figures = json.loads((finished / "models/vgg16/seed0/weights_0.8.json").read_text())
    for point in points:
        assert point["accuracies_percent"] == [figures["accuracy_percent"]]
        assert point["stored_bytes"] == figures["stored_bytes"]
        assert point["nonzero_macs"] < point["macs"]
    for point in points[2:]:
        assert point["status"] == "refused"
        assert point["reason"]["reason"] == "no_host_kernel"
        assert "time_us" not in point
    for point in points[:2]:
        assert point["status"] == "timed"
        assert point["low_us"] <= point["time_us"] <= point["high_us"]
        assert len(point["blocks_us"]) == 5
        assert point["tried"] > 0 or not point["tuned"]
    timed = [p for p in points if p["status"] == "timed"]
    costs = [(-p["accuracy_percent"], p["time_us"], p["stored_bytes"]) for p in timed]
    best = [p for p, on in zip(timed, non_dominated(costs), strict=True) if on]
    assert [points[number] for number in found["front"]] == best


def test_layers_have_the_weights_of_the_trained_model(finished: Path) -> None:
    layers = results(finished)["layers"]
    net = read_network(finished / "models/vgg16/seed0/weights_0.8.network.json")
    shapes, _ = layers_of(net)
    pruned = [layer for layer in layers if layer["compression"] == "weights 0.8"]
    assert {layer["shape"] for layer in pruned} == {str(shape) for shape in shapes}
    densities = {layer.name: layer.density[0] for layer in net.layers}
    for layer in pruned:
        assert layer["densities"] == [densities[name] for name in layer["layers"]]
        (gemm, tuned, *refused) = layer["rows"]
        assert [row["status"] for row in refused] == ["refused", "refused"]
        if layer["count"] > 1 and gemm["status"] == "timed" and layer["density"] < 1:
            assert len(gemm["medians_us"]) == layer["count"]
        assert (gemm["tried"], gemm["schedule"]["kind"]) == (0, "Untuned")
        assert tuned["tried"] == 1
    # nothing of the classifier was pruned, so its kernel is a dense one
    (linear,) = (layer for layer in pruned if layer["layers"] == ["classifier"])
    assert linear["density"] == 1.0
    assert set(names(finished).values()) == {1}


def test_a_finished_study_is_told_again_without_work(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (finished / "journal.jsonl").read_bytes(), results(finished)
    monkeypatch.setattr(Trainer, "run_epoch", lambda _: pytest.fail("trained twice"))
    monkeypatch.setattr(Worker, "ask", lambda *_: pytest.fail("asked a worker"))
    for arguments in (("run", written(finished.parent), "--out", finished), ("resume", finished)):
        done = run(*arguments)
        assert done.exit_code == 0, done.output
        assert "weights 0.8" in done.stdout
    assert ((finished / "journal.jsonl").read_bytes(), results(finished)) == before


def test_status_and_show(finished: Path, tmp_path: Path) -> None:
    status = run("status", finished).stdout
    assert "(kind: stack): finished" in status
    assert "models: 2 of 2 training, pruning and quantisation steps" in status
    assert "points: 4 of 4" in status
    assert json.loads(run("status", finished, "--json").stdout)["ended"] is True
    table = run("show", finished).stdout
    assert "2 of 4 points refused: no_host_kernel" in table
    assert "< marks points of the Pareto front" in table
    told = json.loads(run("show", finished, "--json").stdout)
    assert len(told.pop("verdicts")) == 13
    assert told == results(finished)
    (tmp_path / "stack.json").write_text((finished / "stack.json").read_text())
    assert "not running; resume with: archloom resume" in run("status", tmp_path).stdout
    assert "has no results yet; resume it with: archloom resume" in said("show", tmp_path)


def test_other_commands_say_that_it_is_of_another_kind(finished: Path, tmp_path: Path) -> None:
    for arguments in (("pareto", finished), ("copy", finished, tmp_path / "copy"),
                      ("compare", finished, finished)):  # fmt: skip
        message = said(*arguments)
        assert "is a study with kind: stack" in message
        assert "\n" not in message
    assert "which has no trials; leave 3 out" in said("show", finished, "3")
    assert "--pick does not apply to studies with kind: stack" in said(
        "report", finished, "--pick", "knee"
    )


def test_options_and_directories_of_something_else_are_refused(
    finished: Path, tmp_path: Path
) -> None:
    study = written(tmp_path)
    assert "--method is not for" in said("run", study, "--method", "casco")
    assert "'ray' is unknown to kind stack" in said("run", study, "--executor", "ray")
    assert "workers is 0" in said("resume", finished, "--workers", "0")
    assert "is stored in a directory" in said("run", study, "--out", "postgresql://host/studies")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("mine")
    assert "is not empty and holds no study" in said("run", study, "--out", tmp_path / "mine")
    other = written(tmp_path, STUDY.replace("epochs: 1", "epochs: 2"))
    message = said("run", other, "--out", finished)
    assert "holds a study with other settings: epochs: 1 there, 2 here" in message


def progress(folder: Path) -> int:
    """Return how much is kept: steps, checkpoints, and events."""
    models = folder / "models"
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().count(b"\n") if journal.exists() else 0
    return len(list(models.rglob("*.*"))) + lines if models.exists() else lines


@pytest.mark.parametrize(("seed", "kills"), sweep([(1, 1), (2, 10)], 1))
def test_killed_at_random_moments_it_ends_the_same_and_times_nothing_twice(
    finished: Path, tmp_path: Path, seed: int, kills: int
) -> None:
    rng = random.Random(seed)
    out, whole = tmp_path / "out", progress(finished)
    study = written(tmp_path, STUDY.replace("inline", "{name: processes, workers: 2}"))
    for moment in sorted(rng.randrange(1, whole) for _ in range(kills)):
        child = begin("run", study, "--out", out, cwd=tmp_path)
        while child.poll() is None and progress(out) < moment:
            time.sleep(0.02)
        time.sleep(rng.random() / 2)
        child.kill()
        child.communicate()
        assert child.returncode in (-signal.SIGKILL, 0)
    # times of a child may be too noisy
    done = run("resume", out, "--executor", "inline")
    assert done.exit_code in (0, 1), done.output
    timed, expected = names(out), names(finished)
    assert set(timed.values()) == {1}
    rows = [{key for key in found if key[0] in ("kernel", "point")} for found in (timed, expected)]
    assert rows[0] == rows[1]
    accuracies = [
        [point["accuracies_percent"] for point in results(folder)["points"]]
        for folder in (out, finished)
    ]
    assert accuracies[0] == accuracies[1]


def test_an_optimizer_chooses_points_and_goes_on_with_the_same(tmp_path: Path) -> None:
    text = (
        STUDY.replace("[{weights: 0.8}]", "[dense, int8]")
        .replace("{trials: 1}", "untuned")
        .replace("fine_tune: 0\n", "")
        .replace("executor", "search: {optimizer: nsga2, trials: 2, batch_size: 1}\nexecutor")
    )
    out = tmp_path / "out"
    done = run("run", written(tmp_path, text), "--out", out)
    assert done.exit_code in (0, 1), done.output
    points = results(out)["points"]
    assert len(points) == 2
    journal = (out / "journal.jsonl").read_bytes()
    (out / "results.json").unlink()
    assert run("resume", out).exit_code == done.exit_code
    assert (out / "journal.jsonl").read_bytes() == journal
    assert results(out)["points"] == points
    # a point that was refused is timed again where somebody asks for it
    name = next(key[1] for key in names(out) if key[0] == "point")
    reason = {"reason": "noisy", "text": "made up"}
    journal_file = Journal(out / "journal.jsonl")
    journal_file.append({"kind": "point", "name": name, "status": "refused", "reason": reason})
    journal_file.close()
    assert run("resume", out).exit_code in (0, 1)
    assert sum(p["reason"] == reason for p in results(out)["points"]) == 1
    assert run("resume", out, "--retry-failed").exit_code in (0, 1)
    assert not any(p["reason"] == reason for p in results(out)["points"])
    assert {n for key, n in names(out).items() if key != ("point", name)} == {1}
    # only what the points need was measured
    kinds = {(p["compression"], p["algorithm"]) for p in points}
    assert {key for key in names(out) if key[0] == "point"} == {
        ("point", f"vgg16, {compression}, {algorithm}, untuned") for compression, algorithm in kinds
    }
