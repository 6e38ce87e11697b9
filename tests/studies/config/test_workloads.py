"""Workloads beyond plain names: options, batches, files, and what is wrong with them."""

from dataclasses import replace
from pathlib import Path

import pytest

from archloom.space.networks.registry import NETWORKS, Entry, network
from archloom.space.workload.network_json import write_network
from archloom.studies.config.errors import ConfigError, EntryError
from archloom.studies.config.study_config import load_config
from archloom.studies.config.workloads import load_workload, load_workloads

from ...cases.workload_studies import chain, onnx_model, problem, study


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more network, with options."""
    assert isinstance(NETWORKS, dict)
    monkeypatch.setitem(NETWORKS, "chain", Entry(chain, "for these tests"))


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


def test_lengths_of_sequences_are_a_list(tmp_path: Path) -> None:
    entry = {"network": "llama32_1b_decode", "lengths": [64, 9, 9]}
    assert load_workload(entry, tmp_path) == network("llama32_1b_decode", lengths=(9, 64, 9))
    assert labels(tmp_path, entry) == ["llama32_1b_decode(lengths=[64, 9, 9])"]
    wrong = entry | {"lengths": [64, "9"], "sequence_length": 64}
    with pytest.raises(EntryError) as caught:
        load_workload(wrong, tmp_path)
    assert [(str(fault.place), fault.message) for fault in caught.value.faults] == [
        ("lengths", "lengths is [64, '9'], must be a list of whole numbers such as [2048, 512]"),
        ("lengths", "sequence_length and lengths say the same; leave one of them out"),
    ]


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


def test_the_folder_itself_is_a_directory_of_problems(tmp_path: Path) -> None:
    problem(tmp_path, "layer", K=4, C=2)
    net = load_workload(".", tmp_path)
    assert (net.name, [la.name for la in net.layers]) == (tmp_path.name, ["layer"])


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
    ("7", "", "7 must be a name, or a mapping with network, file or compressed"),
    ("[chain]", "", "['chain'] must be a name, or a mapping with network, file or compressed"),
    ("{}", "", "must have a key network, file or compressed, has no key"),
    ("{net: chain}", "", "must have a key network, file or compressed, has net"),
    (
        "{network: chain, file: mine.json}",
        "",
        "has both network and file, must have exactly one of them",
    ),
    ("{network: 3}", ".network", "3 must be the name of a network"),
    ("{network: chian}", ".network", "network 'chian' is not known; did you mean chain?"),
    ("{network: chain, widht: 3}", ".widht", "is no option of chain; did you mean width?"),
    ("{network: tiny_mlp, zz: 3}", ".zz", "is no option of tiny_mlp; known: batch"),
    ("{network: chain, width: two}", ".width", "is 'two', must be a whole number such as 4"),
    ("{network: chain, kind: 2}", ".kind", "is 2, must be a text such as 'conv'"),
    ("{network: chain, width: 0}", "", "channels is 0, must be a whole number, at least 1"),
    ("{network: chain, batch: 0}", ".batch", "0 must be a whole number, at least 1"),
    ("{network: chain, batch: true}", ".batch", "True must be a whole number, at least 1"),
    ("{network: chain, batch: 99999999999999}", "", "must be at most 9007199254740992"),
    ("{file: mine.json, batch: 1.5}", ".batch", "1.5 must be a whole number, at least 1"),
    ("{file: mine.json, bacth: 2}", ".bacth", "is an unknown key; did you mean batch?"),
    (
        "{file: mine.json, dimensions: {b: 1}}",
        ".dimensions",
        "are for ONNX files and files of einsums; 'mine",
    ),
    ("{file: m.onnx, dimensions: {b: 0}}", ".dimensions.b", "0 must be a whole number, at least 1"),
    ("{file: m.onnx, dimensions: 4}", ".dimensions", "4 must be a mapping of names to sizes"),
    ("{file: m.onnx, dimensions: {1: 4}}", ".dimensions.1", "must be a name; write it in quotes"),
    ("{file: 3}", ".file", "3 must be the path of an ONNX file (.onnx)"),
    ("mien.json", "", "/mien.json; did you mean mine.json"),
    ("nosuch/mine.json", "", "/nosuch/mine.json; "),
    ("notes.txt", "", "/notes.txt must be an ONNX file (.onnx), a network's JSON (.json), a file"),
    ("{file: notes.txt}", "", "/notes.txt must be an ONNX file (.onnx), a network's JSON (.json)"),
    ("broken.json", "", "/broken.json: layers[0].name is missing"),
    ("empty/", "", "/empty: holds no layers; it must have .yaml files, each with a problem"),
    ("wrong/", "", "/wrong/one.yaml: problem.instance"),
    ("broken.onnx", "", "/broken.onnx: "),
    ("open.onnx", "", "/open.onnx: dimensions batch, side of the input have no size"),
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
    (found,) = caught.value.faults
    assert (found.place.line, found.place.path) == (4, f"workloads[1]{key}")
    assert message in found.message


def test_all_mistakes_come_at_once(files: Path) -> None:
    entries = [entry for entry, _, _ in ERRORS]
    twice = "{network: chain, widht: 3, width: two, batch: -1}"
    with pytest.raises(ConfigError) as caught:
        load_config(study(files, *entries, twice, "tiny_mlp", "tiny_mlp"))
    keys = {fault.place.path for fault in caught.value.faults}
    assert keys >= {f"workloads[{i}]{key}" for i, (_, key, _) in enumerate(ERRORS)}
    last = len(ERRORS)
    assert keys >= {f"workloads[{last}].{key}" for key in ("widht", "width", "batch")}
    assert "tiny_mlp occurs more than once" in str(caught.value)


def test_the_same_workload_may_stand_once(files: Path) -> None:
    write_network(chain(), files / "other.json")
    for pair in (
        ("{network: chain, width: 2, rows: 4}", "{network: chain, rows: 4, width: 2}"),
        ("{network: tiny_mlp}", "tiny_mlp"),
        ("mine.json", "{file: ./mine.json}"),
    ):
        with pytest.raises(ConfigError, match=r"workloads\[1\]: .* occurs more than once"):
            load_config(study(files, *pair))
    assert len(load_config(study(files, "mine.json", "other.json")).workloads) == 2


def test_a_workload_by_itself_says_the_same(files: Path) -> None:
    with pytest.raises(EntryError, match=r"^batch: 0 must be a whole number, at least 1$"):
        load_workload({"network": "chain", "batch": 0}, files)
    with pytest.raises(EntryError, match=r"/mien.json; did you mean mine.json"):
        load_workload("mien.json", files)
