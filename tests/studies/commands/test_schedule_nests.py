"""Groups in loop nests on the command line: tables, JSON, plan files, pictures and mistakes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from archloom.space.networks.transformers.transformer import Heads, SequenceBuilder
from archloom.space.workload.network_json import to_text
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError

QUICK = ("--hardware", "fast_small", "--mapping", "local", "--mapping-evaluations", "60")
ATTENTION = ["block.scores", "block.softmax", "block.context", "block.project"]
QUERIES, HEADS = {"rank": "queries", "tile": 20}, {"rank": "heads", "tile": 1}
STAYS = {
    "block.project": "queries",
    "block.key": "group",
    "weights of block.project": "group",
    "block.value": "group",
}


@pytest.fixture
def source(tmp_path: Path) -> str:
    builder = SequenceBuilder()
    tokens = builder.input("tokens", 32, 48)
    names = ("block.query", "block.key", "block.value")
    query, key, value = (builder.linear(name, tokens, 32) for name in names)
    context = builder.attention("block", Heads(4, 8), query, key, value)
    builder.sum("block.add", tokens, builder.linear("block.project", context, 32))
    path = tmp_path / "attention.json"
    path.write_text(to_text(builder.network("attention")))
    return str(path)


def plan_of(tmp_path: Path, loops: object, stays: dict[str, str], *, dealt: bool = False) -> str:
    path = tmp_path / "plan.json"
    operands = [{"name": name, "stays": stay} for name, stay in stays.items()]
    nest = {"loops": loops, "operands": operands, **({"dealt": True} if dealt else {})}
    group = {"layers": ATTENTION, "nest": nest}
    path.write_text(json.dumps([group]))
    return str(path)


def shown(*arguments: str, effort: tuple[str, ...] = QUICK) -> str:
    done = CliRunner().invoke(app, ["schedule", *arguments, *effort], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def said(*arguments: str, effort: tuple[str, ...] = QUICK) -> str:
    done = CliRunner().invoke(app, ["schedule", *arguments, *effort])
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def test_a_printed_nest_can_be_priced_again(source: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, [QUERIES, HEADS], STAYS)
    found = json.loads(shown(source, "--plan", plan, "--json"))
    (group,) = [g for g in found["groups"] if "nest" in g]
    assert group["layers"] == ATTENTION
    assert group["nest"]["loops"] == [
        {"rank": "queries", "size": 48, "tile": 20, "iterations": 3},
        {"rank": "heads", "size": 4, "tile": 1, "iterations": 4},
    ]
    assert group["tiles"] == 12
    stays = {x["name"]: x["stays"] for x in group["nest"]["operands"]}
    # what the plan does not name stays as short as can be
    inner = ("block.query", "block.scores", "block.softmax", "block.context")
    assert stays == {**STAYS, **dict.fromkeys(inner, "heads")}
    sizes = {x["name"]: x["bytes"] for x in group["nest"]["operands"]}
    words = {
        "block.key": 48 * 32,
        "block.scores": 20 * 48,
        "weights of block.project": 32 * 32 / 64,
    }
    # bfloat16, 64 images at once
    assert {name: sizes[name] for name in words} == {k: n * 2 * 64 for k, n in words.items()}
    again = tmp_path / "again.json"
    again.write_text(json.dumps(found))
    repeated = json.loads(shown(source, "--plan", str(again), "--json"))
    assert {**repeated, "cpu_s": 0} == {**found, "cpu_s": 0}


def test_tables_and_pictures_show_the_loops(source: str, tmp_path: Path) -> None:
    stays = {**STAYS, "weights of block.project": "streams"}
    plan = plan_of(tmp_path, [QUERIES, HEADS], stays)
    plot, memory = tmp_path / "plot.svg", tmp_path / "memory.svg"
    text = shown(source, "--plan", plan, "--plot", str(plot), "--memory", str(memory))
    for part in (
        "queries 20, heads 1 (12 iterations)",
        "for queries: 20 of 48 (3 iterations)",
        "for heads: 1 of 4 (4 iterations)",
        "run block.scores, block.softmax, block.context, block.project",
        "streamed through the buffer: weights of block.project",
    ):
        assert part in " ".join(text.split())
    drawn = plot.read_text()
    for part in (
        "Loop nest of group 3",
        "for heads: 1 of 4 (4 iterations)",
        "group 3: 12 iterations",
    ):
        assert part in drawn
    assert "block.key" in memory.read_text()


CAUSAL = """
ranks: {h: 4, q: 48, k: q, d: 8}
causal: {queries: q, keys: k}
einsums:
  - S[h,q,k] = Q[h,q,d] * K[h,k,d]
  - P[h,q,k] = softmax(S[h,q,k], k)
  - O[h,q,d] = P[h,q,k] * V[h,k,d]
"""


def test_a_nest_says_which_tiles_a_mask_leaves(tmp_path: Path) -> None:
    source, plan = tmp_path / "attention.yaml", tmp_path / "plan.json"
    source.write_text(CAUSAL)
    keys = {"rank": "keys", "tile": 8}
    group = {"layers": ["S", "P", "O"], "nest": {"loops": [HEADS, QUERIES, keys], "operands": []}}
    group["nest"]["operands"] = [{"name": "O", "stays": "queries"}]
    plan.write_text(json.dumps([group]))
    found = json.loads(shown(str(source), "--plan", str(plan), "--json"))["groups"][0]
    # queries 0 to 19, to 39, to 47 see three tiles of keys, five, six
    assert found["tiles"] == 4 * 14
    assert found["nest"]["masked"] == {
        "mask": "causal",
        "ranks": ["queries", "keys"],
        "tiles": 14,
        "all_tiles": 18,
    }
    text = " ".join(shown(str(source), "--plan", str(plan)).split())
    assert "(6 iterations) causal mask: 14 of 18 tiles of queries x keys are computed" in text


ON_TWO_CORES = ("--hardware", "tpu_v3", *QUICK[2:])


def test_cores_share_out_the_outermost_loop(source: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, [QUERIES, HEADS], STAYS, dealt=True)
    plot, text_of = tmp_path / "plot.svg", shown(source, "--plan", plan, effort=ON_TWO_CORES)
    for part in (
        "queries 20 on 2 cores, heads 1 (12 iterations)",
        "for queries: 20 of 48 (3 iterations on 2 cores)",
        "for heads: 1 of 4 (4 iterations)",
    ):
        assert part in " ".join(text_of.split())
    found = json.loads(
        shown(source, "--plan", plan, "--json", "--plot", str(plot), effort=ON_TWO_CORES)
    )
    assert "for queries: 20 of 48 (3 iterations on 2 cores)" in plot.read_text()
    (group,) = [g for g in found["groups"] if "nest" in g]
    assert (group["cores"], group["tiles"], group["nest"]["dealt"]) == (2, 12, True)
    assert [loop.get("cores") for loop in group["nest"]["loops"]] == [2, None]
    again = tmp_path / "again.json"
    again.write_text(json.dumps(found))
    repeated = json.loads(shown(source, "--plan", str(again), "--json", effort=ON_TWO_CORES))
    assert {**repeated, "cpu_s": 0} == {**found, "cpu_s": 0}


def test_cores_that_take_turns_leave_out_what_a_mask_drops(tmp_path: Path) -> None:
    source, plan, again = (tmp_path / name for name in ("causal.yaml", "plan.json", "again.json"))
    source.write_text(CAUSAL)
    nest = {"loops": [{"rank": "queries", "tile": 8}, HEADS, {"rank": "keys", "tile": 8}]}
    nest["operands"] = [{"name": "O", "stays": "heads"}]
    edps, tiles = [], []
    for shared in ({"dealt": True}, {"dealt": True, "in_turn": True}):
        plan.write_text(json.dumps([{"layers": ["S", "P", "O"], "nest": {**nest, **shared}}]))
        found = json.loads(shown(str(source), "--plan", str(plan), "--json", effort=ON_TWO_CORES))
        edps.append(found["latency_cycles"] * found["energy_pj"])
        tiles.append(found["groups"][0]["tiles"])
    # of six tiles of queries one core has the first, third and fifth
    assert tiles == [4 * 36, 4 * 21]
    assert edps[1] < edps[0]
    details = found["groups"][0]["nest"]
    assert details["in_turn"]
    assert details["masked"]["tiles"] == 21
    assert details["masked"]["all_tiles"] == 36
    again.write_text(json.dumps(found))
    repeated = json.loads(shown(str(source), "--plan", str(again), "--json", effort=ON_TWO_CORES))
    assert {**repeated, "cpu_s": 0} == {**found, "cpu_s": 0}
    text = " ".join(shown(str(source), "--plan", str(plan), effort=ON_TWO_CORES).split())
    assert "for queries: 8 of 48 (6 iterations on 2 cores in turn)" in text
    assert "causal mask: 21 of 36 tiles of queries x keys are computed" in text
    plan.write_text(json.dumps([{"layers": ["S", "P", "O"], "nest": {**nest, "in_turn": True}}]))
    message = said(str(source), "--plan", str(plan), effort=ON_TWO_CORES)
    assert "groups.0.nest.in_turn: true, but only iterations that are dealt" in message


def test_what_cores_cannot_share_out_is_refused_by_name(source: str, tmp_path: Path) -> None:
    whole = plan_of(tmp_path, [QUERIES, HEADS], STAYS)
    done = CliRunner().invoke(app, ["schedule", source, "--plan", whole, *ON_TWO_CORES])
    assert done.exit_code == 1
    assert "vmem has 2 instances: distribute its outermost loop over the cores (dealt)" in " ".join(
        done.output.split()
    )
    stays = {**STAYS, "block.project": "group", "block.key": "heads", "block.value": "heads"}
    heads = plan_of(
        tmp_path, [HEADS, QUERIES], {**stays, "weights of block.project": "heads"}, dealt=True
    )
    text = said(source, "--plan", heads, effort=ON_TWO_CORES)
    assert "block.project sums over the rank of size 4 that is distributed over cores" in text


@pytest.mark.parametrize(
    ("loops", "stays", "message"),
    [
        ([{"rank": "querys", "tile": 2}], {}, "no rank 'querys'; did you mean queries"),
        ([{"rank": "heads", "tile": 4}], {}, "tile 4 must be less than the 4 of heads"),
        ([{"rank": "heads", "tile": 0}], {}, "groups.0.nest.loops.0.tile"),
        ([], {}, "groups.0.nest.loops"),
        ([HEADS], {"block.keys": "group"}, "no operand 'block.keys'; did you mean block.key"),
        ([HEADS], {"block.key": "queries"}, "cannot stay for 'queries'"),
        ([HEADS, HEADS], {}, "a loop over heads already"),
        ([QUERIES, HEADS], {"block.key": "queries"}, "cannot end with loop 1"),
        ([HEADS], {"block.softmax": "streams"}, "cannot stream: block.context, block.softmax"),
    ],
)
def test_a_nest_that_is_none_is_refused(
    source: str, tmp_path: Path, loops: object, stays: dict[str, str], message: str
) -> None:
    text = said(source, "--plan", plan_of(tmp_path, loops, stays))
    assert "plan.json: groups.0.nest" in text
    assert message in text


@pytest.fixture
def cut(tmp_path: Path) -> str:
    builder = SequenceBuilder()
    made = builder.linear("block.qkv", builder.input("tokens", 32, 48), 96)
    context = builder.attention(
        "block", Heads(4, 8), *(builder.columns(made, i * 32, 32) for i in range(3))
    )
    builder.linear("block.project", context, 32)
    path = tmp_path / "cut.json"
    path.write_text(to_text(builder.network("cut")))
    return str(path)


def in_parts(tmp_path: Path, *names: str) -> str:
    path = tmp_path / "plan.json"
    nest = {"loops": [HEADS], "in_parts": names}
    path.write_text(json.dumps([{"layers": ["block.qkv", *ATTENTION], "nest": nest}]))
    return str(path)


def test_a_product_runs_in_parts_inside_a_loop_over_heads(cut: str, tmp_path: Path) -> None:
    found = json.loads(shown(cut, "--plan", in_parts(tmp_path, "block.qkv"), "--json"))
    (group,) = found["groups"]
    assert group["nest"]["in_parts"] == ["block.qkv"]
    bytes_of = {x["name"]: x["bytes"] for x in group["nest"]["operands"]}
    parts = [f"block.qkv[{start}:{start + 32}]" for start in (0, 32, 64)]
    # of each part the tokens of one head, bfloat16, 64 images at once
    assert [bytes_of[name] for name in parts] == [48 * 8 * 2 * 64] * 3
    assert [x["name"] for x in group["nest"]["layers"]] == [*parts, *ATTENTION]
    again = tmp_path / "again.json"
    again.write_text(json.dumps(found))
    repeated = json.loads(shown(cut, "--plan", str(again), "--json"))
    assert {**repeated, "cpu_s": 0} == {**found, "cpu_s": 0}


def test_what_cannot_run_in_parts_is_refused(cut: str, tmp_path: Path) -> None:
    text = said(cut, "--plan", in_parts(tmp_path, "block.project"))
    assert "groups.0.nest.in_parts.0: 'block.project' cannot run in parts" in text
    assert "layers that can: block.qkv" in text
    assert "no loop may run over" in said(cut, "--plan", in_parts(tmp_path))
