"""``archloom serve``: what it prints, that it adds up, and what it refuses."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from archloom.evaluators.weaving import Chain
from archloom.search.weaving.serving import RULES
from archloom.studies.commands.cli import app
from archloom.studies.commands.weave.chain_table import chain_record
from archloom.studies.errors import UserError

from ...cases.pages import everything
from ...cases.tenants import opposed

PAIR = ("resnet50", "bert_base:sequence_length=16", "--hardware", "memory_centric")
FEW = ("--requests", "200")


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """Return networks of few layers, as files."""
    return [table(tmp_path, chain) for chain in opposed()]


def table(folder: Path, chain: Chain) -> str:
    path = folder / f"{chain.name}.json"
    path.write_text(json.dumps(chain_record(chain)))
    return str(path)


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["serve", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def record(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(*arguments, "--json"))
    return found


def said(*arguments: str) -> str:
    """Return the message that a mistake gets."""
    done = CliRunner().invoke(app, ["serve", *arguments])
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def test_json_adds_up() -> None:
    found = record(*PAIR, *FEW, "--deadline", "4x", "--shed", "1.3", "--load", "0.9", "--seed", "2")
    networks = found["networks"]
    assert [n["name"] for n in networks] == ["resnet50", "bert_base(sequence_length=16)"]
    for network in networks:
        assert network["finished"] + network["shed"] == network["requests"]
        assert network["shed"] <= network["missed"] <= network["requests"]
        assert network["deadline_ms"] == pytest.approx(4 * network["isolated_ms"], rel=1e-6)
        for rank in ("p50", "p99"):
            ratio = network[f"{rank}_ms"] / network["isolated_ms"]
            assert network[f"{rank}_isolated"] == pytest.approx(ratio)
    assert sum(n["requests"] for n in networks) == found["requests"] == 200
    assert found["missed_share"] == pytest.approx(sum(n["missed"] for n in networks) / 200)
    assert found["shed_share"] == pytest.approx(sum(n["shed"] for n in networks) / 200)
    assert found["shed_share"] > 0
    assert found["goodput_stp"] <= found["goodput_bound_stp"] <= found["offered_stp"] * 1.000001
    assert found["goodput_qps"] == pytest.approx(
        (1 - found["missed_share"]) * 200 / found["horizon_s"]
    )
    assert found["load_one_qps"] == pytest.approx(sum(n["load_one_qps"] for n in networks))
    assert 0 < found["map_peak_bytes"] < found["map_buffer_bytes"]
    assert (found["load"], found["policy"], found["seed"]) == (0.9, "strings + shed 1.3", 2)


def test_the_same_seed_gives_the_same_figures() -> None:
    first, again, other = (record(*PAIR, *FEW, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first["horizon_s"] != other["horizon_s"]


def test_tables_say_who_gets_what() -> None:
    text = shown(*PAIR, *FEW, "--deadline", "3ms", "--stable", "--missed", "0.05")
    for part in (
        "200 requests, arrivals poisson, load 0.7; policy strings", "p99 x isolated", "Goodput",
        "bound for any policy", "Stable load", "at most 5.0% missed deadlines",
    ):  # fmt: skip
        assert part in text
    assert "% shed)" not in text
    assert "% shed)" in shown(*PAIR, *FEW, "--deadline", "1ms", "--shed", "1", "--load", "1")


def test_csv_has_a_line_for_each_request() -> None:
    options = (*PAIR, *FEW, "--deadline", "bert_base=2ms", "--load", "1.1", "--shed", "1.3")
    rows = list(csv.DictReader(io.StringIO(shown(*options, "--csv"))))
    assert len(rows) == 200
    arrivals = [float(row["arrival_s"]) for row in rows]
    assert arrivals == sorted(arrivals)
    kinds = {row["outcome"] for row in rows}
    assert kinds == {"in time", "late", "shed"} or kinds == {"in time", "shed"}
    for row in rows:
        if row["outcome"] == "shed":
            assert row["begun_s"] == row["ended_s"] == ""
        else:
            assert float(row["arrival_s"]) <= float(row["begun_s"]) < float(row["ended_s"])
        assert bool(row["deadline_s"]) == row["network"].startswith("bert")
    found = record(*options)
    missed = sum(row["outcome"] != "in time" for row in rows)
    assert found["missed_share"] == pytest.approx(missed / 200)


@pytest.mark.parametrize("rule", RULES)
def test_every_policy_serves(rule: str, tables: list[str]) -> None:
    common = ("--hardware", "memory_centric", *FEW, "--deadline", "6x")
    found = record(*tables, *common, "--policy", rule, "--slack", "0.2", "--load", "0.6")
    assert found["policy"] == f"{rule} + slack 0.2"
    assert sum(network["finished"] for network in found["networks"]) == 200


def test_shedding_at_arrival_is_another_policy() -> None:
    options = (*PAIR, *FEW, "--deadline", "4x", "--load", "1", "--shed", "1.3")
    start, same, arrival = (
        record(*options, *more) for more in ((), ("--shed-at", "start"), ("--shed-at", "arrival"))
    )
    assert start == same
    assert arrival["policy"] == "strings + shed 1.3 at arrival"
    assert arrival["shed_share"] != start["shed_share"]


def test_arrivals_of_every_kind(tmp_path: Path) -> None:
    bursts = record(*PAIR, *FEW, "--arrivals", "bursts", "--size", "4", "--load", "0.5")
    assert bursts["arrivals"] == "bursts of 4"
    poisson = record(*PAIR, *FEW, "--load", "0.5")
    assert max(n["p99_ms"] for n in bursts["networks"]) > 1.5 * max(
        n["p99_ms"] for n in poisson["networks"]
    )
    single = record(*PAIR, *FEW, "--arrivals", "single")
    assert single["arrivals"] == "single streams"
    assert single["load"] is None
    assert single["requests"] == 200
    batches = record(*PAIR, *FEW, "--arrivals", "batches", "--size", "3")
    assert batches["arrivals"] == "closed loops of batches of 3"
    # with more requests there at a time more are served
    assert batches["goodput_qps"] > single["goodput_qps"]
    trace = tmp_path / "t.csv"
    trace.write_text("network,time_ms\nresnet50, 2\nbert_base,0.5\nresnet50,0\n\n")
    traced = record(*PAIR, "--trace", str(trace))
    assert [n["requests"] for n in traced["networks"]] == [2, 1]
    alone_s = single["networks"][0]["isolated_ms"] / 1e3
    # the last request is alone, but its first fetch hides behind nothing
    assert traced["horizon_s"] == pytest.approx(2e-3 + alone_s, rel=1e-3)


def test_rates_can_be_said_in_requests_a_second_and_by_network() -> None:
    found = record(*PAIR, *FEW, "--qps", "1000", "--share", "resnet50=1", "--share", "bert_base=1")
    first, second = found["networks"]
    assert first["load_one_qps"] == pytest.approx(second["load_one_qps"])
    assert found["load"] == pytest.approx(1000 / found["load_one_qps"])
    assert found["offered_qps"] == pytest.approx(1000, rel=0.2)


def test_networks_are_on_hardware_as_weave_has_them(tables: list[str]) -> None:
    plain = record(*PAIR, *FEW)
    larger = record(*PAIR, *FEW, "--batch", "2")
    assert larger["networks"][0]["isolated_ms"] > 1.5 * plain["networks"][0]["isolated_ms"]
    small = record(*PAIR, *FEW, "--buffer-kib", "6144", "--load", "0.9")
    assert small["goodput_stp"] != record(*PAIR, *FEW, "--load", "0.9")["goodput_stp"]
    sizes = {"pe_x": 8, "pe_y": 8, "l2_kib": 128, "dram_channels": 1, "clock_mhz": 200}
    spads = {"weight_spad_bytes": 256, "input_spad_bytes": 64, "output_spad_bytes": 64}
    point = sizes | spads
    settings = [part for name, value in point.items() for part in ("--set", f"{name}={value}")]
    planned = ("--hardware", "casco_edge", *settings, "--technology", "n7", "--word-bits", "16",
               "--plan", "none", "--evaluations", "1", "--mapping", "local",
               "--mapping-evaluations", "60", "--maps", "unlimited")  # fmt: skip
    found = record("tiny_mlp", tables[0], *planned, *FEW)
    assert [n["name"] for n in found["networks"]] == ["tiny_mlp", "conv"]
    assert found["hardware"].startswith("casco_edge")


def test_maps_that_do_not_fit_are_refused_or_taken_to_fit() -> None:
    many = ("mobilenet_v2", "--hardware", "compute_centric", "--batch", "16", "--requests", "3")
    assert "map_overflow" in said(*many)
    text = shown(*many, "--maps", "unlimited")
    assert "but their buffer holds" in text
    assert "The simulation assumes that they fit" in text


def test_pictures_show_latencies_and_loads(tmp_path: Path, tables: list[str]) -> None:
    common = (*tables, "--hardware", "memory_centric", *FEW, "--deadline", "5x", "--shed", "1")
    for ending in ("png", "svg", "html"):
        shown(*common, "--plot", f"{tmp_path}/a.{ending}")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    drawn, page = ((tmp_path / f"a.{ending}").read_text() for ending in ("svg", "html"))
    page = everything(page)
    assert drawn.count("upper bound for any policy") == 1
    for name in ("conv", "dense", "fcfs", "strings + shed 1"):
        assert name in page
        assert name in drawn
    # closed loops have no load
    shown(*common[:-4], "--arrivals", "single", "--plot", f"{tmp_path}/b.html")
    assert "p99" not in (tmp_path / "b.html").read_text().split("</style>")[1][-20_000:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--arrivals", "poison"), "--arrivals 'poison' is not known; did you mean poisson"),
        (("--policy", "string"), "--policy 'string' is not known; did you mean strings"),
        (("--shed", "1", "--shed-at", "end"), "--shed-at 'end' is not known"),
        (("--shed-at", "start"), "give both or neither"),
        (("--load", "0"), "--load must be above 0"),
        (("--load", "nan"), "--load must be above 0"),
        (("--qps", "-1"), "--qps must be above 0"),
        (("--load", "1", "--qps", "5"), "--load and --qps exclude each other"),
        (("--size", "3"), "--size applies to bursts and batches"),
        (("--arrivals", "single", "--load", "1"), "--load applies to poisson and bursts"),
        (("--requests", "99999999"), "--requests must be at most"),
        (("--trace", "none.csv"), "--trace none.csv: No such file"),
        (("--trace", "none.csv", "--load", "1"), "--trace and --load exclude each other"),
        (("--trace", "t.csv", "--requests", "5"), "--trace and --requests exclude each other"),
        (("--slack", "-1", "--deadline", "4x"), "--slack must be from 0 up"),
        (("--shed", "nan", "--deadline", "4x"), "--shed must be from 0 up"),
        (("--shed", "1.3"), "--shed needs deadlines"),
        (("--slack", "1"), "--slack needs deadlines"),
        (("--policy", "edf"), "--policy edf needs deadlines"),
        (("--stable",), "--stable needs deadlines"),
        (
            ("--stable", "--arrivals", "single", "--deadline", "4x"),
            "--stable varies the load of random",
        ),
        (("--missed", "0.1"), "--missed applies to --stable"),
        (("--stable", "--missed", "1"), "--missed must be from 0 and below 1"),
        (("--csv", "--json"), "--csv and --json exclude each other"),
        (("--plot", "a.pdf"), "--plot a.pdf: must end in .html or .png or .svg"),
        (("--maps", "some"), "--maps 'some' is not known"),
        (("--deadline", "4"), "--deadline 4: must be a number with a unit"),
        (("--deadline", "0ms"), "--deadline 0ms: a deadline must be above 0"),
        (("--deadline", "4x", "--deadline", "5x"), "a deadline for all networks is given twice"),
        (
            ("--deadline", "resnet=4x"),
            "network 'resnet' is not among the networks; did you mean resnet50",
        ),
        (("--deadline", "resnet50=4x", "--deadline", "resnet50=5x"), "resnet50 is given twice"),
        (("--share", "resnet50"), "--share resnet50: must have the form NETWORK=NUMBER"),
        (("--share", "resnet50=much"), "'much' is not a number"),
        (("--share", "resnet50=0"), "must be from 1e-06"),
        (("--share", "resnet50=1"), "bert_base(sequence_length=16) has no share"),
        (("--plan", "joint"), "--plan: NPU memory_centric runs each layer unfused"),
    ],
)
def test_mistakes_get_a_message(options: tuple[str, ...], message: str) -> None:
    assert message in said(*PAIR, *options)


def test_several_mistakes_in_deadlines_and_shares_are_said_at_once() -> None:
    text = said(*PAIR, "--deadline", "x", "--deadline", "resnet=1ms")
    assert len(text.splitlines()) == 2
    assert len(said(*PAIR, "--share", "a=1", "--share", "resnet50=x").splitlines()) == 2


def test_a_name_without_its_options_must_mean_one_network() -> None:
    two = ("bert_base:sequence_length=16", "bert_base:sequence_length=32")
    text = said(*two, "--hardware", "memory_centric", "--deadline", "bert_base=1ms")
    assert "'bert_base' is ambiguous: bert_base(sequence_length=16), bert_base(" in text


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", ["holds no requests"]),
        ("time_s,network\n\n", ["holds no requests"]),
        ("time_s,netwrk\n1,a\n", ["line 1: there is no column 'netwrk'; did you mean network",
                                  "line 1: column network is missing"]),
        ("time_s,time_ms,network\n1,1,resnet50\n", ["found time_s and time_ms"]),
        ("network\nresnet50\n", ["one time column (time_s, time_ms, time_us), found none"]),
        ("time_s,time_s,network\n1,1,resnet50\n", ["a column name occurs twice"]),
        (
            "time_s,network\n1,resnet50\nsoon,resnet50\n-1,resnet18\n\n2\nnan,resnet50\n",
            ["line 3: time_s must be a number, got 'soon'",
             "line 4: time_s must be a number from 0 up, got '-1'; network 'resnet18' is not",
             "line 6: has 1 values, but there are 2 columns",
             "line 7: time_s must be a number from 0 up"],
        ),
        ('time_s,network\n"1,resnet50\n', ["is not CSV"]),
        ("time_s,network\n1e9,resnet50\n", ["the simulation covers at most"]),
    ],
)  # fmt: skip
def test_faults_of_a_trace_are_said_with_their_lines(
    text: str, messages: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    found = said(*PAIR, "--trace", str(path))
    for message in messages:
        assert message in found
    assert all(line.startswith(f"--trace {path}: ") for line in found.splitlines())
    path.write_bytes(b"\xff\xfe\x00time")
    assert "is not UTF-8 text" in said(*PAIR, "--trace", str(path))


def test_help_has_examples() -> None:
    text = CliRunner().invoke(app, ["serve", "--help"]).stdout
    assert "archloom serve resnet50 bert_base" in " ".join(text.split())


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = said(
        *("tiny_cnn", "tiny_mlp", "--hardware", "memory_centrik", "--load", "-1"),
        *("--policy", "string", "--missed", "0.1", "--maps", "some", "--plan", "joined"),
        *("--deadline", "tiny_cmn=4x", "--share", "tiny_cnn=0"),
    )
    for part in (
        "memory_centrik: no such NPU",
        "--load must be above 0",
        "--policy",
        "--missed applies to --stable",
        "--maps",
        "--plan",
        "--deadline tiny_cmn=4x: network 'tiny_cmn' is not among the networks",
        "--share tiny_cnn=0: must be from",
    ):
        assert part in text


def test_a_fault_of_our_own_is_no_message_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise ValueError("not of a user's making")

    monkeypatch.setattr("archloom.studies.commands.serve.command.served", wrong)
    done = CliRunner().invoke(
        app, ["serve", "tiny_cnn", "tiny_mlp", "--hardware", "memory_centric"]
    )
    assert type(done.exception) is ValueError
