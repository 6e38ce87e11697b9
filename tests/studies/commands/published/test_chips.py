"""``archloom validate`` with chip files, with names, and with ``--all``: output and exit codes."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from archloom.studies.analysis.published_chips import Chapter, Figure
from archloom.studies.analysis.published_chips.catalogue import PAGE, built_in
from archloom.studies.commands.cli import app
from archloom.studies.commands.published import chips
from archloom.studies.commands.published.all_chips import Counts, as_chapter, explanation

from ....source_tree import ROOT

CASES = ROOT / "tests" / "data" / "timeloop_cases.jsonl"
CONV4 = {"m": 64, "n": 4, "e": 13, "p": 16, "q": 3, "r": 2, "t": 2}
CHIP: dict[str, Any] = {
    "title": "My [chip]",
    "about": "Measured on a bench.",
    "source": "a bench",
    "hardware": {"name": "eyeriss", "change": {"levels.glb.bandwidth_words": 8}},
    "network": {"network": "alexnet_original", "batch": 4},
    "switches": {"wide": {"levels.glb.bandwidth_words": 26}},
    "layers": {
        "conv4": {"latency_ms": 16, "reason": "a | b", "mapping": CONV4},
        "conv5": {"layers": "conv4", "glb_mb": {"measured": 37.4, "allowed": "none"}},
    },
}


def validate(*words: object) -> Result:
    return CliRunner().invoke(app, ["validate", *map(str, words)])


@pytest.fixture
def chip(tmp_path: Path) -> Path:
    path = tmp_path / "chip.yaml"
    path.write_text(yaml.safe_dump(CHIP, sort_keys=False))
    return path


def outside(chip: Path) -> None:
    """Let the measured time of a file be far from the model's."""
    text = chip.read_text()
    assert "latency_ms: 16" in text
    chip.write_text(text.replace("latency_ms: 16", "latency_ms: 160"))


def test_the_table_has_every_figure_and_says_what_was_run(chip: Path) -> None:
    done = validate(chip)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].strip() == "My [chip]"
    heads = [cell.strip() for cell in lines[2].split("┃")[1:-1]]
    assert heads == ["figure", "archloom", "measured", "ratio", "wide", "allowed", "reason"]
    (row,) = (line for line in lines if "conv4, latency" in line)
    cells = [cell.strip() for cell in row.split("│")[1:-1]]
    assert cells == ["conv4, latency, ms", "14.91", "16", "0.932", "0.932", "0.8 to 1.25", "a | b"]
    text = " ".join(done.stdout.split())
    assert "Changed values of the hardware: levels.glb.bandwidth_words: 8 (26 in the temp" in text
    assert "Column wide is the ratio with levels.glb.bandwidth_words: 26 (as in the templ" in text
    assert "The allowed range is 0.8 to 1.25 where the file gives none." in text
    assert text.endswith("2 figures, 1 checked: 1 within the allowed range, 0 outside")


def test_a_ratio_outside_its_range_is_marked_and_gives_exit_code_1(chip: Path) -> None:
    outside(chip)
    done = validate(chip)
    assert done.exit_code == 1
    assert "0.093 !" in done.stdout
    assert "1 checked: 0 within the allowed range, 1 outside" in done.stdout
    assert validate(chip, "--json").exit_code == 1
    assert validate(chip, "--markdown").exit_code == 1


def test_a_faulty_file_gives_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "chip.yml"
    path.write_text("source: me\nhardware: eyris\nnetwork: vgg61\nlayers: {a: {b: 1}}\n")
    done = validate(path)
    assert done.exit_code == 1  # click's runner; main() makes it 2
    assert str(done.exception).startswith(f"{path}: 3 errors\n  line 2: hardware: eyris: no such")
    assert getattr(done.exception, "exit_code", None) == 2
    assert done.stdout == ""


def test_json_has_all_that_the_table_has(chip: Path) -> None:
    (found,) = json.loads(validate(chip, "--json").stdout)
    assert found["title"] == "My [chip]"
    assert len(found["run"]) == 5
    time, traffic = found["figures"]
    assert (time["name"], time["theirs"], time["band"]) == ("conv4, latency, ms", 16, [0.8, 1.25])
    assert time["ratio"] == time["ours"] / 16
    assert time["switches"] == {"wide": time["ours"]}
    assert (traffic["band"], traffic["holds"], traffic["source"]) == (None, True, "a bench")


def test_markdown_is_a_page(chip: Path) -> None:
    text = validate(chip, "--markdown").stdout
    lines = text.splitlines()
    assert lines[:3] == ["# My [chip]", "", "Measured on a bench."]
    assert "The hardware is `eyeriss`, at 200 MHz with energies of table `eyeriss_65nm`." in text
    rows = [line for line in lines if line.startswith("|")]
    assert rows[0] == (
        "| figure | archloom | measured | ratio | wide | allowed | source | reason |"
    )
    assert rows[1].count("---|") == 8
    assert rows[2].endswith(" | a bench | a \\| b |")
    assert len(rows) == 4


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_has_a_point_for_every_figure(chip: Path, tmp_path: Path, ending: str) -> None:
    outside(chip)
    picture = tmp_path / f"ratios.{ending}"
    done = validate(chip, "--plot", picture)
    # a long path is folded
    assert f"wrote{picture}:ratioswiththeirallowedranges" in "".join(done.stderr.split())
    if ending == "png":
        assert picture.read_bytes().startswith(b"\x89PNG")
        return
    text = picture.read_text()
    for shown in ("My [chip]", "conv4, latency, ms", "conv5, glb traffic, MB", "wide", "outside"):
        assert shown in text
    again = tmp_path / "again.svg"
    validate(chip, "--plot", again)
    assert again.read_text() == text


def test_a_chip_of_the_catalogue_is_known_by_its_name() -> None:
    done = validate("eyeriss_alexnet", "--json")
    assert done.exit_code == 0
    (found,) = json.loads(done.stdout)
    assert found["title"] == "Eyeriss on AlexNet"
    assert validate("scnn").exit_code == 0


def test_chips_are_on_the_page_or_have_one_of_their_own() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "validation").glob("*.md")}
    assert set(built_in()) - set(PAGE) <= pages
    assert set(PAGE) <= set(built_in())


def test_one_table_of_all_has_the_worst_first(monkeypatch: pytest.MonkeyPatch, chip: Path) -> None:
    made = tuple(
        Figure(name, ratio, 1.0, "s", band, "r")
        for name, ratio, band in (
            ("near", 1.1, (0.9, 1.2)),
            ("half", 0.5, None),
            ("outside", 1.3, (0.9, 1.2)),
            ("thrice", 3.0, (0.9, 4.0)),
            ("nothing", 0.0, None),
        )
    )
    known = {"mine": lambda _: Chapter("Mine", "", made), "other": lambda _: Chapter("O", "", ())}
    monkeypatch.setattr(chips, "built_in", lambda: known)
    done = validate("--all")
    assert done.exit_code == 1
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("Mine ")]
    assert [row[1] for row in rows] == ["outside", "nothing", "thrice", "half", "near"]
    assert rows[0][-1] == "!"
    said = (
        "5 figures, 3 checked, 1 outside the allowed range; without a range and more than 25% off: "
        "2, 0 explained by a switch, 2 not"
    )
    printed = " ".join(done.stdout.split())
    assert f"Mine: {said}" in printed
    assert f"All: {said}" in printed
    titles = [c["title"] for c in json.loads(validate("--all", "--json").stdout)]
    assert titles == ["Mine", "O"]
    titles = [c["title"] for c in json.loads(validate("--all", "--json", chip).stdout)]
    assert titles == ["My [chip]", "Mine", "O"]
    titles = [c["title"] for c in json.loads(validate("--all", "--json", CASES).stdout)]
    assert titles == ["Recorded cases, timeloop_cases.jsonl", "Mine", "O"]


def test_the_switch_that_explains_most_is_named() -> None:
    """The whole table is in ``tests/studies/analysis/published_chips/test_chapters.py``."""

    def of(ratio: float, **switched: float) -> str:
        return explanation(Figure("x", 2 * ratio, 2.0, "s", None, "r", switched))

    assert of(0.9) == ""
    assert of(0.5) == "not explained"
    assert of(0.5, worse=0.8, same=1.0) == "not explained"
    assert of(0.5, better=1.4) == "0.700: better; not explained"
    assert of(0.5, near=2.2, far=3.2, other=1.0) == "1.100: near"
    # twice too fast is as far as half as fast
    assert of(0.5, fast=4.1, slow=0.9) == "not explained"


def test_figures_are_counted_by_what_explains_them() -> None:
    def made(ratio: float, effect_of: str = "", **switched: float) -> Figure:
        return Figure("x", ratio, 1.0, "s", None, "r", switched, effect_of)

    checked = Figure("x", 3.0, 1.0, "s", (0.9, 1.2), "r")
    counts = Counts.of(
        [
            checked,
            made(0.8),
            made(1.25),
            # explained, although another switch makes it worse
            made(1.26, better=1.0, worse=2.0),
            made(0.5, in_part=0.7),
            # shows a switch of another
            made(0.5, effect_of="y"),
        ]
    )
    assert counts == Counts(figures=6, checked=1, outside=1, far=2, explained=1)


def test_recorded_cases_are_three_figures(tmp_path: Path) -> None:
    """Of 65 cases, two have records that are marked as inexact."""
    found = as_chapter(CASES).figures
    assert [(f.ours, f.theirs) for f in found] == [(63, 65), (63, 65), (65, 65)]
    assert all(f.holds and f.reason == "2 records are marked as inexact" for f in found)
    records = [json.loads(line) for line in CASES.read_text().splitlines()][:2]
    records[0]["result"]["cycles"] += 9
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    assert [f.holds for f in as_chapter(path).figures] == [True, True, False]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--json", "--markdown"), "--json and --markdown exclude each other; use one of them"),
        (("--all", "--markdown"), "--all and --markdown exclude each other; use one of them"),
        ((CASES, "--markdown"), "--markdown is for chips; "),
        ((CASES, "--plot", "x.png"), "--plot is for chips; "),
        (("--plot", "x.pdf"), "--plot x.pdf: must end in .png or .svg"),
        (("eyris_alexnet",), "eyris_alexnet: no such file or chip; did you mean eyeriss_alexnet"),
        (("--all", "no/my.yaml"), "no/my.yaml: cannot be read: No such file or directory"),
    ],
)
def test_mistakes_on_the_command_line(words: tuple[object, ...], message: str) -> None:
    done = validate(*words)
    assert message in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2


def test_a_file_that_is_not_there_is_told_with_those_beside_it(chip: Path) -> None:
    done = validate(chip.with_name("chp.yaml"))
    assert str(done.exception).endswith("chp.yaml: no such file or chip; did you mean chip.yaml?")


@pytest.mark.parametrize("every", [False, True])
def test_a_narrow_terminal_shows_every_ratio(
    monkeypatch: pytest.MonkeyPatch, chip: Path, every: bool
) -> None:
    monkeypatch.setattr(chips, "built_in", dict)
    shown = StringIO()
    console = Console(file=shown, width=80, force_terminal=True, no_color=True)
    compare = chips.compare_all if every else chips.compare_chips
    assert compare(chip, chips.Shown(False, False, None), console)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    assert "…" not in text
    assert text.count("0.932") == (1 if every else 2)
    assert max(map(len, text.splitlines())) <= 80
