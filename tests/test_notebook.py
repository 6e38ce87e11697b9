"""``examples/notebook.ipynb``: it runs from top to bottom and shows something everywhere."""

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest

from .source_tree import ROOT

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The cells of code, after they ran in a folder of their own."""
    import nbformat
    from nbclient import NotebookClient

    read = nbformat.read(NOTEBOOK, 4)
    assert all(not cell.get("outputs") for cell in read.cells), "is kept without its outputs"
    folder = tmp_path_factory.mktemp("notebook")
    with warnings.catch_warnings():
        # of zmq and tornado, about the loop that they run in
        warnings.simplefilter("ignore")
        client = NotebookClient(read, timeout=300, kernel_name="python3", resources={
            "metadata": {"path": str(folder)}
        })  # fmt: skip
        done = asyncio.run(client.async_execute())
    assert (folder / "runs" / "notebook" / "trials.jsonl").exists()
    return [cell for cell in done.cells if cell.cell_type == "code"]


def test_nothing_fails_or_warns(cells: list[Any]) -> None:
    outputs = [out for cell in cells for out in cell.outputs]
    assert [out for out in outputs if out.output_type == "error"] == []
    assert [out.text for out in outputs if out.get("name") == "stderr"] == []


def test_values_show_themselves_as_tables(cells: list[Any]) -> None:
    shown = {
        cell.source.splitlines()[-1]: out["data"]
        for cell in cells
        for out in cell.outputs
        if out.output_type == "execute_result" or out.output_type == "display_data"
    }
    for value in ("study", "study.front()", "design", "network", "schedule", "mapping"):
        assert "<strong>" in shown[value]["text/html"]
        assert shown[value]["text/plain"].startswith("<archloom.")
    for plot in ("study.plot_front()", "study.plot_hypervolume()", "study.plot_parallel()"):
        assert "application/vnd.plotly.v1+json" in shown[plot]


def test_trials_are_told_and_mistakes_are_messages(cells: list[Any]) -> None:
    texts = ["".join(out.get("text", "") for out in cell.outputs) for cell in cells]
    told = next(text for text in texts if text.startswith("trial 0"))
    assert told.count("\n") == 8
    assert "did you mean resnet18" in texts[-1]


def test_the_repository_keeps_no_path_of_a_machine() -> None:
    assert str(Path.home()) not in NOTEBOOK.read_text()
