"""Networks, files and studies for tests of workloads."""

from pathlib import Path

from archloom.space.workload.network import Network
from archloom.space.workload.network_builder import Builder

from .studies import write_study

STUDY = """\
seed: 5
workloads:
{workloads}
space: casco_edge
optimizer: {{name: random}}
halving: {{name: msh, rounds: 2, first_budget: 2}}
trials: 2
batch_size: 2
software: {{fusion: casco, population: 2, mapping: random, mapping_evaluations: 20}}
executor: {{name: inline}}
baseline: eyeriss
"""


def chain(*, width: int = 4, rows: int = 8, kind: str = "conv") -> Network:
    """A convolution, a mean and a classifier; ``kind`` is the name."""
    net = Builder((3, rows, rows))
    x = net.conv("first", "input", width, kernel=3, activation="relu")
    net.gemm("last", net.global_avgpool("mean", x), 5)
    return net.network(kind)


def study(folder: Path, *workloads: str) -> Path:
    return write_study(folder, STUDY.format(workloads="\n".join(f"  - {w}" for w in workloads)))


def problem(folder: Path, name: str, **sizes: int) -> None:
    """Write a layer as a Timeloop problem."""
    every = {"N": 1, "K": 1, "C": 1, "P": 1, "Q": 1, "R": 1, "S": 1} | sizes
    instance = ", ".join(f"{dim}: {size}" for dim, size in every.items())
    folder.mkdir(exist_ok=True)
    text = f"problem: {{shape: cnn_layer, instance: {{{instance}}}}}\n"
    (folder / f"{name}.yaml").write_text(text)


def onnx_model(path: Path, width: int = 4) -> None:
    """Write a convolution over a batch and a side that only have names."""
    import onnx

    make = onnx.helper
    kind = onnx.TensorProto.FLOAT
    weights = make.make_tensor("w", kind, (width, 3, 3, 3), [0.5] * (width * 27))
    graph = make.make_graph(
        [make.make_node("Conv", ["x", "w"], ["y"], name="only", pads=[1, 1, 1, 1])],
        "only",
        [make.make_tensor_value_info("x", kind, ("batch", 3, "side", "side"))],
        [make.make_tensor_value_info("y", kind, None)],
        [weights],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), path)
