"""Conversion of the problem of a case to a layer: which of its dimensions plays which part."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from archloom.space.workload import C, G, K, Layer, N, P, Q, R, S

from ...errors import did_you_mean
from .record import Problem, RecordError

CASE_TENSORS = ("Weights", "Inputs", "Outputs")

#: which tensors a dimension indexes (weights, inputs, outputs), and slots that behave so; the
#: rows and columns of a window without its partner are like a batch or like input channels
_SLOTS: dict[tuple[bool, bool, bool], tuple[int, ...]] = {
    (True, True, True): (G,),
    (True, False, True): (K,),
    (True, True, False): (C, R, S),
    (False, True, True): (N, P, Q),
}


@dataclass
class _Assignment:
    """Slots given out so far.

    Attributes:
        slots: place in DIMS of each dimension.
        stride, dilation: of the two axes.
    """

    slots: dict[str, int] = field(default_factory=dict)
    stride: list[int] = field(default_factory=lambda: [1, 1])
    dilation: list[int] = field(default_factory=lambda: [1, 1])

    def axis_open(self, axis: int) -> bool:
        return P + axis not in self.slots.values() and R + axis not in self.slots.values()


@dataclass(frozen=True)
class CaseLayer:
    """A layer, and for each dimension of the case its place in DIMS.

    A dimension of one step that indexes nothing has no place.
    """

    layer: Layer
    slots: dict[str, int]


def case_layer(problem: Problem) -> CaseLayer:
    """Return the layer that computes what the problem's loop nest does.

    Any names will do: a dimension's part follows from the tensors that it indexes. Two
    dimensions that share a rank of the inputs are a window; one that stands there alone with a
    coefficient is a window of one element.

    Raises:
        RecordError: every dimension or rank that the loop-nest model has no part for.
    """
    faults = _name_faults(problem)
    if faults:
        raise RecordError(faults)
    given = _Assignment()
    windows = _windows(problem, faults)
    for out, kernel, stride, dilation in windows:
        _place_window(out, kernel, stride, dilation, given, faults)
    ranks = {t: {d for rank in problem.projections[t] for d, *_ in rank} for t in CASE_TENSORS}
    for dim, bound in problem.dims.items():
        if dim not in given.slots:
            _place(dim, bound, tuple(dim in ranks[t] for t in CASE_TENSORS), given, faults)
    if faults:
        raise RecordError(faults)
    return CaseLayer(_layer(problem, given), given.slots)


def _name_faults(problem: Problem) -> list[str]:
    faults = [
        f"problem.projections: {name!r} is not a tensor; {did_you_mean(name, CASE_TENSORS)}"
        for name in problem.projections
        if name not in CASE_TENSORS
    ]
    faults += [
        f"problem.projections: {name} is missing"
        for name in CASE_TENSORS
        if name not in problem.projections
    ]
    for tensor, ranks in problem.projections.items():
        for i, rank in enumerate(ranks):
            where = f"problem.projections.{tensor}[{i}]"
            for term in rank:
                if term[0] not in problem.dims:
                    hint = did_you_mean(term[0], list(problem.dims))
                    faults.append(f"{where}: {term[0]!r} is not a dimension; {hint}")
                if len(term) == 2 and problem.coefficient(term[1]) is None:
                    faults.append(
                        f"{where}: coefficient {term[1]!r} is not in problem.coefficients"
                    )
            if tensor != "Inputs" and (len(rank) != 1 or _step(problem, rank[0]) != 1):
                faults.append(f"{where}: only Inputs can have windows or strides, got {rank}")
        named = [term[0] for rank in ranks for term in rank]
        faults += [
            f"problem.projections.{tensor}: {d} occurs in {named.count(d)} ranks, must "
            "occur in at most 1"
            for d in dict.fromkeys(named)
            if named.count(d) > 1
        ]
    return faults


def _step(problem: Problem, term: Sequence[str]) -> int | None:
    return problem.coefficient(term[1]) if len(term) == 2 else 1


def _windows(problem: Problem, faults: list[str]) -> list[tuple[str, str | None, int, int]]:
    """Windows as (output dimension, kernel dimension, stride, dilation)."""
    made = {rank[0][0] for rank in problem.projections["Outputs"]}
    found: list[tuple[str, str | None, int, int]] = []
    for i, rank in enumerate(problem.projections["Inputs"]):
        steps = {term[0]: _step(problem, term) or 1 for term in rank}
        outer = [d for d in steps if d in made]
        inner = [d for d in steps if d not in made]
        if len(rank) == 1:
            if steps[rank[0][0]] != 1:
                found.append((rank[0][0], None, steps[rank[0][0]], 1))
        elif len(outer) == 1 and len(inner) == 1:
            found.append((outer[0], inner[0], steps[outer[0]], steps[inner[0]]))
        else:
            faults.append(
                f"problem.projections.Inputs[{i}]: a window needs one dimension of Outputs and one "
                f"of Weights, got {', '.join(steps)}"
            )
    return found


def _place_window(
    out: str, kernel: str | None, stride: int, dilation: int, given: _Assignment, faults: list[str]
) -> None:
    # rows are called P and R, columns Q and S; other names take the axes in turn
    wish = 1 if out in ("Q", "S") or kernel in ("Q", "S") else 0
    axis = next((a for a in (wish, 1 - wish) if given.axis_open(a)), None)
    if axis is None:
        faults.append(f"problem.projections.Inputs: {out} is a third window, must have at most 2")
        return
    given.slots[out] = P + axis
    given.stride[axis] = stride
    if kernel is not None:
        given.slots[kernel] = R + axis
        given.dilation[axis] = dilation


def _place(
    dim: str, bound: int, indexes: tuple[bool, ...], given: _Assignment, faults: list[str]
) -> None:
    slots = _SLOTS.get((indexes[0], indexes[1], indexes[2]), ())
    for slot in slots:
        window = slot in (P, Q, R, S)
        if slot in given.slots.values() or (window and not given.axis_open(slot % 2)):
            continue
        given.slots[dim] = slot
        return
    if bound == 1:  # a loop of one step has no part to play
        return
    where = ", ".join(t for t, used in zip(CASE_TENSORS, indexes, strict=True) if used) or "nothing"
    taken = ", ".join(d for d, slot in given.slots.items() if slot in slots)
    reason = f"{taken} already does: join them" if taken else "the model has no dimension that does"
    faults.append(f"problem.dims.{dim}: indexes {where}; {reason}")


def _layer(problem: Problem, given: _Assignment) -> Layer:
    bounds = [1] * 8
    for dim, slot in given.slots.items():
        bounds[slot] = problem.dims[dim]
    size = [
        (bounds[R + a] - 1) * given.dilation[a] + (bounds[P + a] - 1) * given.stride[a] + 1
        for a in (0, 1)
    ]
    n, g, k, c, p, q, r, s = bounds
    return Layer(
        name=problem.name,
        operator="conv",
        n=n,
        g=g,
        k=k,
        c=c,
        p=p,
        q=q,
        r=r,
        s=s,
        stride=(given.stride[0], given.stride[1]),
        dilation=(given.dilation[0], given.dilation[1]),
        input_size=(size[0], size[1]),
    )
