"""``archloom evaluate`` on published runs of Timeloop, and what its users do wrong."""

import json
import re
from pathlib import Path

import pytest

from archloom.studies.commands.cli import main

from ...cases import timeloop_designs, timeloop_runs
from ...cases.timeloop_runs import TILED, Run

#: Timeloop prints energies with two digits
ROUNDING = 0.005001

RUNS = {
    name: run
    for module in (timeloop_runs, timeloop_designs)
    for name, run in vars(module).items()
    if isinstance(run, Run)
}
AGREE = [name for name in RUNS if name != "FORGETS"]
COUNTS = ("tile_words", "reads_per_instance", "fills_per_instance", "updates_per_instance")


class Here:
    """The command line, run in a folder that holds the files of a run."""

    def __init__(self, folder: Path, monkeypatch, capsys):
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys

    def write(self, run: Run, **changes: str) -> None:
        parts = {"arch": run.arch, "problem": run.problem, "mapping": run.mapping, "ert": run.ert}
        for name, text in (parts | changes).items():
            (self.folder / f"{name}.yaml").write_text(text)

    def call(self, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code and what was printed; a crash would be an error of the test."""
        self.monkeypatch.chdir(self.folder)
        self.monkeypatch.setattr("sys.argv", ["archloom", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    def evaluate(self, *more: str, ert: bool = True) -> tuple[int, str, str]:
        named = ["--arch", "arch.yaml", "--problem", "problem.yaml", "--mapping", "mapping.yaml"]
        return self.call("evaluate", *named, *(["--ert", "ert.yaml"] if ert else []), *more)

    def refused(self, *more: str, ert: bool = True) -> str:
        """Return the message of a mistake."""
        code, out, err = self.evaluate(*more, ert=ert)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert "Traceback" not in err
        return err


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    return Here(tmp_path, monkeypatch, capsys)


def evaluated(here: Here, run: Run, *more: str, ert: bool = True):
    here.write(run)
    code, out, _ = here.evaluate("--json", *more, ert=ert)
    assert code == 0
    return json.loads(out.splitlines()[-1])


def words(level) -> dict[str, tuple[int, ...]]:
    return {
        tensor: tuple(kept[key] for key in COUNTS)
        for tensor, kept in level["tensors"].items()
        if kept["tile_words"]
    }


@pytest.mark.parametrize("name", AGREE)
def test_every_word_of_a_published_run(here, name):
    run, levels = RUNS[name], {}
    for level in evaluated(here, run)["levels"]:
        levels[level["name"]] = words(level)
        assert level["used_instances"] == run.used.get(level["name"], level["used_instances"])
    recorded = {v: {t: row[:4] for t, row in rows.items()} for v, rows in run.rows.items()}
    # fan-outs may be levels that hold nothing
    assert {v: kept for v, kept in levels.items() if kept} == recorded


@pytest.mark.parametrize("name", AGREE)
def test_energy_and_cycles_of_a_published_run(here, name):
    run, data = RUNS[name], evaluated(here, RUNS[name])
    assert data["cycles"] == run.cycles
    assert data["technology"] is None
    assert data["mac_energy_pj"] == pytest.approx(run.multipliers_pj, abs=ROUNDING)
    expected = run.multipliers_pj + sum(run.leaked_pj.values())
    for level in data["levels"]:
        leaked = run.leaked_pj.get(level["name"], 0.0)
        assert level["leakage_pj"] == pytest.approx(leaked, abs=ROUNDING)
        for tensor, kept in level["tensors"].items():
            energy = run.rows.get(level["name"], {}).get(tensor, (0,) * 5)[4]
            assert kept["energy_pj"] == pytest.approx(energy, abs=ROUNDING), tensor
            expected += energy
    digits = ROUNDING * (1 + len(run.leaked_pj) + sum(map(len, run.rows.values())))
    assert data["energy_pj"] == pytest.approx(expected, abs=digits)
    # two digits say that much of a run of some thousand steps, less of a short one
    assert digits < expected * (1e-6 if expected > 50_000 else 3e-4)


def test_timeloop_forgets_a_window_that_stood_still(here):
    """Where a loop over filters runs inside one over rows, Timeloop fetches whole windows.

    docs/reference/timeloop.md says so; all else is equal.
    """
    run = RUNS["FORGETS"]
    data = evaluated(here, run)
    levels = {level["name"]: words(level) for level in data["levels"] if words(level)}
    recorded = {v: {t: row[:4] for t, row in rows.items()} for v, rows in run.rows.items()}
    tile = 29 * 113 * 3  # 14 rows of 56 results, stride 2, 3 channels
    assert recorded["shared"]["Inputs"] == (tile, 1354752, 8 * 2 * tile, 0)
    moved = 8 * (tile + 29 * (113 - 1) * 3)
    recorded["shared"]["Inputs"] = (tile, 1354752, moved, 0)
    recorded["dram"]["Inputs"] = (151875, moved, 0, 0)
    assert levels == recorded
    assert data["cycles"] == run.cycles


def test_json_adds_up(here):
    for ert in (True, False):
        data = evaluated(here, TILED, ert=ert)
        parts = [data["mac_energy_pj"], data["leakage_pj"]]
        parts += [level["leakage_pj"] for level in data["levels"]]
        parts += [k["energy_pj"] for level in data["levels"] for k in level["tensors"].values()]
        assert sum(parts) == pytest.approx(data["energy_pj"], rel=1e-12)
        assert data["edp_pj_cycles"] == data["energy_pj"] * data["cycles"]
        assert data["macs"] == 1536
        assert data["utilisation"] == 1.0
        assert data["technology"] == (None if ert else "cacti_45nm")
    assert evaluated(here, TILED, "--technology", "n7", ert=False)["technology"] == "n7"


def test_ports_that_limit_a_run_are_named(here):
    slow = TILED.arch.replace("memory-width: 64,", "memory-width: 64, shared_bandwidth: 0.125,")
    here.write(TILED, arch=slow)
    data = json.loads(here.evaluate("--json")[1])
    port_words = 96 + 288 + 512  # what the store reads and writes
    assert data["cycles"] == data["levels"][1]["port_cycles"] == port_words * 8
    assert data["compute_cycles"] == 1536
    _, out, _ = here.evaluate()
    assert "limited by the bandwidth of store (computation takes 1,536)" in out


def test_the_table_has_what_timeloop_prints(here):
    here.write(TILED)
    code, out, err = here.evaluate()
    assert (code, err) == (0, "")
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    assert ["store", "1/1", "Filters", "96", "96", "0", "0", "468.68", "6.3%"] in rows
    assert ["Sums", "2", "1,024", "0", "1,536", "1,089.64", "14.6%"] in rows
    assert "latency: 1,536 cycles, utilisation 100.0% of 1 multipliers" in out
    assert "Energies that" not in out
    _, out, _ = here.evaluate(ert=False)
    assert (
        "Energies that the files do not give come from table cacti_45nm: file, store, multipliers."
        in out
    )
    assert "Level store is modelled as LPDDR4." in out


def test_a_narrow_terminal_keeps_every_digit(here):
    from io import StringIO

    from rich.console import Console

    from archloom.studies.commands.map.evaluate import Files, evaluate_files

    here.write(TILED)
    paths = [here.folder / f"{name}.yaml" for name in ("arch", "problem", "mapping", "ert")]
    shown = StringIO()
    files = Files(paths[:1], paths[1], paths[2], paths[3], [], "cacti_45nm")
    evaluate_files(files, False, Console(file=shown, width=30))
    assert "1,717.77" in shown.getvalue()
    assert "…" not in shown.getvalue()


def test_brackets_in_names_are_no_markup(here):
    here.write(TILED, problem=TILED.problem.replace("name: rows", "name: '[/red] rows'"))
    code, out, _ = here.evaluate()
    assert code == 0
    assert "[/red] rows on core" in out


@pytest.mark.parametrize(
    ("part", "old", "new", "message"),
    [
        ("arch", "memory-depth", "memroy-depth", "memroy-depth: is not known; the nearest"),
        ("arch", "depth: 64", "depth: 8", "mapping.yaml: file: needs 11 words, has 8"),
        (
            "arch",
            "class: intmac",
            "class: quantum",
            "quantum is neither a memory nor a compute class",
        ),
        ("arch", "version: 0.3", "version: 0.9", "0.9 is not supported; supported: 0.2, 0.3, 0.4"),
        (
            "arch",
            "architecture:",
            "architectur:",
            "architectur: is not known; the nearest known name is architecture",
        ),
        ("problem", "P: 16", "", "problem.yaml: problem.instance: has no bound of P"),
        ("problem", "[K, P]", "[K, L]", "'L' is not a dimension"),
        ("problem", "R: 3", "R: 0", "bound of R must be 1, 2, 3, ..., got 0"),
        (
            "mapping",
            "K16",
            "K8",
            "factors of K multiply to 16, must multiply to the bound 32 of the problem",
        ),
        ("mapping", "store", "stor", "'stor' is not a memory; did you mean store?"),
        ("mapping", "K2 R3", "K2 R3 X2", "'X' is not a dimension"),
        ("ert", "name: top.store", "name: top.stroe", "has no table for store; did you mean stroe"),
        ("ert", "energy: 0.845", "energy: -1", "must be 0 or more, got -1"),
    ],
)
def test_a_slip_in_a_file_is_named(here, part, old, new, message):
    text = getattr(TILED, part)
    assert old in text
    here.write(TILED, **{part: text.replace(old, new, 1)})
    assert message in here.refused()


@pytest.mark.parametrize("name", ["arch", "problem", "mapping", "ert"])
def test_a_file_that_is_not_there_is_one_fault(here, name):
    here.write(TILED)
    (here.folder / f"{name}.yaml").unlink()
    message = here.refused()
    assert f"{name}.yaml: cannot be read: No such file or directory" in message
    assert "1 thing cannot be evaluated" in message


def test_a_folder_and_junk_are_no_files(here):
    here.write(TILED)
    (here.folder / "ert.yaml").write_bytes(bytes(range(256)))
    assert "ert.yaml: is not UTF-8 text" in here.refused()
    (here.folder / "ert.yaml").unlink()
    (here.folder / "ert.yaml").mkdir()
    assert "ert.yaml: cannot be read: Is a directory" in here.refused()


def test_what_files_say_together_is_told_of_the_file_that_can_change_it(here):
    here.write(TILED, arch=TILED.arch.replace("32 * 1024", "4"))
    wrong = "arch.yaml: store is the outermost memory and must hold all 626 words of the problem"
    assert f"\n  {wrong}, has 32\n" in here.refused()
    # four dimensions that move inputs and results alone, where the model has three
    crowded = TILED.problem
    for old, new in (
        ("[K, R, P]", "[K, R, P, A, B, T]"),
        ("[[R], [P]]", "[[R], [P]], [[A]], [[B]], [[T]]"),
        ("projection: [K, P]", "projection: [K, P, A, B, T]"),
        ("P: 16", "P: 16, A: 2, B: 2, T: 2"),
    ):
        assert old in crowded
        crowded = crowded.replace(old, new)
    here.write(TILED, problem=crowded, mapping=TILED.mapping.replace("K16", "K16 A2 B2 T2"))
    assert "problem.yaml: T indexes Inputs, Outputs; " in here.refused()


def test_all_slips_come_at_once(here):
    here.write(
        TILED, problem=TILED.problem.replace("P: 16", ""), arch=TILED.arch.replace("depth", "dpth")
    )
    message = here.refused()
    assert "arch.yaml: " in message
    assert "problem.yaml: " in message


def test_an_unknown_technology_is_no_fault_of_the_files(here):
    here.write(TILED)
    message = here.refused("--technology", "cacti_54nm")
    assert message.startswith("error: --technology: technology 'cacti_54nm' is not known; did you")
    assert "yaml" not in message


def test_a_technology_without_a_price_says_what_to_give(here):
    here.write(TILED)
    message = here.refused("--technology", "eyeriss_65nm", ert=False)
    assert message.startswith("error: arch.yaml: ")
    assert "in the architecture file this is shared_bandwidth" in message


def test_help_has_an_example(here):
    code, out, _ = here.call("evaluate", "--help")
    assert code == 0
    assert "archloom evaluate --arch arch.yaml" in " ".join(out.split())


def test_options_that_are_missing_are_named(here):
    code, out, err = here.call("evaluate", "--arch", "arch.yaml")
    assert code == 2
    assert "--problem" in err + out
