"""``archloom weave``: what it prints and writes, that it adds up, and what it refuses."""

import csv
import json
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from archloom.evaluators.weaving import (
    NPUS,
    Npu,
    Order,
    isolated_ticks,
    makespan,
    throughput_bound,
    ticked,
    weight_stationary_chain,
)
from archloom.search.registry import WEAVERS
from archloom.space.design_space.presets import preset_file
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import write_network
from archloom.studies.commands.cli import app, main
from archloom.studies.commands.weave.chain_table import read_chain_table
from archloom.studies.errors import UserError

PAIR = ("tiny_cnn", "tiny_mlp")
QUICK = ("--plan", "none", "--mapping", "local", "--mapping-evaluations", "40")
NPU = ("--hardware", "memory_centric")


def run(*arguments):
    return CliRunner().invoke(app, ["weave", *map(str, arguments)], catch_exceptions=False)


def shown(*arguments):
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def record(*arguments):
    return json.loads(shown(*arguments, "--json"))


def said(*arguments):
    """Return the message that a mistake gets."""
    return str(mistake(*arguments))


def mistake(*arguments):
    done = CliRunner().invoke(app, ["weave", *map(str, arguments)])
    assert isinstance(done.exception, UserError), done.output
    return done.exception


def written(path, layers, heads="weight_bytes,cycles"):
    path.write_text("\n".join([heads, *(",".join(map(str, layer)) for layer in layers)]) + "\n")
    return path


def test_json_of_one_query_adds_up():
    found = record("resnet50", "bert_base:sequence_length=16", *NPU)
    assert found["scheduler"] == "exact"
    assert found["proven"]
    assert found["makespan_us"] == found["lower_bound_us"]
    assert found["gap_percent"] == 0
    networks = found["networks"]
    assert [n["name"] for n in networks] == ["resnet50", "bert_base(sequence_length=16)"]
    assert max(n["done_us"] for n in networks) == pytest.approx(found["makespan_us"])
    assert found["makespan_us"] >= max(
        sum(n[k] for n in networks) for k in ("compute_us", "dram_us")
    )
    stp = sum(n["alone_us"] / n["done_us"] for n in networks)
    assert found["stp"] == pytest.approx(stp)
    assert found["antt"] == pytest.approx(sum(n["slowdown"] for n in networks) / 2)
    active = sum(n["compute_us"] for n in networks) / found["makespan_us"]
    assert found["array_active"] == pytest.approx(active, rel=1e-6)
    # 25,557,032 parameters of ResNet-50 without those of batch norm and a bias; 12 blocks of BERT
    # and its pooler, 768 wide
    weights = [25_557_032 - 53_120 - 1000, (12 * 12 + 1) * 768 * 768]
    assert [n["weight_bytes"] for n in networks] == [2 * words for words in weights]
    assert len(found["schedule"]) == sum(n["layers"] for n in networks)


def test_what_is_printed_says_bound_gap_and_scheduler():
    text = shown("resnet50", "bert_base:sequence_length=16", *NPU)
    for part in (
        "resnet50 and bert_base(sequence_length=16) on memory_centric, one query each, scheduler "
        "exact",
        "DRAM 225 GB/s, clock 700 MHz, weight buffer 48 MiB, feature map buffer 60 MiB",
        "proven optimal",
        "Scheduler exact, rule: ",
        "shorter than running the networks one after another",
        "The paper's figures were computed with MAESTRO",
    ):
        assert part in text


def test_a_stream_stands_beside_its_bound_with_prices_in_words():
    pair = ("resnet50", "bert_base:sequence_length=16", *NPU, "--stream")
    found = record(*pair)
    assert found["scheduler"] == "strings"
    assert 0.999 <= found["stp_share"] <= 1
    assert found["stp"] / found["stp_bound"] == pytest.approx(found["stp_share"])
    assert found["array_price"] + found["dram_price"] == pytest.approx(found["stp_bound"])
    assert sum(n["stp"] for n in found["networks"]) == pytest.approx(found["stp"])
    text = shown(*pair)
    dram = 100 * found["dram_price"] / found["stp_bound"] / 100
    assert f"1% more DRAM bandwidth adds {dram:.3g} % of STP" in text


def test_a_price_is_what_more_bandwidth_is_worth():
    """The bound's gain on an NPU with 1% more bandwidth, at today's isolated times."""
    npu, array = NPUS["memory_centric"]
    nets = network("resnet50"), network("bert_base", sequence_length=16)
    chains = [weight_stationary_chain(net, array) for net in nets]
    work = ticked(chains, npu)
    isolated = isolated_ticks(work)
    bound = throughput_bound(work, isolated)
    faster = replace(npu, dram_bytes_per_s=npu.dram_bytes_per_s * 101 // 100)
    # the same times in the shorter ticks of the faster DRAM
    more = throughput_bound(ticked(chains, faster), isolated * 1.01)
    gain = more.value / bound.value - 1
    assert gain == pytest.approx(0.01 * bound.memory_price / bound.value, rel=0.02)


def test_networks_that_wait_for_one_engine_gain_nothing(tmp_path):
    table = written(tmp_path / "slow.csv", [(1, 10**6), (1, 10**6)])
    text = shown(table, table, *NPU, "--buffer-kib", 64, "--stream")
    assert "limited by the array: no order of their layers has an STP above 1" in text


def test_hardware_of_ones_own_runs_plans_in_what_the_weight_buffer_leaves():
    found = record(*PAIR, "--hardware", "eyeriss", *QUICK, "--buffer-kib", "32")
    assert found["npu"]["weight_buffer_bytes"] == 32 << 10
    assert found["npu"]["map_buffer_bytes"] == 76 << 10
    assert found["maps"]["fit"]
    # plans of layers alone read and write every map
    assert all(network["map_bytes"] > 0 for network in found["networks"])


def test_plans_that_fuse_move_fewer_maps():
    options = ("--hardware", "fast_small", "--mapping", "local", "--mapping-evaluations", "40")
    none, joint = (
        record(*PAIR, *options, "--plan", plan, "--evaluations", "3") for plan in ("none", "joint")
    )
    assert sum(n["map_bytes"] for n in joint["networks"]) < sum(
        n["map_bytes"] for n in none["networks"]
    )


def test_chains_of_json_are_tables_that_give_the_same_schedule(tmp_path):
    options = (*NPU, "--scheduler", "layerweaver")
    first = record("tiny_cnn", "ncf", *options)
    paths = [tmp_path / f"{chain['name']}.json" for chain in first["chains"]]
    for path, chain in zip(paths, first["chains"], strict=True):
        path.write_text(json.dumps(chain))
    again = record(*paths, *options)
    for key in ("makespan_us", "schedule", "stp", "chains", "maps"):
        assert again[key] == first[key]
    work = ticked([read_chain_table(path) for path in paths], NPUS["memory_centric"][0])
    names = [chain["name"] for chain in first["chains"]]
    chain = np.array([names.index(name) for name in first["schedule"]], np.int64)
    ticks = makespan(work, Order(chain))
    npu: Npu = NPUS["memory_centric"][0]
    assert first["makespan_us"] == pytest.approx(ticks * 1e6 / npu.dram_bytes_per_s)


def test_csv_is_the_schedule_layer_by_layer():
    rows = list(csv.DictReader(StringIO(shown("tiny_cnn", "ncf", *NPU, "--csv"))))
    found = record("tiny_cnn", "ncf", *NPU)
    assert [row["network"] for row in rows] == found["schedule"]
    assert float(rows[-1]["done_us"]) == pytest.approx(found["makespan_us"], abs=1e-4)
    assert sum(int(row["weight_bytes"]) for row in rows) == sum(
        network["weight_bytes"] for network in found["networks"]
    )
    for a, b in pairwise(rows):
        assert float(a["done_us"]) <= float(b["start_us"])
        assert float(a["fetched_us"]) <= float(b["fetched_us"]) <= float(b["start_us"])


@pytest.mark.parametrize("name", WEAVERS)
@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_every_scheduler_keeps_its_bound(name, stream):
    # a small buffer: the period of a stream is a multiple of it
    pair = ("tiny_cnn", "tiny_mlp:batch=8", *NPU, "--buffer-kib", 256)
    found = record(*pair, "--scheduler", name, *stream)
    assert found["scheduler"] == name
    if stream:
        assert 0 < found["stp"] <= found["stp_bound"]
    else:
        assert found["makespan_us"] >= found["lower_bound_us"] > 0


def test_a_seed_decides_what_is_random_and_results_repeat():
    search = ("--plan", "none", "--mapping", "random", "--mapping-evaluations", "20")
    options = ("--hardware", "eyeriss", *search, "--scheduler", "layerweaver")
    first, again, other = (record(*PAIR, *options, "--seed", seed) for seed in (0, 0, 1))
    assert first == again
    assert first["chains"] != other["chains"]


def test_the_batch_is_that_of_a_query():
    one, four = (record("tiny_cnn", "tiny_mlp:batch=2", *NPU, *b) for b in ((), ("--batch", "4")))
    assert [n["batch"] for n in one["networks"]] == [1, 2]
    assert [n["batch"] for n in four["networks"]] == [4, 2]
    assert four["networks"][0]["compute_us"] == pytest.approx(
        4 * one["networks"][0]["compute_us"], rel=0.01
    )


@pytest.mark.parametrize("ending", ["html", "png", "svg"])
def test_the_timeline_and_the_trace_are_written_and_named(tmp_path, ending):
    plot, trace = tmp_path / f"t.{ending}", tmp_path / "trace.json"
    done = run("tiny_cnn", "ncf", *NPU, "--plot", plot, "--trace", trace)
    assert done.exit_code == 0
    assert plot.stat().st_size > 10_000
    assert (
        f"wrote {plot}: DRAM transfers, computation and buffers over time"
        in done.stderr.replace("\n", " ")
    )
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["args"]["network"] for event in events if event["ph"] == "X"} == {
        *("tiny_cnn", "ncf")
    }


def test_layers_that_fit_in_no_way_are_named_with_what_would_help():
    pair = ("resnet50", "mobilenetv2", "--hardware", "compute_centric", "--batch", "16")
    error = mistake(*pair)
    # the chip cannot run them: no mistake of the command line
    assert error.exit_code == 1
    lines = str(error).splitlines()
    assert lines[0] == (
        "map_overflow at resnet50, layer stage1.0.shortcut on compute_centric: needs "
        "51,380,224 bytes, "
        "3,984,588 bytes available; use a smaller batch, or hardware with a larger "
        "feature map buffer"
    )
    assert lines[1].startswith("map_overflow at mobilenetv2, layer stage2.0.depthwise on ")
    assert lines[2] == "--maps unlimited assumes that the feature map buffer is large enough"
    text = shown(*pair, "--maps", "unlimited", "--scheduler", "fair")
    assert "--maps unlimited the buffer is assumed to be large enough" in " ".join(text.split())


def test_maps_of_paused_networks_that_do_not_fit_are_written_out_and_told(tmp_path):
    """Two networks that both keep 40 of 60 MiB; a small weight buffer makes them take turns."""
    big, layers = 40 << 20, range(10)
    heads = "weight_bytes,cycles,footprint_bytes,live_bytes"
    pair = [
        written(tmp_path / f"{name}.csv", [(*work, big, big * (i < 9)) for i in layers], heads)
        for name, work in (("fetching", (10**6, 10)), ("computing", (1, 3100)))
    ]
    options = (*pair, *NPU, "--buffer-kib", 2000)
    roomy = record(*options, "--scheduler", "layerweaver", "--maps", "unlimited")
    assert roomy["maps"]["peak_bytes"] == 80 << 20
    assert not roomy["maps"]["fit"]
    assert roomy["maps"]["spilled_bytes"] == 0
    tight = record(*options, "--scheduler", "layerweaver")
    assert tight["maps"]["fit"]
    # one is written out and read back at each turn
    assert tight["maps"]["spilled_bytes"] % (40 << 20) == 0
    moved = sum(n["dram_us"] for n in tight["networks"])
    spilled = 2 * tight["maps"]["spilled_bytes"] / 225e3
    assert tight["makespan_us"] >= moved + spilled > 10 * roomy["makespan_us"]
    assert tight["dram_active"] == pytest.approx((moved + spilled) / tight["makespan_us"])
    # whoever looks for the least makespan takes fewer turns
    assert record(*options)["makespan_us"] < tight["makespan_us"] / 10
    for maps, said in (("unlimited", "maps need 20 MiB more than"), ("fit", "640 MiB are written")):
        text = shown(*options, "--scheduler", "layerweaver", "--maps", maps)
        assert said in " ".join(text.split())
    rows = shown(*options, "--scheduler", "layerweaver", "--csv")
    assert sum(int(row["map_bytes"]) for row in csv.DictReader(StringIO(rows))) == 2 * 640 << 20


def test_a_network_that_cannot_run_on_the_hardware_ends_with_1(tmp_path):
    """A buffer of 1 KiB and 2 bytes: one word is left for inputs and outputs."""
    text = preset_file("eyeriss").read_text()
    assert text.count("108 * 1024") == 1
    chip = tmp_path / "chip.yaml"
    chip.write_text(text.replace("108 * 1024", "1024 + 2"))
    done = run(*PAIR, "--hardware", chip, *QUICK, "--buffer-kib", 1)
    assert done.exit_code == 1
    said = " ".join(done.stderr.split())
    assert "tiny_cnn on chip: glb" in said
    assert "needs 4 bytes, 2 bytes available" in said


MISTAKES = [
    (("resnt50", "ncf", *NPU), "did you mean resnet50"),
    (("tiny_cnn", *NPU), "tiny_cnn is the only network: give at least two networks"),
    ((*PAIR, *NPU, "--scheduler", "stings"), "'stings' is not known; did you mean strings?"),
    ((*PAIR, *NPU, "--maps", "no"), "--maps 'no' is not known; known: fit, unlimited"),
    ((*PAIR, *NPU, "--json", "--csv"), "--csv and --json exclude each other; use one of them"),
    ((*PAIR, *NPU, "--plot", "t.pdf"), "--plot t.pdf: must end in .html or .png or .svg"),
    ((*PAIR, *NPU, "--trace", "t.txt"), "--trace t.txt: must end in .json"),
    ((*PAIR, *NPU, "--trace", "no/t.json"), "--trace no/t.json: there is no folder no"),
    ((*PAIR, *NPU, "--plan", "none", "--mapping", "local"), "--plan, --mapping: NPU memory_c"),
    ((*PAIR, *NPU, "--evaluations", "3"), "--evaluations: NPU memory_centric runs each layer "),
    ((*PAIR, "--hardware", "tpu_v3", "--plan", "jiont"), "--plan 'jiont' is not known; did"),
    ((*PAIR, "--hardware", "tpu_v3", "--mapping", "loacl"), "--mapping 'loacl' is not known; did "),
    ((*PAIR, "--hardware", "tpu_v4"), "preset, template or file; did you mean tpu_v3?"),
    ((*PAIR, "--hardware", "eyeriss", "--buffer-kib", 200), "--buffer-kib 200: weight_buffer_too_"),
    ((*PAIR, "--hardware", "eyeriss", "--technology", "n77"), "--technology: 'n77' is not known"),
    ((*PAIR, "--hardware", "eyeriss", "--set", "a=1"), "preset eyeriss has no parameters"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_message(arguments, message):
    error = mistake(*arguments)
    assert message in str(error)
    assert error.exit_code == 2


def test_tables_with_faults_are_one_message_with_all_places(tmp_path):
    wrong = written(tmp_path / "wrong.csv", [(-1, 5), (1, "x")])
    other = tmp_path / "other.json"
    other.write_text('{"format": "archloom chain 1", "layers": [{"weight_bytes": 1}]}')
    lines = said(wrong, other, *NPU).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["line 2", "line 3", "layers[0]"]
    assert said(written(tmp_path / "a.csv", [(1, 2)]), written(tmp_path / "b.csv", [(1, 2)]),
                "--hardware", "tpu_v3", "--plan", "none") == (
        "--plan: tables already define their layers; leave these options out"
    )  # fmt: skip


def test_chains_that_are_too_long_to_be_exact_are_refused(tmp_path):
    table = written(tmp_path / "long.csv", [(1, 2**50), (1, 2**50)])
    assert "2**50 can be scheduled exactly" in said(table, table, *NPU)


def test_the_help_has_examples_and_a_mistake_ends_with_2(monkeypatch, capsys):
    help_text = " ".join(run("--help").stdout.split())
    assert "archloom weave resnet50 bert_base --hardware tpu_v3 --plan joint" in help_text
    monkeypatch.setattr("sys.argv", ["archloom", "weave", "tiny_cnn", *NPU])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: tiny_cnn is the only network")


def test_who_stops_it_gets_130(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("archloom.studies.commands.weave.command.ticked", interrupted)
    done = run(*PAIR, *NPU)
    assert done.exit_code == 130
    assert done.stderr == "stopped before a schedule was found\n"


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    words = ("resnet51", "tiny_cnn:batch=0", "--hardware", "memory_centrik")
    options = ("--scheduler", "string", "--maps", "none", "--plan", "joined", "--mapping", "exakt")
    text = said(*words, *options, "--csv", "--json", "--plot", tmp_path / "a.pdf")
    for part in (
        "--csv and --json exclude each other",
        "a.pdf: must end in",
        "--scheduler",
        "--maps",
        "--plan",
        "--mapping",
        "memory_centrik: no such NPU",
        "resnet51",
        "batch=0 must be a whole number",
    ):
        assert part in text


def test_a_networks_file_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "net.json"
    write_network(network("tiny_cnn"), path)
    reads = []
    read = Path.read_text

    def counted(self, *arguments, **named):
        reads.append(self)
        return read(self, *arguments, **named)

    monkeypatch.setattr(Path, "read_text", counted)
    record(path, "tiny_mlp", *NPU)
    assert reads.count(path) == 1


def test_what_the_order_within_a_network_costs_is_said():
    pair = ("vgg16", "bert_base:sequence_length=16", *NPU, "--stream")
    found = record(*pair)
    prices = found["array_price"] + found["dram_price"] + found["order_price"]
    assert prices == pytest.approx(found["stp_bound"])
    assert found["order_price"] > 0.1
    assert found["stp_share"] > 0.97
    assert "of the bound is due to the order of layers within a network" in shown(*pair)
