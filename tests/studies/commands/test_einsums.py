"""Files of einsums through the command line: as workloads, and with a wrong rank."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app, main

from ...cases.einsum_files import einsum_text
from ...cases.workload_studies import study

EXAMPLE = Path(__file__).parents[3] / "examples" / "einsum" / "grouped_attention.yaml"
LINES = """
S[h,q,k] = Q[h,q,d] * K[h,k,d]
P[h,q,k] = softmax(S[h,q,k], k)
O[h,q,d] = P[h,q,k] * V[h,k,d]
"""
RANKS = {"h": 2, "q": 8, "k": "q", "d": 4}


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "attention.yaml"
    path.write_text(einsum_text(LINES, RANKS))
    monkeypatch.chdir(tmp_path)
    return path


def test_networks_take_a_file_with_sizes_and_a_batch(file: Path) -> None:
    record = json.loads(shown("networks", file.name, "--set", "q=16", "--batch", "3", "--json"))
    assert (record["layers"], record["macs"]) == (3, 3 * 2 * 2 * 16 * 16 * 4)


def test_schedule_takes_the_example() -> None:
    quick = ("--mapping", "local", "--mapping-evaluations", "40", "--evaluations", "3")
    sizes = ("--network-set", "q=16", "--network-set", "m=16", "--network-set", "f=16")
    text = shown("schedule", str(EXAMPLE), "--hardware", "eyeriss", "--json", *sizes, *quick)
    found = json.loads(text)
    assert found["edp_js"] <= found["baseline"]["edp_js"]


def test_a_study_keeps_the_network_of_a_file(file: Path) -> None:
    path = study(file.parent, "{file: attention.yaml, dimensions: {q: 4}}")
    path.write_text(path.read_text().replace("trials: 2", "trials: 1"))
    shown("run", str(path), "--out", "kept")
    file.unlink()
    assert "attention(q=4)" in shown("show", "kept", "baseline")


def test_a_wrong_rank_is_one_message(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(einsum_text(LINES.replace("K[h,k,d]", "K[h,k,dd]"), RANKS))
    message = "line 3: einsums[0]: rank dd has no size; add it under ranks; did you mean d?"
    path = study(file.parent, "attention.yaml")
    for arguments in (
        ("networks", "attention.yaml"),
        ("schedule", "attention.yaml", "--hardware", "eyeriss"),
        ("run", str(path)),
    ):
        monkeypatch.setattr("sys.argv", ["archloom", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        assert stopped.value.code == 2
        assert message in said.err
        assert "Traceback" not in said.err
