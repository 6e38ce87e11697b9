"""Studies in a database come to the same bytes, whatever happens to the server or to a driver."""

import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.config.location import Location, location_of
from archloom.studies.storage.copying import copy_study
from archloom.studies.storage.parts import (
    BASELINE_FILE,
    CERTIFICATE,
    JOURNAL,
    TRIALS,
    VALIDATION,
)
from archloom.studies.storage.reading import read_part

from ...cases.postgres import ESCAPED, PASSWORD, Server
from ...cases.studies import TINY, begin, run_here, tiny_config, write_study
from ...cases.sweeps import sweep

#: some 40 pieces of work, each of a few milliseconds, and a network that is held out
LONG = TINY.replace("trials: 10", "trials: 12") + (
    "validation: {workloads: [tiny_mlp], evaluations: 3}\n"
)
RESULTS = (TRIALS, BASELINE_FILE, CERTIFICATE, VALIDATION)


def results(location: Location) -> dict[str, bytes | None]:
    return {name: read_part(location, name) for name in RESULTS}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study in a directory."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run_here(tiny_config(folder, LONG), folder / "run")
    assert None not in results(folder / "run").values()
    return folder / "run"


@pytest.fixture
def url(postgres: Server) -> Iterator[str]:
    yield f"{postgres.url}#tiny"
    # tests may fail while it is not there
    postgres.go_on()


def said(*arguments: str | Path, code: int = 0) -> str:
    """Run the command line in this process; return its output and its message."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, f"{arguments}: {done.output} {done.exception!r}"
    return f"{done.output}{done.exception or ''}"


def lines(server: Server) -> int:
    if server.sql("SELECT to_regclass('archloom_parts')") == [(None,)]:
        return 0
    return int(server.sql("SELECT count(*) FROM archloom_parts WHERE name = %s", JOURNAL)[0][0])


def until(process: "subprocess.Popen[str]", server: Server, count: int) -> None:
    """Wait until the journal has some lines; the study must not have ended by then."""
    while lines(server) < count:
        assert process.poll() is None, process.communicate()
        sleep(0.02)


def test_half_a_study_goes_on_elsewhere(tmp_path: Path, undisturbed: Path, url: str) -> None:
    """From a directory to the database, and on from there to another directory."""
    half, whole = tmp_path / "half", tmp_path / "whole"
    copy_study(undisturbed, half)
    journal = (half / JOURNAL).read_bytes()
    (half / JOURNAL).write_bytes(journal[: len(journal) // 2])
    assert "verified" in said("copy", half, url)
    before = read_part(location_of(url), JOURNAL)
    assert "resumed" in said("resume", url)
    assert (read_part(location_of(url), JOURNAL) or b"").startswith(before or b"-")
    assert results(location_of(url)) == results(undisturbed)
    said("copy", url, whole)
    said("resume", whole)
    assert results(whole) == results(undisturbed)


def test_commands_read_both_alike(tmp_path: Path, undisturbed: Path, url: str) -> None:
    said("copy", undisturbed, url.partition("#")[0] + "#run")
    there = url.replace("#tiny", "#run")
    for words in (["pareto", "--json"], ["pareto", "--csv"], ["show", "3"], ["show", "baseline"]):
        command, *rest = words
        assert said(command, there, *rest) == said(command, undisturbed, *rest)
    assert "trials: 12 of 12 done" in said("status", there)
    assert "has no directory; give one for the report with --out" in said("report", there, code=1)
    said("report", there, "--out", tmp_path / "pages" / "report")
    assert (tmp_path / "pages" / "report" / "report.html").stat().st_size > 1000
    found = said("compare", there, undisturbed, code=1)
    assert "another study with the same settings and seed is given as well" in found
    assert "is there already" in said("copy", undisturbed, there, code=1)
    assert "no such study; start one with 'archloom run'; did you mean run" in said(
        "status", url.replace("#tiny", "#rum"), code=1
    )


@pytest.mark.parametrize("often", sweep((2, 6), 1))
def test_server_and_driver_are_killed_and_nothing_changes(
    tmp_path: Path, undisturbed: Path, url: str, postgres: Server, often: int
) -> None:
    study, rng = write_study(tmp_path, LONG), random.Random(0)
    for i in range(often):
        process = begin("run", study, "--out", url, cwd=tmp_path)
        until(process, postgres, lines(postgres) + rng.randrange(3, 30 // often))
        if i % 2 == 0:
            process.kill()
            process.communicate()
        else:
            postgres.kill()
            sleep(rng.uniform(0.1, 1.0))
            postgres.start()
            output, _ = process.communicate()
            assert process.returncode == 0, output
            assert "Traceback" not in output
    said("resume", url)
    assert results(location_of(url)) == results(undisturbed)


def test_two_drivers_at_once(tmp_path: Path, undisturbed: Path, url: str, postgres: Server) -> None:
    study = write_study(tmp_path, LONG)
    first = begin("run", study, "--out", url, cwd=tmp_path)
    until(first, postgres, 3)
    # so that it does not end before the other one comes
    first.send_signal(signal.SIGSTOP)
    refused = said("run", study, "--out", url, code=1)
    assert f"process {first.pid} of" in refused
    assert "is writing to this study" in refused
    assert f"process {first.pid} on" in said("status", url)
    # it stands still for so long that another one may have the study
    postgres.sql("UPDATE archloom_studies SET expires = clock_timestamp()")
    said("resume", url)
    first.send_signal(signal.SIGCONT)
    output, _ = first.communicate()
    assert first.returncode == 4, output
    assert "has taken the study over" in output
    assert f"resume with: archloom resume '{url}'" in output
    assert "Traceback" not in output
    assert results(location_of(url)) == results(undisturbed)


def test_no_password_is_written_or_said(tmp_path: Path, postgres: Server) -> None:
    study = write_study(tmp_path, f"{TINY}storage: {postgres.tcp_url}\n")
    place = postgres.tcp_url + "#tiny"
    talk = [
        begin("run", study, cwd=tmp_path).communicate()[0],
        said("doctor", study),
        said("run", study, "--log", tmp_path / "log.jsonl", "--metrics", tmp_path / "metrics.prom"),
        said("resume", place),
        said("status", place),
        said("status", place, "--json"),
        said("copy", place, tmp_path / "copy"),
        said("report", place, "--out", tmp_path / "report"),
        said("report", place, code=1),
        said("run", place, code=1),
        said("resume", f"{place}x", code=1),
        said("copy", tmp_path / "copy", place, code=1),
    ]
    wrong = place.replace(ESCAPED, "other%2Fwrong")
    talk += [said("status", wrong, code=1), said("run", study, "--out", wrong, code=1)]
    assert "password authentication failed" in talk[-1]
    away = place.replace(str(postgres.port), "1")
    talk += [said("status", away, code=1), said("doctor", study, "--out", away, code=1)]
    bad = write_study(tmp_path, f"{TINY}storage: {postgres.tcp_url}#other\n")
    talk += [said("run", bad, code=1), said("status", f"x{place}", code=1)]
    tables = str(postgres.sql("SELECT convert_from(content, 'UTF8') FROM archloom_parts"))
    tables += str(postgres.sql("SELECT * FROM archloom_studies"))
    kinds = (".json", ".jsonl", ".html", ".prom", ".yaml")
    written = [p for p in tmp_path.rglob("*") if p.suffix in kinds and p.name != "tiny.yaml"]
    assert {p.name for p in written} >= {"study.yaml", "log.jsonl", "metrics.prom", "report.html"}
    kept = "".join(p.read_text() for p in written)
    for secret in (PASSWORD, ESCAPED, "s3cret", "other/wrong", "other%2Fwrong"):
        assert [text for text in talk if secret in text] == []
        assert secret not in tables
        assert secret not in kept
    # and yet it was used: the server asks for it
    assert "trials: 10 of 10 done" in talk[4]
    assert f"postgresql://archloom@127.0.0.1:{postgres.port}/postgres#tiny" in talk[0]
