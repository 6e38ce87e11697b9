"""What is told of a study besides: a log of JSON lines, and figures for Prometheus."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from archloom.studies.storage.directory.lock import LOCK
from archloom.studies.storage.parts import JOURNAL, LIVE
from archloom.studies.storage.records import read_trials

from ...cases.ray_cluster import until
from ...cases.studies import TINY, archloom, begin, write_study

#: what a study with held-out networks tells of, at least
EVENTS = {"opened", "asked", "started", "advanced", "trial_ended", "validated", "ended"}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def figures(path: Path) -> dict[str, float]:
    """Return what Prometheus reads, by name and what is not the study."""
    found = {}
    for family in text_string_to_metric_families(path.read_text()):
        assert family.name.startswith("archloom_")
        assert family.documentation.endswith(".")
        assert family.type in ("gauge", "counter")
        for sample in family.samples:
            labels = {k: v for k, v in sample.labels.items() if k != "study"}
            assert sample.labels["study"] == "tiny"
            key = " ".join([sample.name.removeprefix("archloom_"), *labels.values()])
            assert key not in found
            found[key] = sample.value
    return found


def test_a_study_tells_what_it_does_and_goes_on_counting(tmp_path: Path) -> None:
    study = write_study(tmp_path, f"{TINY}validation: [tiny_mlp]\n")
    options = ("--log", "log", "--metrics", "figures.prom")
    process = begin("run", study, "--out", "run", *options, cwd=tmp_path)
    log, run = tmp_path / "log", tmp_path / "run"
    until(lambda: any(one["event"] == "advanced" for one in lines(log)), "a round")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert lines(log)[-1]["event"] == "stopped"
    stopped = figures(tmp_path / "figures.prom")
    assert stopped["up"] == 0
    assert stopped["rounds_total"] > 0
    assert archloom("resume", "run", *options, cwd=tmp_path).returncode == 0

    told = lines(log)
    assert {line["event"] for line in told} >= EVENTS
    assert all(
        line.keys() >= {"time", "level", "event", "study", "host", "process"} for line in told
    )
    assert [line["time"] for line in told] == sorted(line["time"] for line in told)
    trials = read_trials(run)
    ended = {line["trial"]: line["state"] for line in told if line["event"] == "trial_ended"}
    assert ended == {trial.number: trial.state for trial in trials}
    rounds = [line for line in told if line["event"] == "advanced"]
    begun = {(line["trial"], line["round"]) for line in told if line["event"] == "started"}
    assert {(line["trial"], line["round"]) for line in rounds} <= begun
    assert min(line["round"] for line in rounds) == 1
    assert all(line["seconds"] > 0 and line["cpu_seconds"] > 0 for line in rounds)
    assert not any("payload" in line for line in told)

    found = figures(tmp_path / "figures.prom")
    searches = len(rounds) + sum(line["event"] == "validated" for line in told)
    assert found["rounds_total"] == searches > stopped["rounds_total"]
    assert found["trials complete"] == sum(trial.state == "complete" for trial in trials)
    assert found["trials_wanted"] == 10
    assert found["evaluations"] == sum(trial.evaluations for trial in trials)
    assert found["front"] >= 1
    assert found["fraction"] == 1
    assert 0 < found["certified"] <= 1
    assert found["volume"] > 0
    assert found["up"] == 0
    spent = sum(line["cpu_seconds"] for line in told if line["event"] in ("advanced", "validated"))
    assert found["search_cpu_seconds_total"] == pytest.approx(spent)


def test_workers_are_told_of_by_name_also_when_something_kills_them(tmp_path: Path) -> None:
    study = write_study(tmp_path, TINY.replace("trials: 10", "trials: 24"))
    ray = ("--executor", "ray", "--workers", "1", "--log", "log", "--metrics", "figures.prom")
    process = begin("run", study, "--out", "run", *ray, cwd=tmp_path)
    log, run = tmp_path / "log", tmp_path / "run"
    until(lambda: any(one["event"] == "advanced" for one in lines(log)), "a round")
    (first,) = (line for line in lines(log) if line["event"] == "worker_joined")
    live = json.loads((run / LIVE).read_text())
    assert live["workers"] == {first["node"]: 1}
    os.kill(int(first["worker"].partition("/")[2]), signal.SIGKILL)
    until(lambda: any(one["event"] == "worker_died" for one in lines(log)), "its death")
    until(lambda: sum(one["event"] == "worker_joined" for one in lines(log)) == 2, "another one")
    begun = figures(tmp_path / "figures.prom")
    assert begun["up"] == 1
    os.kill(int((run / LOCK).read_text()), signal.SIGKILL)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert f"worker {first['worker']} on {first['node']} was ended (ActorDiedError)" in output
    (ended,) = (line for line in lines(log) if line["event"] == "process_ended")
    assert ended["why"] == "the process was killed by signal 9"
    found = figures(tmp_path / "figures.prom")
    journaled = [json.loads(line)["event"] for line in (run / JOURNAL).read_text().splitlines()]
    rounds = [event for event in journaled if event["event"] == "advanced"]
    assert found["rounds_total"] == len(rounds)
    workers = {line["worker"] for line in lines(log) if line["event"] == "worker_joined"}
    assert {event["worker"] for event in rounds} <= workers


@pytest.mark.parametrize("option", ["--log", "--metrics"])
def test_a_file_that_cannot_be_written_is_told_before_a_study_begins(
    tmp_path: Path, option: str
) -> None:
    study = write_study(tmp_path)
    said = archloom("run", study, "--out", "run", option, "no/such/file", cwd=tmp_path)
    assert said.returncode == 2
    assert "no/such/file: cannot be written: No such file or directory" in said.stderr
    assert "Traceback" not in said.stderr
    assert not (tmp_path / "run").exists()
