"""What is wrong with a file of einsums: all of it at once, each with line, key and rank."""

from pathlib import Path

import pytest

from archloom.space.importers import ImportProblem
from archloom.space.importers.einsum import read_einsums

from ....cases.einsum_files import einsum_text, einsums

RANKS = {"b": 2, "h": 3, "q": 8, "k": "q", "d": 4, "r": 3, "z": 9}


def problems(lines: str, **keys: str) -> tuple[str, ...]:
    with pytest.raises(ImportProblem) as caught:
        einsums(lines, RANKS, **keys)
    return caught.value.problems


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("S[h,qq] = Q[h,qq]", "rank qq has no size; add it under ranks; did you mean q?"),
        ("S[h,q,d] = Q[h,q]", "S: rank d occurs on the left only"),
        ("S[h] = exp(Q[h,q])", "S: rank q is not on the left, and no product sums over it"),
        ("S[h] = Q[h,q] * K[q,k]", "sums over rank k, which only K[q,k] has"),
        ("S[q] = A[q,k] * B[k,d] * C[d]", "has 3 factors and sums over rank k; put parentheses"),
        ("S[q] = W[q] * V[q]", "multiplies the weights W[q] and V[q]"),
        ("S[q] = relu(W[q])", "relu(W[q]) reads only a weight"),
        ("S[q] = W[q] + V[q]", "adds weights only"),
        ("S[q] = W[q]", "computed from weights only"),
        ("S[q] = 2 * 3", "rank q occurs on the left only"),
        ("S[q] = A[q] / V[q] + 1 / A[q]", "divides 1 by a tensor"),
        ("S[q] = V[q] / A[q]", "divides the weight V[q]"),
        ("S[q] = softmx(A[q])", "function 'softmx' is not known; did you mean softmax?"),
        ("S[q] = softmax(A[q])", "softmax needs one rank over which it works"),
        ("S[q] = softmax(A[q], d)", "softmax works over rank d, which A[q] must have exactly once"),
        ("S[q] = relu(A[q], q)", "relu works on single values; remove q"),
        (
            "S[q] = max(A[q,k], k)",
            "max works over the ranks that are not on the left; do not name ranks",
        ),
        ("S[q] = A[q] * mean(A[q])", "mean(A[q]) works over ranks that are not on the left"),
        ("S[q] = max(A[q,k] + A[q,k])", "max takes one feature map"),
        ("S[q] = A[q,q]", "A[q,q] has rank q in two indices"),
        (
            "S[q] = A[q] + B[q,k]",
            "rank k of B[q,k] is not on the left; sum over it in a line of its own",
        ),
        ("S[q] = A[q+r] * B[r]", "B[r] must be a weight; add it under weights"),
        ("S[q] = A[q+r]", "index q+r of A[q+r] is a window"),
        ("S[q] = A[q] * W[q+r]", "W[q+r] is a weight, so its indices must be ranks"),
        ("S[q] = A[q+r+k] * W[r,k]", "has ranks r and k, which both are summed over"),
        ("S[q,k,d] = A[q+k] * W[d]", "has ranks q and k, which both are on the left"),
        ("S[q] = A[q+r+1] * W[r]", "begins at 1, must begin at 0, or below 0 for padding"),
        ("S[q] = A[q+r-3] * W[r]", "begins 3 values before it, but a window spans only 3"),
        ("S[q] = I[q+r] * W[r]", "ends 1 values behind its 9; the padding behind"),
        ("S[d] = I[d+r] * W[r]", "leaves 3 of its 9 values unread, and one more window would fit"),
        ("S[q,b] = A[q+k] * W[k,b] + I[b]", "rank b is 2, but index 1 of I is 9: I[z] on line"),
        ("S[q] = I[q,k]", "I[q,k] has 2 indices, I has 1: I[z] on line"),
        ("S[q,h,b] = A[q+r,h,b,d] * W[r,d]", "windows or positions along q+r, h, b"),
        ("S[q] = max(A[q+r,d])", "max works over windows and over rank d"),
        ("S[q,h,b] = max(A[q+r,h+r2,b+k])", "rank r2 has no size"),
        ("S[q] = A[q+r] * W[r,d]", "sums over rank d, which only W[r,d] has"),
        ("S[q] = A[q+r] * W[d]", "sums over rank r of A[q+r], which W[d] does not have"),
        ("S[q,r] = A[q-1,r] * W[q]", "a rank of the kernel must be summed over"),
        ("W[q] = A[q]", "computes W, which is listed under weights"),
        ("A[q] = A[q]", "reads A, which no earlier line computes"),
        ("S[q = A[q]", "needs , or ] at character 5"),
        ("3", "3 must be a line such as"),
    ],
)
def test_a_line_that_cannot_be(line: str, message: str) -> None:
    text = problems(
        f"X[z] = relu(I[z])\n{line}",
        weights="[W, V]",
        inputs="{I: [z]}",
    )
    assert any(message in each and each.startswith("line 6: einsums[1]: ") for each in text), text


def test_everything_at_once_with_its_line_and_nothing_that_follows_from_it() -> None:
    assert problems(
        """
        S[h,q,k] = Q[h,q,dd] * K[h,k,d]
        P[h,q,k] = softmax(S[h,q,k], j)
        O[h,q,d] = P[h,q,k] * U[h,k,d]
        O[h,q,d] = O[h,q,d]
        """,
        weights="[U, Y]",
        outputs="[PP]",
        batches="b",
    ) == (
        "line 2: weights[1]: no line reads Y; known: K, O, P, Q, S, U",
        "line 3: outputs[0]: no line computes PP; did you mean P?",
        "line 4: batches: is not known; did you mean batch?",
        "line 6: einsums[0]: rank dd has no size; add it under ranks; did you mean d?",
        "line 7: einsums[1]: rank j has no size; add it under ranks; known: b, h, q, k, d, r, z",
        "line 9: einsums[3]: computes O, which is computed on line 8 already",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Y[q,d] = X[b,q,h] * W[h,d]", "Y must have the batch rank b"),
        ("Y[b,q,d] = X[q,h] * W[h,d]", "X[q,h] must have the batch rank b too"),
        ("Y[b,q] = X[b+r,q] * W[r]", "X[b+r,q] must have the batch rank b as an index by itself"),
        (
            "Y[b,q,d] = X[b,q,h] * W[b,h,d]",
            "W[b,h,d] is a weight, so it may not have the batch rank b",
        ),
        ("Y[b,q] = softmax(X[b,q], b) * W[q]", "works over the batch rank b"),
        ("Y[b,k] = X[k,b] * W[k] + X[b,k]", "has the batch rank b as index 1, elsewhere X has it"),
    ],
)
def test_a_batch_that_is_none(line: str, message: str) -> None:
    found = problems(line, weights="[W]", batch="b")
    assert any(message in text for text in found), found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks: {q: 1}", "must have the key einsums, but it has keys ranks"),
        ("", "must have the key einsums, but it has no keys"),
        ("[1]", "must have the key einsums"),
        ("einsums: [", "is not YAML"),
        ("einsums: 3\nranks: {q: 1}", "line 1: einsums: 3 must be a list of lines"),
        ("einsums: []\nranks: {q: 1}", "must be a list of lines"),
        ("einsums: ['Y[q] = X[q]']", "ranks: None must be a mapping of ranks to sizes"),
        ("ranks: {q: 0}\neinsums: ['Y[q] = X[q]']", "line 1: ranks.q: 0 must be a whole number"),
        ("ranks: {q: 2.5}\neinsums: ['Y[q] = X[q]']", "ranks.q: 2.5 must be a whole number"),
        ("ranks: {q: k, k: q}\neinsums: ['Y[q] = X[q]']", "ranks.q: depends on itself"),
        (
            "ranks: {q: 8-9}\neinsums: ['Y[q] = X[q]']",
            "ranks.q: '8-9' is -1, so it must be a whole",
        ),
        ("ranks: {q: 8//0}\neinsums: ['Y[q] = X[q]']", "ranks.q: '8//0' divides by 0"),
        ("ranks: {q: 8/2}\neinsums: ['Y[q] = X[q]']", "'8/2' may contain whole numbers, ranks"),
        ("ranks: {q: kk, k: 3}\neinsums: ['Y[q] = X[q]']", "rank 'kk' in 'kk' has no size"),
        ("ranks: {'1q': 3}\neinsums: ['Y[q] = X[q]']", "'1q' must be a name of letters"),
        ("ranks: {q: 1}\nbatch: p\neinsums: ['Y[q] = X[q]']", "line 2: batch: 'p' is not a rank"),
        ("ranks: {q: 1}\nname: 3\neinsums: ['Y[q] = X[q]']", "line 2: name: 3 must be a text"),
        ("ranks: {q: 1}\nweights: [W, W]\neinsums: ['Y[q] = X[q]*W[q]']", "names W twice"),
        ("ranks: {q: 1}\nweights: W\neinsums: ['Y[q] = X[q]']", "'W' must be a list of tensors"),
        ("ranks: {q: 1}\ninputs: [X]\neinsums: ['Y[q] = X[q]']", "must be a mapping of tensors"),
        ("ranks: {q: 1}\ninputs: {X: q}\neinsums: ['Y[q] = X[q]']", "must be a list of ranks"),
        ("ranks: {q: 1}\ninputs: {X: [p]}\neinsums: ['Y[q] = X[q]']", "rank p has no size"),
        ("ranks: {q: 1}\ninputs: {Z: [q]}\neinsums: ['Y[q] = X[q]']", "no line reads Z"),
        (
            "ranks: {q: 9007199254740992, k: q}\neinsums: ['Y[q] = X[q,k] * Z[k]']",
            "line 2: einsums[0]",
        ),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(text)
    with pytest.raises(ImportProblem) as caught:
        read_einsums(path)
    assert any(message in each for each in caught.value.problems), caught.value.problems


def test_an_unknown_size_that_was_chosen(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(einsum_text("Y[q] = relu(X[q])", RANKS))
    with pytest.raises(ImportProblem, match=r"'qq' is not a rank; did you mean q\?"):
        read_einsums(path, {"qq": 3})


@pytest.mark.parametrize(
    ("causal", "message"),
    [
        ("[q, k]", "['q', 'k'] must name the ranks of queries and keys"),
        ("{queries: q}", "must name the ranks of queries and keys"),
        ("{queries: q, keys: kk}", "keys is 'kk', which is not a rank; did you mean k?"),
        ("{queries: q, keys: k, windows: 3}", "'windows' is not known; did you mean window?"),
        ("{queries: q, keys: k, window: 0}", "window is 0, must be a whole number"),
        ("{queries: q, keys: k, window: 2}", "no query sees the first key; least: 3"),
        ("{queries: k, keys: q}", "6 queries see 4 keys"),
        ("{queries: q, keys: d}", "4 queries see 3 keys"),
        ("{queries: d, keys: q}", "no product of a feature map of rank d with one of rank q"),
    ],
)
def test_a_mask_that_is_none(causal: str, message: str) -> None:
    sizes = {"h": 2, "q": 4, "k": 6, "d": 3}
    with pytest.raises(ImportProblem) as caught:
        einsums("S[h,q,k] = Q[h,q,d] * K[h,k,d]", sizes, causal=causal)
    assert [message in text for text in caught.value.problems] == [True], caught.value.problems
    assert "line 2: causal: " in caught.value.problems[0]


@pytest.mark.parametrize(
    "line", ["S[h,k,q] = Q[h,q,d] * K[h,k,d]", "S[h,q,k,j] = Q[h,q] * K[h,k,j]"]
)
def test_a_product_that_no_mask_fits(line: str) -> None:
    sizes = {"h": 2, "q": 4, "k": 6, "d": 3, "j": 2}
    with pytest.raises(ImportProblem, match="a causal mask needs rank q along the rows"):
        einsums(line, sizes, causal="{queries: q, keys: k}")
