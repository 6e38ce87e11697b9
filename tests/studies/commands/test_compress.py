"""``archloom compress``: what it prints and keeps, what it refuses, and that it goes on."""

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from archloom.evaluators.accuracy import figures_of
from archloom.evaluators.accuracy.models import build_model
from archloom.evaluators.accuracy.pruning import load_pruned
from archloom.evaluators.accuracy.training import Trainer
from archloom.space.workload import read_network
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError

from ...cases.studies import begin

TINY = (
    *("vgg16", "--width", "0.125", "--epochs", "2", "--fine-tune", "1", "--seeds", "1"),
    *("--levels", "0.5,0.8"),
)


def run(*arguments: str | Path) -> Result:
    asked = ["compress", *map(str, arguments)]
    return CliRunner().invoke(app, asked, catch_exceptions=False)


def said(*arguments: str | Path) -> str:
    """Return the message that a mistake gets."""
    done = CliRunner().invoke(app, ["compress", *map(str, arguments)])
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all methods; tests must not write to it."""
    folder = tmp_path_factory.mktemp("compress") / "out"
    done = run(*TINY, "--out", folder)
    assert done.exit_code == 0, done.output
    return folder


def test_results_add_up(finished: Path) -> None:
    record = json.loads((finished / "results.json").read_text())
    assert list(record["methods"]) == [
        "weights",
        "channels",
        "float16",
        "int8_uncalibrated",
        "int8",
    ]
    dense, weights = record["dense"], record["methods"]["weights"]["levels"]
    channels = record["methods"]["channels"]["levels"]
    model = build_model("vgg16", (1, 8, 8), 10, width=0.125)
    counted = figures_of(model, (1, 8, 8))
    assert (dense["params"], dense["macs"]) == (counted.params, counted.macs)
    assert [level["level"] for level in weights] == [0.5, 0.8]
    convolutions = sum(p.numel() for p in model.parameters() if p.dim() == 4)
    for level in weights:
        gone = dense["nonzero_params"] - level["nonzero_params"]
        # a bias may be zero by chance; weights are, exactly
        assert abs(gone - round(level["level"] * convolutions)) <= 2
        assert level["macs"] == dense["macs"]
    assert channels[1]["params"] < channels[0]["params"] < dense["params"]
    assert channels[1]["macs"] < channels[0]["macs"] < dense["macs"]
    assert record["methods"]["float16"]["levels"][0]["stored_bytes"] * 2 == dense["stored_bytes"]
    assert (finished / "compression.png").read_bytes().startswith(b"\x89PNG")


def test_weights_and_networks_are_what_the_results_say(finished: Path) -> None:
    dense = build_model("vgg16", (1, 8, 8), 10, width=0.125)
    for name in ("weights_0.5_0.8", "channels_0.5_0.8"):
        figures = json.loads((finished / "seed0" / f"{name}.json").read_text())
        state = torch.load(finished / "seed0" / f"{name}.pt", weights_only=True)
        counted = figures_of(load_pruned(dense, state), (1, 8, 8))
        assert figures["nonzero_macs"] == counted.nonzero_macs
        net = read_network(finished / "seed0" / f"{name}.network.json")
        assert (net.params, net.macs) == (figures["params"], figures["macs"])
        shares = sum(layer.macs * layer.density[0] for layer in net.layers if layer.uses_macs)
        assert shares == pytest.approx(figures["nonzero_macs"])


def test_other_commands_take_the_network(finished: Path) -> None:
    path = finished / "seed0" / "weights_0.5_0.8.network.json"
    done = CliRunner().invoke(app, ["networks", str(path), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    asked = ["schedule", str(path), "--hardware", "eyeriss", "--evaluations", "1", "--json"]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output


def test_a_finished_run_is_told_again_without_work(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(finished)
    monkeypatch.setattr(Trainer, "run_epoch", lambda _: pytest.fail("trained twice"))
    table = run(*TINY, "--out", finished).stdout
    for text in ("dense", "weights", "channels", "float16", "int8, uncalibrated", "Elbow (<)"):
        assert text in table
    printed = json.loads(run(*TINY, "--out", finished, "--json").stdout)
    assert printed == json.loads((finished / "results.json").read_text())
    assert contents(finished) == before


def struck(number: signal.Signals, name: str, out: Path) -> tuple[int, str]:
    """Send a signal to a run that trains a step; return its exit code, and what it printed."""
    child = begin("compress", *TINY, "--out", out, cwd=out.parent)
    seed = out / "seed0"
    while child.poll() is None and not (seed / f"{name}.checkpoint").exists():
        if (seed / f"{name}.json").exists():
            break  # it was faster than we looked
        time.sleep(0.01)
    child.send_signal(number)
    told, _ = child.communicate()
    return child.returncode, told


def test_stopped_and_killed_it_goes_on_with_the_same_bytes(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    code, told = struck(signal.SIGINT, "dense", out)
    assert code == 130
    assert "the same command resumes" in told
    assert struck(signal.SIGKILL, "weights_0.5", out)[0] == -signal.SIGKILL
    seed = out / "seed0"
    there = sum(2 if p.stem == "dense" else 1 for p in seed.glob("*.json") if trained(p))
    kept = [torch.load(p, weights_only=True)["epoch"] for p in seed.glob("*.checkpoint")]
    epochs, whole = [], Trainer.run_epoch
    monkeypatch.setattr(Trainer, "run_epoch", lambda self: epochs.append(1) or whole(self))
    assert run(*TINY, "--out", out).exit_code == 0
    # two epochs of the dense model and one after each of four levels, none of them twice
    assert len(epochs) == 6 - there - sum(kept)
    assert contents(out) == contents(finished)


def trained(path: Path) -> bool:
    pruned = [
        f"{method}_{levels}" for method in ("weights", "channels") for levels in ("0.5", "0.5_0.8")
    ]
    return path.name.removesuffix(".json") in ("dense", *pruned)


def test_more_may_be_asked_for_later(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = (*TINY[:-1], "weights=0.5", "--out", out)
    assert run(*few, "--method", "weights").exit_code == 0
    before = contents(out / "seed0")
    weights = run(*TINY[:-1], "weights=0.5,0.8", "--out", out, "--method", "weights", "--json")
    record = json.loads(weights.stdout)
    assert [level["level"] for level in record["methods"]["weights"]["levels"]] == [0.5, 0.8]
    after = contents(out / "seed0")
    assert {name: after[name] for name in before} == before
    assert after["weights_0.5_0.8.pt"] == (finished / "seed0" / "weights_0.5_0.8.pt").read_bytes()


def test_weights_of_ones_own_are_compressed(finished: Path, tmp_path: Path) -> None:
    given = finished / "seed0" / "dense.pt"
    out = tmp_path / "out"
    own = ("vgg16", "--width", "0.125", "--weights", given, "--method", "int8", "--out", out)
    record = json.loads(run(*own, "--seeds", "1", "--json").stdout)
    results = json.loads((finished / "results.json").read_text())
    for method in ("int8", "int8_uncalibrated"):
        assert (
            record["methods"][method]["levels"][0]["of_seeds"]
            == (results["methods"][method]["levels"][0]["of_seeds"])
        )
    assert record["epochs"] is None
    pruned = ("--method", "channels", "--levels", "0.25", "--fine-tune", "0", "--json")
    record = json.loads(run(*own[:5], *pruned, "--out", tmp_path / "again").stdout)
    (level,) = record["methods"]["channels"]["levels"]
    # without fine-tuning no seed matters
    assert level["accuracy_percent"] == level["before_fine_tuning_percent"]
    assert level["deviation_points"] == 0.0
    text = said("vgg16", "--width", "0.25", "--weights", given, "--out", tmp_path / "other")
    assert "does not fit the model" in text
    assert "features.0.weight has shape 8 x 1 x 3 x 3, must have 16 x 1 x 3 x 3" in text


def test_all_mistakes_are_said_at_once() -> None:
    text = said(
        *("resnet81", "--data", "digit", "--method", "wieghts", "--levels", "0.8,0.5"),
        *("--levels", "int8=0.5", "--levels", "weights=2", "--width", "9", "--tolerance", "-1"),
        *("--weights", "none.pt", "--epochs", "3"),
    )
    for fault in (
        "MODEL 'resnet81' is not known; did you mean resnet18",
        "--data 'digit' is not known; did you mean digits",
        "--method 'wieghts' is not known; did you mean weights",
        "--levels 0.8,0.5: levels must ascend",
        "--levels int8=0.5: 'int8' has no levels",
        "--levels weights=2: 2 must be a fraction above 0 and below 1",
        "--width must be above 0 and up to 4, got 9",
        "--tolerance must be from 0 to 100 percentage points, got -1",
        "--weights none.pt: no such file",
        "--epochs trains from scratch and --weights does not",
    ):
        assert fault in text, text


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("vgg16", "--data", "cifar10"), "use --data-dir DIR"),
        (("vgg16", "--data-dir", "."), "leave --data-dir . out"),
        (
            ("vgg16", "--method", "int8", "--levels", "weights=0.5"),
            "method weights is not selected with --method",
        ),
        (
            ("vgg16", "--method", "int8", "--fine-tune", "2"),
            "--fine-tune applies to weights and chan",
        ),
        (
            ("vgg16", "--levels", "weights=0.5", "--levels", "weights=0.6"),
            "levels of weights are given twice",
        ),
        (("vgg16", "--levels", "a,b"), "'a' is not a number"),
        (("vgg16", "--seeds", "1001"), "--seeds must be up to 1000"),
    ],
)
def test_a_mistake_is_one_message(arguments: tuple[str, ...], fault: str) -> None:
    assert fault in said(*arguments)


def test_directories_of_something_else_are_left_alone(finished: Path, tmp_path: Path) -> None:
    before = contents(finished)
    text = said(*TINY, "--seed", "1", "--out", finished)
    assert "holds results with other settings: seed 0, now 1" in text
    assert contents(finished) == before
    (tmp_path / "mine.txt").write_text("mine")
    assert "is not empty" in said(*TINY, "--out", tmp_path)
    assert "is a file" in said(*TINY, "--out", tmp_path / "mine.txt")
    assert "expected are data_batch_1" in said(
        "vgg16", "--data", "cifar10", "--data-dir", tmp_path, "--out", tmp_path / "new"
    )
    assert not (tmp_path / "new").exists()


def test_a_step_that_cannot_be_read_is_named(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "seed0").mkdir(parents=True)
    for name in ("settings.json", "seed0/dense.json"):
        (out / name).write_bytes((finished / name).read_bytes())
    (out / "seed0" / "dense.pt").write_bytes(b"cut off")
    assert re.search(r"dense\.pt cannot be read.*remove", said(*TINY, "--out", out))
    (out / "seed0" / "dense.json").write_text("{}")
    assert "dense.json is no record of a step" in said(*TINY, "--out", out)


def test_too_few_channels_are_a_mistake(tmp_path: Path) -> None:
    wanted: tuple[Any, ...] = (*TINY[:-1], "channels=0.99", "--method", "channels")
    text = said(*wanted, "--epochs", "1", "--out", tmp_path / "out")
    assert "--levels channels=0.99" in text
    assert "use lower levels" in text
