"""``archloom measure``: from the command line to tables, files and messages."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from archloom.studies.commands.cli import app
from archloom.studies.commands.machine.measure import asked as asked_module
from archloom.studies.errors import UserError

LAYER = "8x8x8:16:3x3,activation=relu"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["measure", *map(str, arguments)], catch_exceptions=False)


def said(*arguments: object) -> str:
    """Return the message that a mistake gets."""
    done = CliRunner().invoke(app, ["measure", *map(str, arguments)])
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def test_a_layer_is_measured_printed_drawn_and_not_measured_again(tmp_path: Path) -> None:
    options = ("--layer", LAYER, "--tune", 2, "--density", "1,0.5", "--out", tmp_path)
    options = (*options, "--algorithm", "gemm,library,portable", "--optimizer", "random")
    done = run(*options)
    # a very busy machine may refuse all rows
    assert done.exit_code in (0, 1), done.output
    found = json.loads((tmp_path / "results.json").read_text())
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")
    assert found["machine"]["threads"] == 1
    assert found["machine"]["libraries"]["halide"]
    (layer,) = found["layers"]
    assert (layer["name"], layer["macs"]) == (LAYER, 8 * 8 * 16 * 72)
    kernels = {(row["kernel"], row["tuned"]) for row in layer["rows"]}
    assert {("gemm float32", True), ("gemm float32 csr 0.5", False)} <= kernels
    assert {("portable float32", False), ("library float32", True)} <= kernels
    assert all(row["status"] == "timed" or row["reason"]["text"] for row in layer["rows"])
    if done.exit_code == 0:
        assert "gemm float32" in done.stdout
        assert "no kernel is available for library float32 csr 0.5" in done.stdout
    journal = (tmp_path / "journal.jsonl").read_bytes()
    again = run(*options, "--json")
    assert json.loads(again.stdout)["layers"] == found["layers"]
    assert (tmp_path / "journal.jsonl").read_bytes() == journal


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    message = said(
        *("--layer", "64x32x32:64:3x3,strde=2", "--algorithm", "gem,library", "--dtype", "float23"),
        *("--density", "1,2", "--optimizer", "tpee", "--threads", 4096, "--out", tmp_path),
    )
    for part in (
        "strde is not an option",
        "--algorithm 'gem' is not known; did you mean gemm",
        "--dtype 'float23' is not known; did you mean",
        "--density '2': must be a share",
        "--optimizer 'tpee' is not known; did you mean tpe",
        "--threads 4096: there are",
    ):
        assert part in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "say a network, or --layer"),
        (("vgg16_cifar1",), "vgg16_cifar10"),
        (("vgg16_cifar10", "--layer", LAYER), "say one of them"),
        (("--layer", LAYER, "--network-set", "a=1"), "say of which network"),
        (("bert_base",), "has no convolution that kernels compute"),
    ],
)
def test_a_mistake_is_one_message(options: tuple[str, ...], message: str) -> None:
    assert message in said(*options)


def test_without_halide_the_others_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_module, "has_halide", lambda: False)
    message = said("--layer", LAYER, "--algorithm", "gemm,library")
    assert "pip install 'archloom[host]'" in message
    assert "library and portable work without it" in message
    effort = (0, "tpe", 0, 1)
    asked = asked_module.Asked(None, (LAYER,), (), None, "float32", "1", effort)
    assert [v.algorithm for v in asked_module.wanted_of(asked).variants] == ["library", "portable"]
