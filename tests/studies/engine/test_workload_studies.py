"""Studies over workloads of all kinds: they stand on their own, and see what changed."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from archloom.space.networks.registry import NETWORKS, Entry
from archloom.space.workload.network_json import read_network, write_network
from archloom.studies.analysis.details import trial_details
from archloom.studies.analysis.study_view import load_view
from archloom.studies.config.study_config import load_config
from archloom.studies.errors import UserError
from archloom.studies.rendering.report.report import write_report
from archloom.studies.storage.header import read_header
from archloom.studies.storage.parts import NETWORKS as STORED

from ...cases.studies import archloom, run_here
from ...cases.workload_studies import chain, onnx_model, problem, study


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more network, with options."""
    assert isinstance(NETWORKS, dict)
    monkeypatch.setitem(NETWORKS, "chain", Entry(chain, "for these tests"))


def write_json(path: Path, width: int) -> None:
    write_network(chain(width=width), path)


def write_layers(path: Path, width: int) -> None:
    problem(path, "one", K=width, C=3, P=6, Q=6, R=3, S=3)
    problem(path, "two", K=2, C=width, P=6, Q=6)


KINDS: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "json": ("net.json", write_json),
    "directory": ("layers", write_layers),
    "onnx": ("{file: net.onnx, batch: 2, dimensions: {batch: 1, side: 6}}", onnx_model),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_over_a_file_stands_on_its_own(tmp_path: Path, kind: str) -> None:
    """It goes on, and is shown, where the file is gone; a changed file is another study."""
    entry, write = KINDS[kind]
    here, away = tmp_path / "here", tmp_path / "away"
    here.mkdir()
    source = here / {"json": "net.json", "directory": "layers", "onnx": "net.onnx"}[kind]
    write(source, 4)
    path = study(here, entry, "{network: chain, width: 2}")
    config = load_config(path)
    label = config.workloads[0].label
    records = run_here(config, here / "run")
    assert sorted(r.state for r in records) == ["complete", "stopped"]
    assert list(records[0].networks) == [label, "chain(width=2)"]
    assert records[0].networks[label].batch == (2 if kind == "onnx" else 1)
    before = (here / "run" / "trials.jsonl").read_bytes()

    write(source, 6)
    with pytest.raises(UserError, match="holds a study with another config") as caught:
        run_here(load_config(path), here / "run")
    said = rf"workloads\[0\]: the network of {source.name}.* changed \("
    assert re.search(said, str(caught.value))
    write(source, 4)
    assert run_here(load_config(path), here / "run") == records

    source.rename(tmp_path / "gone")
    (here / "run").rename(away)
    (away / "trials.jsonl").unlink()
    journal = (away / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (away / "journal.jsonl").write_bytes(b"".join(journal[: len(journal) // 2]))
    resume_here(away)
    assert (away / "trials.jsonl").read_bytes() == before
    details = trial_details(away, 1)
    assert [net["name"] for net in details["networks"]] == [label, "chain(width=2)"]
    assert details["networks"][0]["edp_js"] == records[1].networks[label].edp_js
    assert dict(load_view(away).facts)["networks"] == f"{label}, chain(width=2)"


def resume_here(folder: Path) -> None:
    """Go on in this process, which knows the network of these tests."""
    from rich.console import Console

    from archloom.studies.commands.study.run import resume
    from archloom.studies.commands.study.study_file import Overrides

    with (folder / "log").open("w") as log:
        assert resume(folder, Overrides(), Console(file=log)) == 0


def test_the_study_keeps_the_network_and_sees_changes_of_it(tmp_path: Path) -> None:
    write_network(chain(width=6), tmp_path / "net.json")
    config = load_config(study(tmp_path, "tiny_mlp", "{file: net.json, batch: 2}"))
    run_here(config, tmp_path / "run")
    kept = tmp_path / "run" / STORED / "1.json"
    assert [path.name for path in kept.parent.iterdir()] == ["1.json"]
    assert read_network(kept) == replace(chain(width=6).with_batch(2), name="net(batch=2)")
    text = kept.read_text()
    for wrong in (text.replace('"k": 6', '"k": 7'), ""):
        kept.write_text(wrong)
        with pytest.raises(UserError, match="or a network in networks was changed after"):
            read_header(tmp_path / "run")
    kept.unlink()
    with pytest.raises(UserError, match="or a network in networks was changed after"):
        read_header(tmp_path / "run")


@pytest.mark.parametrize(
    ("workloads", "difference"),
    [
        (("net.json", "tiny_mlp"), "workloads[0]: net.json there, net.json(batch=2) here"),
        (("tiny_mlp",), "workloads: tiny_mlp there, net.json(batch=2), tiny_mlp here"),
        (
            ("{file: net.json, batch: 2}", "{network: chain, rows: 4}"),
            "workloads[1]: chain(rows=4) there, tiny_mlp here",
        ),
    ],
)
def test_other_workloads_are_another_study(
    tmp_path: Path, workloads: tuple[str, ...], difference: str
) -> None:
    write_network(chain(), tmp_path / "net.json")
    run_here(load_config(study(tmp_path, *workloads)), tmp_path / "run")
    path = study(tmp_path, "{file: net.json, batch: 2}", "tiny_mlp")
    with pytest.raises(UserError) as caught:
        run_here(load_config(path), tmp_path / "run")
    assert f"({difference});" in str(caught.value)


def test_what_changed_in_a_file_is_said(tmp_path: Path) -> None:
    write_network(chain(), tmp_path / "net.json")
    path = study(tmp_path, "net.json")
    run_here(load_config(path), tmp_path / "run")
    wider = chain(width=8)
    renamed = tuple(replace(la, name=la.name.replace("last", "end")) for la in chain().layers)
    for net, change in (
        (wider, "MACs: 6,932 in the study, 13,864 in the file"),
        (replace(chain(), layers=renamed), "names of layers"),
    ):
        write_network(net, tmp_path / "net.json")
        with pytest.raises(UserError) as caught:
            run_here(load_config(path), tmp_path / "run")
        assert f"(workloads[0]: the network of net.json changed ({change}));" in str(caught.value)


def test_the_path_of_a_file_is_no_part_of_the_study(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        write_network(chain(), tmp_path / place / "net.json")
        records = run_here(load_config(study(tmp_path / place, "net.json")), tmp_path / "run")
    assert len(records) == 2


def test_a_network_that_is_no_more_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(load_config(study(tmp_path, "{network: chain, rows: 4}")), tmp_path / "run")
    assert isinstance(NETWORKS, dict)
    monkeypatch.delitem(NETWORKS, "chain")
    for act in (load_view, lambda folder: trial_details(folder, 0)):
        with pytest.raises(UserError, match=r"run: \[0\].network: network 'chain' .*; use the ver"):
            act(tmp_path / "run")


def test_names_of_users_are_text_in_reports_and_tables(tmp_path: Path) -> None:
    plain = chain()
    first = replace(plain.layers[0], name="<i>a[red]")
    reads = (("input",), ("<i>a[red]",), ("mean",))
    net = replace(plain, layers=(first, *plain.layers[1:]), reads=reads)
    write_network(net, tmp_path / "<b>x[red].json")
    run_here(load_config(study(tmp_path, '"<b>x[red].json"')), tmp_path / "run")
    body = write_report(tmp_path / "run")[0].read_text()
    assert "&lt;b&gt;x[red]" in body
    assert "<b>x" not in body
    assert "<i>a" not in body
    shown = archloom("show", "run", "0", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "<b>x[red]" in shown.stdout
    assert "<i>a[red]" in shown.stdout


def test_a_resumed_study_reads_no_file_of_the_user(tmp_path: Path) -> None:
    write_network(chain(), tmp_path / "net.json")
    done = archloom("run", study(tmp_path, "net.json"), "--out", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "net.json").write_text("{")
    before = (tmp_path / "run" / "trials.jsonl").read_bytes()
    for command in ("resume run", "report run", "pareto run --json", "show run 0 --json"):
        done = archloom(*command.split(), cwd=tmp_path)
        assert done.returncode == 0
        # how far it is, with the time, where a machine takes long
        assert all(line.startswith("[") for line in done.stderr.splitlines())
    assert (tmp_path / "run" / "trials.jsonl").read_bytes() == before
    assert json.loads(done.stdout)["networks"][0]["name"] == "net"
    refused = archloom("run", tmp_path / "tiny.yaml", "--out", "run", cwd=tmp_path)
    assert refused.returncode == 2
    assert "net.json: line 1 is not JSON" in refused.stderr
