"""Causal masks of imported models: those of files of einsums, however a model writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from onnx import TensorProto
from torch import nn

import archloom as al
from archloom.space.importers.causal_masks import added_window, causal_window
from archloom.space.importers.einsum import read_einsums
from archloom.space.importers.onnx.reader import read_onnx
from archloom.space.importers.torch.reader import network_of
from archloom.space.workload import Mask, Network, explain_difference
from archloom.space.workload.slice import no_causal_mask

from ...cases.einsum_files import einsum_text
from ...cases.onnx_models import model, node, saved
from .models.attention import Causal
from .test_routes import by_graph, by_trace

FORMS = ["flag", "argument", "fill", "where", "difference", "matrix"]
LENGTH = 24


def exported(module: nn.Module, *inputs: torch.Tensor) -> Network:
    return network_of(torch.export.export(module.eval(), inputs), "net")


def text(shared: int, window: int) -> str:
    """The same attention as a file of einsums."""
    ranks = {"g": 4 // shared, "s": shared, "q": LENGTH, "k": "q", "d": 8, "e": "d", "m": 32}
    lines = """
        Q[q,g,s,d] = X[q,m] * Wq[g,s,d,m]
        K[k,g,d] = X[k,m] * Wk[g,d,m]
        V[k,g,e] = X[k,m] * Wv[g,e,m]
        S[g,s,q,k] = Q[q,g,s,d] * K[k,g,d]
        P[g,s,q,k] = softmax(S[g,s,q,k], k)
        O[q,g,s,e] = P[g,s,q,k] * V[k,g,e]
        Y[q,m] = O[q,g,s,e] * Wo[g,s,e,m]
        """
    seen = f", window: {window}" if window else ""
    weights = "[Wq, Wk, Wv, Wo]"
    return einsum_text(lines, ranks, weights=weights, causal=f"{{queries: q, keys: k{seen}}}")


@pytest.mark.parametrize("shared", [1, 2])
@pytest.mark.parametrize(
    ("form", "window"), [*((f, 0) for f in FORMS), *((f, 5) for f in FORMS[1:])]
)
def test_masks_are_those_of_einsums(form: str, window: int, shared: int, tmp_path: Path) -> None:
    found = exported(Causal(form, shared, window), torch.zeros(1, LENGTH, 32))
    masks = [Mask(keys, shared, window) for keys in ("k", "k", "c")]
    assert [layer.mask for layer in found.layers if layer.mask] == masks
    file = tmp_path / "net.yaml"
    file.write_text(text(shared, window))
    expected = read_einsums(file)
    for made in (found, expected):
        pairs = [layer.pairs for layer in made.layers if layer.mask]
        seen = Mask("k", 1, window).pairs(LENGTH, LENGTH)
        assert pairs == [(shared * seen, shared * LENGTH**2)] * 3
    assert (found.macs, found.params) == (expected.macs, expected.params)
    ours, theirs = (
        [(layer.operator, layer.bounds, layer.mask) for layer in made.layers if layer.mask]
        for made in (found, expected)
    )
    assert ours == theirs


@pytest.mark.parametrize(("form", "window"), [("flag", 0), ("fill", 0), ("matrix", 5)])
def test_plans_are_those_of_einsums(form: str, window: int, tmp_path: Path) -> None:
    program = torch.export.export(Causal(form, 1, window).eval(), (torch.zeros(1, LENGTH, 32),))
    file = tmp_path / "net.yaml"
    file.write_text(text(1, window))
    plans = [
        al.schedule(each, "fast_small", evaluations=20, mapping_evaluations=20)
        for each in (program, file)
    ]
    assert plans[0].edp_js == plans[1].edp_js
    groups = [[len(group.layers) for group in plan.groups] for plan in plans]
    assert groups[0] == groups[1]


@pytest.mark.parametrize("form", FORMS)
def test_files_say_the_same(form: str, tmp_path: Path) -> None:
    module, inputs = Causal(form).eval(), (torch.zeros(2, LENGTH, 32),)
    found = exported(module, *inputs)
    routes = (by_trace, by_graph) if form == "flag" else (by_trace,)
    for route in routes:
        assert explain_difference(found, route(module, inputs, tmp_path / "net.onnx")) == []


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, int, int]:
    queries = draw(st.integers(1, 8))
    keys = queries + draw(st.integers(0, 4))
    return queries, keys, draw(st.integers(0, keys - 1))


@given(sizes(), st.integers(0, 10**6), st.sampled_from([(), (1, 1), (2, 3)]))
def test_windows_of_masks(t: tuple[int, int, int], at: int, lead: tuple[int, ...]) -> None:
    queries, keys, window = t
    own = np.arange(queries)[:, None] + keys - queries
    seen = (np.arange(keys) <= own) & ((np.arange(keys) > own - window) | (window == 0))
    found = causal_window(np.broadcast_to(seen, (*lead, queries, keys)))
    if no_causal_mask(queries, keys, window) or seen.all():
        assert found is None
        return
    assert found == window
    assert Mask("k", 1, window).pairs(queries, keys) == seen.sum()
    assert added_window(np.where(seen, 0.5, -np.inf)) == window
    # a pair more or less is another mask, or a causal one of another window
    seen = np.broadcast_to(seen, (*lead, queries, keys)).copy()
    seen.flat[at % seen.size] ^= True
    other = causal_window(seen)
    heads = seen.size // (queries * keys)
    assert other is None or Mask("k", 1, other).pairs(queries, keys) * heads == seen.sum()


class Given(nn.Module):
    """Attention with a mask that a function makes of the number of positions."""

    def __init__(self, seen) -> None:
        super().__init__()
        self.seen = seen

    def forward(self, x, *mask):
        seen = mask[0] if mask else self.seen(x.shape[1])
        scores = (x @ x.transpose(-1, -2)).masked_fill(~seen, -1e9) if not mask else x @ x.mT + seen
        return scores.softmax(-1) @ x


def prefix(n: int) -> torch.Tensor:
    seen = torch.ones(n, n, dtype=torch.bool).tril()
    return seen | (torch.arange(n) < 3)


OTHERS = {
    "a prefix that all see": prefix,
    "blocks": lambda n: torch.arange(n)[:, None] // 4 == torch.arange(n) // 4,
    "keys before and after": lambda n: (torch.arange(n)[:, None] - torch.arange(n)).abs() < 3,
    "all": lambda n: torch.ones(n, n, dtype=torch.bool),
    "keys after": lambda n: torch.ones(n, n, dtype=torch.bool).triu(),
}


@pytest.mark.parametrize("seen", OTHERS.values(), ids=list(OTHERS))
def test_other_masks_leave_all_pairs(seen) -> None:
    found = exported(Given(seen), torch.zeros(1, 12, 8))
    assert [layer.operator for layer in found.layers] == ["matmul", "softmax", "matmul"]
    assert not any(layer.mask for layer in found.layers)


def test_masks_from_outside_are_data() -> None:
    found = exported(Given(None), torch.zeros(1, 12, 8), torch.zeros(12, 12))
    assert [layer.operator for layer in found.layers].count("add") == 1
    assert not any(layer.mask for layer in found.layers)


def test_scores_that_others_read_and_other_functions_have_no_mask() -> None:
    class Both(nn.Module):
        def forward(self, x):
            scores = x @ x.mT
            masked = scores.masked_fill(torch.ones(12, 12).tril() == 0, -1e9)
            return masked.softmax(-1) @ x, scores.relu(), (x @ x.mT + masked).softmax(-2)

    assert not any(layer.mask for layer in exported(Both(), torch.zeros(1, 12, 8)).layers)


def test_buffers_are_read_and_stay_as_they_are() -> None:
    class Changed(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.zeros(12, 12))

        def forward(self, x):
            mask = self.mask.clone()
            mask.masked_fill_(torch.ones(12, 12).triu(1) > 0, float("-inf"))
            return (x @ x.mT + mask).softmax(-1) @ x

    module = Changed().eval()
    program = torch.export.export(module, (torch.zeros(1, 12, 8),))
    network_of(program, "net")
    assert not module.mask.any()
    assert not any(bool(value.any()) for value in program.state_dict.values())


def attention(
    folder: Path, queries: int, past: int = 0, mask: str = "", data: bool = False, **named: int
) -> list[Mask | None]:
    """The masks of an Attention node of two heads, whose cache has ``past`` keys."""
    inputs = dict.fromkeys("qkv", (1, 2, queries, 4))
    inputs |= {name: (1, 2, past, 4) for name in ("pk", "pv") if past}
    inputs |= {"lengths": (1,)} if data else {}
    made = node("Attention", "q k v", "y", **named)
    beside = [mask, *(("pk", "pv") if past else ("", "")), "lengths" if data else ""]
    made.input.extend(beside)
    constants = {
        "seen": np.tri(queries, dtype=bool),
        "low": np.triu(np.full((queries,) * 2, -1e9), 1),
    }
    constants = (
        {mask: constants[mask].astype(bool if mask == "seen" else np.float32)} if mask else {}
    )
    proto = model([made], inputs, "y", constants, types={"lengths": TensorProto.INT64}, opset=25)
    return [layer.mask for layer in read_onnx(saved(proto, folder)).layers]


def test_attention_of_files_says_whether_it_is_causal(tmp_path: Path) -> None:
    masks, none = [Mask("k"), Mask("k"), Mask("c")], [None] * 3
    assert attention(tmp_path, 6, is_causal=1) == masks
    assert attention(tmp_path, 6, right_window_size=0) == masks
    assert attention(tmp_path, 4, past=3, is_causal=1) == masks
    assert attention(tmp_path, 6, mask="seen") == attention(tmp_path, 6, mask="low") == masks
    near = [Mask("k", 1, 3), Mask("k", 1, 3), Mask("c", 1, 3)]
    assert attention(tmp_path, 6, is_causal=1, left_window_size=2) == near
    # a window as long as the sequence is none
    assert attention(tmp_path, 6, is_causal=1, left_window_size=5) == masks
    assert attention(tmp_path, 6) == none
    assert attention(tmp_path, 1, is_causal=1) == none
    assert attention(tmp_path, 6, left_window_size=2, right_window_size=2) == none
    # how many keys are padding is data
    assert attention(tmp_path, 6, is_causal=1, data=True) == none
