"""Pictures of ``archloom map``: what is on them."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from archloom.search.mapping.exact.search import prove
from archloom.studies.commands.map.cases import Sought, read_tasks
from archloom.studies.rendering.pictures.mapping import PANELS, draw_convergence, draw_fronts
from archloom.studies.solve.mapping import MappingEffort, MappingProgress, Solution, solve
from archloom.studies.solve.mapping_front import FrontFound, find_front

from ...commands.test_map import CONV, FILE, TINY, run

__all__ = ["run"]


def task_of(case: str):
    (task,) = read_tasks(FILE, Sought(), case)
    return task


def texts(path: Path) -> str:
    """Return the texts of an SVG, which matplotlib writes as comments beside their glyphs."""
    return path.read_text()


def test_the_front_has_the_optima_of_all_objectives() -> None:
    problem = task_of(CONV["id"]).problem
    front = find_front(problem, MappingEffort("exact"))
    assert front.proven
    assert len(front.points) > 1
    cycles, energies = zip(*front.points, strict=True)
    assert list(cycles) == sorted(cycles, reverse=True)
    assert list(energies) == sorted(energies)
    for weights, least in (
        ((1.0, 0.0), energies[0]),
        ((0.0, 1.0), cycles[-1]),
        ((1.0, 1.0), front.least_edp[0] * front.least_edp[1]),
    ):
        best = prove(replace(problem, weights=weights), 10**9).best
        whole = best.energy_pj + problem.setup.leakage_pj * best.cycles
        assert whole ** weights[0] * best.cycles ** weights[1] == pytest.approx(least)
    for seen in front.seen:
        assert any(p[0] <= seen[0] and p[1] <= seen[1] * (1 + 1e-12) for p in front.points)


def test_a_search_is_drawn(tmp_path: Path) -> None:
    found = [(case, solve(task_of(case).problem, MappingEffort("exact"))) for case in
             (CONV["id"], TINY[0]["id"])]  # fmt: skip
    for name in ("a.svg", "a.png"):
        draw_convergence(found, "edp", tmp_path / name)
    text = texts(tmp_path / "a.svg")
    for expected in ("best mapping so far", "lower bound", "CPU time (s)", CONV["id"], "2.7823e14"):
        assert expected in text
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


ONE = MappingProgress(0.0, 1, 5.0, 0.0)


@pytest.mark.parametrize(
    "curve",
    [
        (ONE,),
        (ONE, replace(ONE, cpu_s=1.0)),
        (ONE, replace(ONE, cpu_s=1.0, bound=5.0)),
        (
            replace(ONE, objective=inf),
            ONE,
            MappingProgress(2.0, 9, 1.0, 0.5),
            MappingProgress(3.0, 10, 1.0, 1.0),
        ),
    ],
)
def test_short_curves_are_drawn(curve: tuple[MappingProgress, ...], tmp_path: Path) -> None:
    solution = Solution(None, 1.0, 1.0, curve[-1].objective, inf, 10, 1.0, curve)
    draw_convergence([("short", solution)] * 2, "energy", tmp_path / "short.svg")
    assert "not proven" in texts(tmp_path / "short.svg")


@pytest.mark.parametrize("points", [(), ((4.0, 2.0),), ((4.0, 2.0), (2.0, 3.0))])
def test_fronts_of_few_points_are_drawn(points, tmp_path: Path) -> None:
    found = FrontFound(points, ((4.0, 2.5), (400.0, 1000.0)), bool(points), 0.1, False)
    draw_fronts([("few", found)], tmp_path / "few.svg")
    text = texts(tmp_path / "few.svg")
    assert ("no point of the front was proven" in text) == (points == ())
    assert ("lowest EDP" in text) == (points != ())


def test_the_command_draws_both(run, tmp_path: Path) -> None:
    plot, front = tmp_path / "plot.png", tmp_path / "front.svg"
    code, out, err = run([CONV], "--plot", str(plot), "--front", str(front), "--json")
    assert code == 0
    assert out.count("\n") == 1
    assert "wrote plot.png: progress of the search" in " ".join(err.split())
    assert "front.svg: Pareto front of energy and latency" in " ".join(err.split())
    assert plot.stat().st_size > 5000
    assert "Pareto front" in texts(front)


def test_of_many_problems_a_few_are_drawn(run, tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    records = [{**r, "id": f"case {i}"} for i, r in enumerate(TINY)]
    code, _, err = run(records, "--plot", str(plot), "--search", "random", "--evaluations", "50")
    assert code == 0
    assert f"the {PANELS} of " in " ".join(err.split())
