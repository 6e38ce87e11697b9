"""Workloads beyond plain names: options, batches, files; a study that stands on its own."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from archloom.space.builder import Builder
from archloom.space.network import Network
from archloom.space.network_json import read_network, write_network
from archloom.space.networks import NETWORKS, Entry, network
from archloom.studies.config import load_config
from archloom.studies.config_errors import ConfigError
from archloom.studies.details import trial_details
from archloom.studies.errors import UserError
from archloom.studies.report import render
from archloom.studies.store import NETWORKS as STORED
from archloom.studies.store import read_header
from archloom.studies.view import load_view
from archloom.studies.workload_reference import WorkloadError
from archloom.studies.workloads import load_workload, load_workloads

from .samples import archloom, run_here, write_study

STUDY = """\
seed: 5
workloads:
{workloads}
space: casco_edge
optimizer: {{name: random}}
halving: {{name: msh, rounds: 2, first_budget: 2}}
trials: 2
batch_size: 2
software: {{population: 2, mapping: random, mapping_evaluations: 20}}
executor: {{name: inline}}
baseline: eyeriss
"""


def chain(*, width: int = 4, rows: int = 8, kind: str = "conv") -> Network:
    """Two layers in a row."""
    net = Builder((3, rows, rows))
    x = net.conv("first", "input", width, kernel=3, activation="relu")
    net.gemm("last", net.global_avgpool("mean", x), 5)
    return net.network(kind)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more network, with options."""
    assert isinstance(NETWORKS, dict)
    monkeypatch.setitem(NETWORKS, "chain", Entry(chain, "for these tests"))


def study(folder: Path, *workloads: str) -> Path:
    return write_study(folder, STUDY.format(workloads="\n".join(f"  - {w}" for w in workloads)))


def problem(folder: Path, name: str, **sizes: int) -> None:
    """Write a layer as a Timeloop problem."""
    every = {"N": 1, "K": 1, "C": 1, "P": 1, "Q": 1, "R": 1, "S": 1} | sizes
    instance = ", ".join(f"{dim}: {size}" for dim, size in every.items())
    folder.mkdir(exist_ok=True)
    text = f"problem: {{shape: cnn_layer, instance: {{{instance}}}}}\n"
    (folder / f"{name}.yaml").write_text(text)


def onnx_model(path: Path, width: int = 4) -> None:
    """Write a convolution over a batch and a side that only have names."""
    import onnx

    make = onnx.helper
    kind = onnx.TensorProto.FLOAT
    weights = make.make_tensor("w", kind, (width, 3, 3, 3), [0.5] * (width * 27))
    graph = make.make_graph(
        [make.make_node("Conv", ["x", "w"], ["y"], name="only", pads=[1, 1, 1, 1])],
        "only",
        [make.make_tensor_value_info("x", kind, ("batch", 3, "side", "side"))],
        [make.make_tensor_value_info("y", kind, None)],
        [weights],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), path)


def labels(folder: Path, *entries: object) -> list[str]:
    return [workload.label for workload in load_workloads(entries, folder)]


def test_networks_with_options_and_a_batch(tmp_path: Path) -> None:
    wide = load_workload({"network": "chain", "width": 16, "batch": 3}, tmp_path)
    assert wide == chain(width=16).with_batch(3)
    assert load_workload("chain", tmp_path) == chain()
    assert load_workload({"network": "Chain"}, tmp_path) == chain()


def test_a_label_is_the_name_with_the_options_in_the_order_of_the_network(tmp_path: Path) -> None:
    entries = (
        "chain",
        {"batch": 2, "rows": 4, "network": "chain", "width": 2},
        {"network": "chain", "rows": 6},
        "tiny_mlp",
    )
    expected = ["chain", "chain(width=2, rows=4, batch=2)", "chain(rows=6)", "tiny_mlp"]
    assert labels(tmp_path, *entries) == expected
    # one batch is what networks of the catalogue have
    assert labels(tmp_path, {"network": "chain", "batch": 1}) == ["chain"]


def test_files_are_called_as_they_are_and_all_labels_differ(tmp_path: Path) -> None:
    for name in ("tiny_mlp.json", "a.json", "sub/a.json", "a-2.json", "x\n[red]<b>.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_network(chain(), tmp_path / name)
    found = labels(
        tmp_path,
        "tiny_mlp.json",
        "a.json",
        "sub/a.json",
        "a-2.json",
        {"file": "a.json", "batch": 4},
        "x\n[red]<b>.json",
        "tiny_mlp",
    )
    assert found == ["tiny_mlp-2", "a", "a-2", "a-2-2", "a(batch=4)", "x_[red]<b>", "tiny_mlp"]


def test_a_name_of_the_catalogue_is_no_path_but_can_be_made_one(tmp_path: Path) -> None:
    problem(tmp_path / "tiny_mlp", "layer", K=4, C=2)
    assert load_workload("tiny_mlp", tmp_path) == network("tiny_mlp")
    for path in ("./tiny_mlp", "tiny_mlp/", str(tmp_path / "tiny_mlp")):
        assert [la.name for la in load_workload(path, tmp_path).layers] == ["layer"]


def test_paths_start_at_the_study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets").mkdir()
    write_network(chain(width=7), tmp_path / "nets" / "mine.json")
    path = study(tmp_path, "nets/mine.json")
    monkeypatch.chdir("/")
    (workload,) = load_config(path).workloads
    assert workload.network == replace(chain(width=7), name="mine")
    assert workload.reference == {"file": str(tmp_path / "nets" / "mine.json")}


ERRORS: list[tuple[str, str, str]] = [
    ("resnet81", "", "network 'resnet81' is unknown; did you mean resnet18"),
    ("mine.jsn", "", "network 'mine.jsn' is unknown; did you mean mine.json?"),
    ("7", "", "7 must be a name, or a mapping with network or file"),
    ("[chain]", "", "['chain'] must be a name, or a mapping with network or file"),
    ("{}", "", "must have a key network or file, has no key"),
    ("{net: chain}", "", "must have a key network or file, has net"),
    ("{network: chain, file: mine.json}", "", "has both network and file, must have one of them"),
    ("{network: 3}", ".network", "3 must be the name of a network"),
    ("{network: chian}", ".network", "network 'chian' is not known; did you mean chain?"),
    ("{network: chain, widht: 3}", ".widht", "is no option of chain; did you mean width?"),
    ("{network: tiny_mlp, zz: 3}", ".zz", "is no option of tiny_mlp; known: batch"),
    ("{network: chain, width: two}", ".width", "is 'two', it must be a whole number such as 4"),
    ("{network: chain, kind: 2}", ".kind", "is 2, it must be a text such as 'conv'"),
    ("{network: chain, width: 0}", "", "channels is 0, it must be a whole number, at least 1"),
    ("{network: chain, batch: 0}", ".batch", "0 must be a whole number, at least 1"),
    ("{network: chain, batch: true}", ".batch", "True must be a whole number, at least 1"),
    ("{network: chain, batch: 99999999999999}", "", "must be at most 9007199254740992"),
    ("{file: mine.json, batch: 1.5}", ".batch", "1.5 must be a whole number, at least 1"),
    ("{file: mine.json, bacth: 2}", ".bacth", "is an unknown key; did you mean batch?"),
    (
        "{file: mine.json, dimensions: {b: 1}}",
        ".dimensions",
        "are for ONNX files alone; 'mine",
    ),
    ("{file: m.onnx, dimensions: {b: 0}}", ".dimensions.b", "0 must be a whole number, at least 1"),
    ("{file: m.onnx, dimensions: 4}", ".dimensions", "4 must be a mapping of names to sizes"),
    ("{file: m.onnx, dimensions: {1: 4}}", ".dimensions.1", "must be a name; write it in quotes"),
    ("{file: 3}", ".file", "3 must be the path of an ONNX file (.onnx)"),
    ("mien.json", "", "/mien.json; did you mean mine.json"),
    ("nosuch/mine.json", "", "/nosuch/mine.json; "),
    ("notes.txt", "", "/notes.txt must be an ONNX file (.onnx), a network's JSON (.json), a dir"),
    ("{file: notes.txt}", "", "/notes.txt must be an ONNX file (.onnx), a network's JSON (.json)"),
    ("broken.json", "", "/broken.json: layers[0].name is missing"),
    ("empty/", "", "/empty: holds no layers: no .yaml file with a problem"),
    ("wrong/", "", "/wrong/one.yaml: problem.instance"),
    ("broken.onnx", "", "/broken.onnx: "),
    ("open.onnx", "", "/open.onnx: dimensions batch, side of the input are not known"),
    ("{file: open.onnx, dimensions: {batch: 1, side: 6, sid: 2}}", "", "did you mean side?"),
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with files of all kinds, most of them wrong."""
    write_network(chain(), tmp_path / "mine.json")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "broken.json").write_text(
        '{"format": "archloom network 1", "name": "n", "layers": [{"operator": "conv"}]}'
    )
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x07\x12")
    onnx_model(tmp_path / "open.onnx")
    (tmp_path / "empty").mkdir()
    problem(tmp_path / "wrong", "one", K=0)
    return tmp_path


@pytest.mark.parametrize(("entry", "key", "message"), ERRORS)
def test_one_mistake_is_one_message_with_its_place(
    files: Path, entry: str, key: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(study(files, "tiny_mlp", entry))
    (found,) = caught.value.problems
    assert (found.line, found.key) == (4, f"workloads[1]{key}")
    assert message in found.message


def test_all_mistakes_come_at_once(files: Path) -> None:
    entries = [entry for entry, _, _ in ERRORS]
    twice = "{network: chain, widht: 3, width: two, batch: -1}"
    with pytest.raises(ConfigError) as caught:
        load_config(study(files, *entries, twice, "tiny_mlp", "tiny_mlp"))
    keys = {problem.key for problem in caught.value.problems}
    assert keys >= {f"workloads[{i}]{key}" for i, (_, key, _) in enumerate(ERRORS)}
    last = len(ERRORS)
    assert keys >= {f"workloads[{last}].{key}" for key in ("widht", "width", "batch")}
    assert "tiny_mlp stands more than once" in str(caught.value)


def test_the_same_workload_may_stand_once(files: Path) -> None:
    write_network(chain(), files / "other.json")
    for pair in (
        ("{network: chain, width: 2, rows: 4}", "{network: chain, rows: 4, width: 2}"),
        ("{network: tiny_mlp}", "tiny_mlp"),
        ("mine.json", "{file: ./mine.json}"),
    ):
        with pytest.raises(ConfigError, match=r"workloads\[1\]: .* stands more than once"):
            load_config(study(files, *pair))
    assert len(load_config(study(files, "mine.json", "other.json")).workloads) == 2


def test_a_workload_by_itself_says_the_same(files: Path) -> None:
    with pytest.raises(WorkloadError, match=r"^batch: 0 must be a whole number, at least 1$"):
        load_workload({"network": "chain", "batch": 0}, files)
    with pytest.raises(WorkloadError, match=r"/mien.json; did you mean mine.json"):
        load_workload("mien.json", files)


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
    assert [r["state"] for r in records] == ["stopped", "complete"]
    assert list(records[0]["networks"]) == [label, "chain(width=2)"]
    assert records[0]["networks"][label]["batch"] == (2 if kind == "onnx" else 1)
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
    assert details["networks"][0]["edp_js"] == records[1]["networks"][label]["edp_js"]
    assert dict(load_view(away).facts)["networks"] == f"{label}, chain(width=2)"


def resume_here(folder: Path) -> None:
    """Go on in this process, which knows the network of these tests."""
    from rich.console import Console

    from archloom.studies.session import Overrides, resume

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
    page = render(load_view(tmp_path / "run"), trial_details(tmp_path / "run", 0))
    body = page[page.index("</script>") :]
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
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "run" / "trials.jsonl").read_bytes() == before
    assert json.loads(done.stdout)["networks"][0]["name"] == "net"
    refused = archloom("run", tmp_path / "tiny.yaml", "--out", "run", cwd=tmp_path)
    assert refused.returncode == 2
    assert "net.json: line 1 is no JSON" in refused.stderr
