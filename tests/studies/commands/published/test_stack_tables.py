"""Tables of stack studies: rows from a stored record, files, pictures and mistakes."""

import gzip
import json

import pytest
from click.testing import CliRunner

from archloom.studies.analysis.stack import judge
from archloom.studies.commands.cli import app
from archloom.studies.commands.published.tables import markdown
from archloom.studies.engine.interrupt import Stopped
from archloom.studies.engine.progress import SILENT
from archloom.studies.errors import UserError
from archloom.studies.rendering.papers.stack_bars import stack_bars
from archloom.studies.solve import stack
from archloom.studies.solve.papers import (
    Results,
    Studies,
    beside,
    measured,
    own_tables,
    read_results,
    read_table,
    results_text,
)
from archloom.studies.solve.stack import load_stack

from ....source_tree import ROOT

RECORD = ROOT / "docs" / "validation" / "stack_digits.json.gz"

STUDY = """\
kind: stack
models: [vgg16, resnet18]
epochs: 1
"""

TABLE = """\
kind: stack
title: Claims
study: mine.yaml
changes: {seeds: 1, executor: inline}
published:
  - {value: 0.5, observation: VII, source: Table 3}
"""


def written(folder, text=TABLE, study=STUDY):
    (folder / "mine.yaml").write_text(study)
    path = folder / "claims.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def record():
    return json.loads(gzip.decompress(RECORD.read_bytes()))


@pytest.fixture
def asked():
    """Studies that a table wanted to have run: config and directory."""
    return []


@pytest.fixture
def studies(record, asked, tmp_path):
    def run(config, folder):
        asked.append((config, folder))
        return record

    return Studies(tmp_path / "studies", None, run)


def test_rows_are_the_claims_with_the_verdicts_of_the_study(record, studies, asked, tmp_path):
    table = read_table(written(tmp_path))
    rows = list(measured(table, SILENT, studies=studies))
    ((config, folder),) = asked
    assert (config.models, config.seeds, config.executor.name) == (
        ("vgg16", "resnet18"), 1, "inline",
    )  # fmt: skip
    assert folder.parent == tmp_path / "studies"
    found = judge(record)
    parts = [part for finding in found for part in finding.parts]
    judged = [row for row in rows if row.unit]
    assert [(row.claim, row.verdict) for row in judged] == [
        (part.claim, str(part.verdict)) for part in parts
    ]
    for row, part in zip(judged, parts, strict=True):
        assert row.figures.get("value") == part.value
        assert bool(row.infeasible) is (part.value is None)
        if row.interval:
            assert row.interval == part.interval
    # observations about other machines have a row that says why
    others = {row.observation: row.infeasible for row in rows if not row.unit}
    assert others.keys() == {"VIII", "XIII"}
    assert "no GPU kernels" in others["VIII"][0]
    assert beside(rows, table.published[0]) == 1


def test_rows_that_are_known_are_not_measured_again(studies, asked, tmp_path):
    table = read_table(written(tmp_path))
    rows = list(measured(table, SILENT, studies=studies))
    assert list(measured(table, SILENT, rows, studies=studies)) == rows
    assert len(asked) == 1
    # a run that was stopped has some of them
    assert list(measured(table, SILENT, rows[:-1], studies=studies)) == rows
    assert len(asked) == 2
    assert list(measured(table, SILENT, sets=1, studies=studies))
    assert asked[-1][0].models == ("vgg16",)


def test_results_can_be_read_again_and_by_people(studies, tmp_path):
    table = read_table(written(tmp_path))
    rows = tuple(measured(table, SILENT, studies=studies))
    results = Results("0", table, None, rows)
    (tmp_path / "claims.json").write_text(results_text(results))
    assert read_results(tmp_path / "claims.json").rows == rows
    text = markdown("claims", results)
    assert "| VII | for tuned dense models, spatial pack is the fastest | holds | share of" in text
    assert "Not judged: observation VIII cannot be checked" in text
    assert "| figure, observation VII | 0.50 | 1.00 | 2.00 | Table 3 |  |" in text
    bars = stack_bars("Claims", rows).axes[0]
    names = [label.get_text().replace("\n", " ") for label in bars.get_yticklabels()]
    shares = [row for row in rows if row.share is not None]
    assert names == [f"{row.observation} {row.claim}" for row in shares]
    assert [bar.get_width() for bar in bars.patches] == pytest.approx(
        [100 * row.share for row in shares]
    )


def test_the_command_stops_and_goes_on_like_a_study(record, tmp_path, monkeypatch):
    runs = []

    class Study:
        def __init__(self, *asked):
            _, folder, _, check = asked
            runs.append((folder, (folder / "stack.json").is_file()))
            self.check = check

        def run(self):
            if len(runs) == 1:
                raise Stopped
            self.check()
            return record

    monkeypatch.setattr(stack, "StackStudy", Study)
    path = written(tmp_path)
    for code in (130, 0, 0):
        words = ["reproduce", str(path), "--out", str(tmp_path / "out")]
        assert CliRunner().invoke(app, words).exit_code == code
    # the third time all rows are there
    assert runs == [(tmp_path / "out" / "claims-studies" / "study", True)] * 2
    assert (tmp_path / "out" / "claims.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("study: mine.yaml", "study: yours.yaml", "study: 'yours.yaml' is no study file beside"),
        ("seeds: 1", "seeds: none", "changes.seeds: "),
        ("seeds: 1", "threads: 4096", "changes.threads: 4096 must be at most"),
        ("observation: VII", "observation: XIV", "published[0].observation: 'XIV' is unknown"),
        ("changes: {", "changes: {models: [resnet81], ", "changes.models[0]: "),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, part):
    assert old in TABLE
    with pytest.raises(UserError) as caught:
        read_table(written(tmp_path, TABLE.replace(old, new, 1)))
    assert part in str(caught.value)


def test_the_table_that_comes_along_is_the_example():
    table = read_table(own_tables()["dlas_digits"])
    example = load_stack(ROOT / "examples" / "stack_digits.yaml")
    assert table.config("study").identity == example.identity
