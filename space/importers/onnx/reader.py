"""Networks from ONNX files.

A file goes through four steps. It is loaded and its inputs get their sizes
(:mod:`.file`). Its nodes are walked in their order (:mod:`.translate`): what depends on
constants alone is computed (:mod:`.constant_folding`), functions and branches are put in place
(:mod:`.inline_functions`), and every other node is checked, gets its shape by ONNX's shape
inference (:mod:`.node`) and becomes operators of the graph that all front ends make
(:mod:`archloom.space.importers.graph`). From there on an ONNX file is like any other network.
"""

from collections.abc import Mapping
from pathlib import Path

from archloom.space.workload import Network

from ..errors import ImportProblem
from ..graph import Graph
from .file import constants, inputs, load, opsets
from .inline_functions import needed
from .translate import GraphTranslation
from .value import OnnxError, Value

#: Problems that a message tells of one file.
_TOLD = 20


def read_onnx(path: Path, dimensions: Mapping[str, int] | None = None) -> Network:
    """Return the network in an ONNX file; its name is that of the file.

    Args:
        path: of the file. Weights may stand in files beside it, which are not read.
        dimensions: sizes of dimensions that the file leaves open, by their name, or by
            ``INPUT.AXIS`` (``{"batch": 1}``, ``{"image.0": 1}``).

    Raises:
        ImportProblem: the file cannot be read or is damaged, it leaves dimensions open, or it
            holds what has no layers; tells everything at once.
    """
    from archloom.space.importers.lowering import lower
    from archloom.space.importers.patterns import simplify

    graph = read_graph(path, dimensions)
    try:
        return lower(simplify(graph))
    except ImportProblem as problem:
        raise ImportProblem(str(path), problem.problems) from None


def read_graph(path: Path, dimensions: Mapping[str, int] | None = None) -> Graph:
    """Return the operators of an ONNX file, before it is decided which layers they are.

    Args and what is raised are as for :func:`read_onnx`.
    """
    path = Path(path)
    model = load(path)
    try:
        versions = opsets(model)
    except OnnxError as fault:
        raise ImportProblem(str(path), [str(fault)]) from None
    given, problems = inputs(model.graph, dimensions or {}, path.name)
    known, wrong = constants(model.graph, path.parent)
    _refuse(path, problems + wrong)
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    translation = GraphTranslation({v.name: v for v in given} | known, functions, path.parent)
    try:
        translation.run(needed(model.graph), versions)
    except OnnxError as fault:
        _refuse(path, [*translation.reports(), str(fault)])
    outputs, missing = _outputs([o.name for o in model.graph.output], translation)
    _refuse(path, translation.reports() + missing)
    return _graph(path.stem, given, outputs, translation)


def _refuse(path: Path, problems: list[str]) -> None:
    if len(problems) > _TOLD:
        problems = [*problems[:_TOLD], f"and {len(problems) - _TOLD} more"]
    if problems:
        raise ImportProblem(str(path), problems)


def _outputs(names: list[str], translation: GraphTranslation) -> tuple[list[Value], list[str]]:
    """Return the outputs that the network computes, and what is wrong with others."""
    found, missing = [], []
    for name in names:
        value = translation.values.get(name)
        if value is None:
            why = translation.lost(name)
            if why != "":
                missing.append(f"output {name}: {why or 'no node computes it'}")
        elif not value.name:
            missing.append(f"output {name}: booleans are not supported")
        elif not value.constant:
            found.append(value)
    if not found and not missing and not translation.reports():
        missing.append("no output depends on the inputs; nothing is left to evaluate")
    return found, missing


def _graph(
    name: str, inputs: list[Value], outputs: list[Value], translation: GraphTranslation
) -> Graph:
    """Return what the outputs depend on."""
    maker = translation.maker
    for value in (*inputs, *outputs):
        maker.use(value)
    wanted = {value.name for value in outputs}
    kept = []
    for op in reversed(maker.ops):
        if wanted.intersection(op.outputs):
            kept.append(op)
            wanted.update(op.inputs)
    names = {n for op in kept for n in (*op.inputs, *op.outputs) if n}
    names |= {value.name for value in (*inputs, *outputs)}
    tensors = {n: t for n, t in maker.tensors.items() if n in names}
    learned = {n for t in tensors.values() for n in t.learned}
    return Graph(
        name,
        tensors,
        tuple(reversed(kept)),
        tuple(value.name for value in inputs),
        tuple(dict.fromkeys(value.name for value in outputs)),
        {n: size for n, size in maker.sizes.items() if n in learned},
    )
