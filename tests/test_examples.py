"""Files in examples/; those for clusters as far as is seen without Slurm and Kubernetes."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.config.study_config import load_config
from archloom.studies.engine.study import prepare
from archloom.studies.storage.records import read_certificate, read_trials

from .cases.compressed import write_untrained
from .source_tree import ROOT

FOLDER = ROOT / "examples" / "cluster"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".sh", ".yaml", ""))

SPACES = sorted((ROOT / "examples" / "spaces").iterdir())

#: a command of archloom or Ray and its words, up to the end of the shell's command
COMMAND = re.compile(r"\b(archloom|ray) ([a-z]+)((?:(?!&|;|\n).)*)")


def commands(path: Path) -> list[tuple[str, str, list[str]]]:
    """Return what a file calls of archloom and Ray: program, command, and options."""
    lines = [line.lstrip("# ") for line in path.read_text().replace("\\\n", " ").splitlines()]
    text = "\n".join(lines)
    # options that several commands of a script share
    for name, words in re.findall(r"^(\w+)=\((.*)\)$", text, re.M):
        text = text.replace(f'"${{{name}[@]}}"', words)
    found = []
    for program, command, words in COMMAND.findall(text):
        options = re.findall(r"(?<!\S)--[a-z][\w-]*", words)
        if (program, command) == ("ray", "start") or program == "archloom":
            found.append((program, command, options))
    return found


@cache
def help_of_ray(command: str) -> str:
    ray = Path(sys.executable).with_name("ray")
    return subprocess.run([ray, command, "--help"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_a_file_calls_is_there(path: Path) -> None:
    found = commands(path)
    assert found
    for program, command, options in found:
        if program == "archloom":
            done = CliRunner().invoke(app, [command, "--help"])
            assert done.exit_code == 0, f"archloom {command}"
            known = done.output
        else:
            known = help_of_ray(command)
        assert [option for option in options if option not in known] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sh")), ids=lambda path: path.name)
def test_a_shell_reads_a_script(path: Path) -> None:
    subprocess.run(["bash", "-n", path], check=True)
    assert path.stat().st_mode & 0o111


def test_kubernetes_gets_what_it_reads_as_meant() -> None:
    claim, cluster = yaml.safe_load_all((FOLDER / "kuberay.yaml").read_text())
    assert (claim["kind"], cluster["kind"]) == ("PersistentVolumeClaim", "RayCluster")
    head, (group,) = cluster["spec"]["headGroupSpec"], cluster["spec"]["workerGroupSpecs"]
    assert head["rayStartParams"] == {"num-cpus": "0"}
    pods = [part["template"]["spec"] for part in (head, group)]
    assert len({pod["containers"][0]["image"] for pod in pods}) == 1
    volume = pods[0]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert volume == claim["metadata"]["name"]
    mounted = {mount["name"] for mount in pods[0]["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pods[0]["volumes"]}


def test_all_files_mean_the_ray_of_the_constraints() -> None:
    (ray,) = re.findall(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.M)
    _, cluster = yaml.safe_load_all((FOLDER / "kuberay.yaml").read_text())
    assert cluster["spec"]["rayVersion"] == ray
    assert f"FROM rayproject/ray:{ray}-" in (FOLDER / "Dockerfile").read_text()


def test_the_serving_study_begins() -> None:
    config = load_config(ROOT / "examples" / "serving.yaml")
    assert [tenant.workload for tenant in config.tenants] == [w.label for w in config.workloads]
    problem = prepare(config, config.space).problem
    assert 1000 < len(problem.feasible()) < problem.space.cardinality


def test_the_study_of_a_chip_for_llama_runs(tmp_path: Path) -> None:
    """One plan of two designs, nothing fused; networks, objectives and limits are its own."""
    text = (ROOT / "examples" / "llama3_8b.yaml").read_text()
    text = text.replace("trials: 32\nbatch_size: 8\n", "trials: 2\n")
    text = text.replace("baseline: fast_large\n", "halving: {name: none, evaluations: 1}\n")
    text = text.replace("{limit: 1,", "{limit: 1000,")
    text += "software: {fusion: none, mapping_evaluations: 5000}\n"
    (tmp_path / "study.yaml").write_text(text)
    study, out = str(tmp_path / "study.yaml"), tmp_path / "out"
    asked = ["run", study, "--executor", "inline", "--out", str(out)]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    prefill, decode = (w.label for w in load_config(tmp_path / "study.yaml").workloads)
    for trial in read_trials(out):
        assert set(trial.values) >= {f"latency_s({prefill})", f"perf_per_tdp_per_s_w({decode})"}


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.name)
def test_the_study_of_an_untuned_space_runs(path: Path, tmp_path: Path) -> None:
    """Five designs with little search; space, objectives, limits and optimizer are its own."""
    text = (path / "study.yaml").read_text()
    for old, new in (
        ("trials: 60", "trials: 5"),
        ("mapping_evaluations: 200000", "mapping_evaluations: 500"),
        ("space: hardware.yaml", f"space: {path / 'hardware.yaml'}"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    text, found = re.subn(r"certificate_cuts: \d+", "certificate_cuts: 200", text)
    assert found == 1
    (tmp_path / "study.yaml").write_text(text)
    study, out = str(tmp_path / "study.yaml"), tmp_path / "out"
    asked = ["run", study, "--executor", "inline", "--out", str(out)]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert [trial.state for trial in read_trials(out)] == ["complete"] * 5
    proof = read_certificate(out)
    assert proof is not None
    assert 100_000 <= proof.points <= 1_000_000
    assert proof.measured == 5
    assert 0 < proof.share < 1
    for trial in read_trials(out):
        assert set(trial.values) >= {"latency_s", "energy_j"}


def test_the_study_of_pruned_weights_begins() -> None:
    config = load_config(ROOT / "examples" / "sparse" / "study.yaml")
    problem = prepare(config, config.space).problem
    assert {n.layers[0].density for n in problem.networks} == {(0.2, 1.0)}
    formats = {design.point["format"] for design in problem.feasible()}
    assert formats == {"dense", "bitmask", "run_length", "csr"}


def test_the_study_of_compressed_forms_runs(tmp_path: Path) -> None:
    """Smaller, and of a model without training; files, keys and template are the example's."""
    folder = tmp_path / "examples" / "compressed"
    folder.mkdir(parents=True)
    write_untrained(tmp_path / "runs" / "compress-resnet18-digits")
    for path in (ROOT / "examples" / "compressed").iterdir():
        (folder / path.name).write_text(path.read_text())
    text = (folder / "study.yaml").read_text()
    for old, new in (
        ("levels: [0, 0.8, 0.95, 0.99], fine_tune: 5", "levels: [0.5], fine_tune: 0"),
        ("accuracy_percent: 98", "accuracy_percent: 0.1"),
        ("trials: 200", "trials: 2"),
    ):
        assert old in text
        text = text.replace(old, new)
    text += "software: {fusion: none, mapping: local, mapping_evaluations: 30}\n"
    (folder / "study.yaml").write_text(text)
    out = tmp_path / "out"
    asked = ["run", str(folder / "study.yaml"), "--executor", "inline", "--out", str(out)]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = read_trials(out)
    assert len(found) == 2
    assert {name for trial in found for name in trial.point or {}} >= {"bits", "pruned_middle"}
