"""A small network in which every operator stands at least once."""

from dataclasses import replace

from archloom.space.workload import layer_builders as ops, vector_layer_builders as vectors
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice
from archloom.space.workload.vector_ops import ACTIVATIONS


class _Chain:
    """Layers and what they read; by default what the last layer made."""

    def __init__(self):
        self.layers, self.reads = [], []

    def append(self, layer, *sources):
        last = self.layers[-1].name if self.layers else "input"
        self.layers.append(layer)
        self.reads.append(sources or (last,))
        return layer.name


def every_operator() -> Network:
    """Return images, then attention over their pixels, then steps of an LSTM and of GRUs."""
    net = _Chain()
    _images(net)
    _attention(net)
    net.append(ops.global_pool("mean", 8, (6, 1)))
    _steps(net)
    _resets(net)
    net.append(ops.linear("fc", 4, 3))
    net.append(vectors.softmax("classes", 3))
    leaving = ("key", "first.state")
    return Network("every_operator", tuple(net.layers), tuple(net.reads), leaving)


def _images(net):
    net.append(ops.conv2d("plain", 3, 4, (5, 4), 3, padding=1))
    net.append(ops.conv2d("strided", 4, 8, (5, 4), 3, 2, 1, batch_norm=True))
    net.append(ops.conv2d("dilated", 8, 8, (3, 2), 3, padding=2, dilation=2))
    net.append(ops.conv2d("grouped", 8, 4, (3, 2), 1, groups=2))
    net.append(ops.conv2d("depthwise", 4, 4, (3, 2), 3, padding=1, groups=4, activation="relu6"))
    net.append(ops.conv_transpose2d("up", 4, 4, (3, 2), 3, 2, 1, 1))
    net.append(ops.max_pool2d("peaks", 4, (6, 4), 3, 1, 1))
    net.append(ops.avg_pool2d("means", 4, (6, 4), 2))
    for function in ACTIVATIONS:
        net.append(ops.activation(function, function, 4, (3, 2)))
    net.append(ops.global_pool("squeeze", 4, (3, 2)), "means")
    net.append(ops.conv2d("excite", 4, 4, 1, 1, activation="sigmoid"))
    net.append(ops.mul("scale", 4, (3, 2), broadcast=True), "tanh", "excite")
    net.append(ops.add("sum", 4, (3, 2)), "scale", "means")
    net.append(vectors.scale_shift("affine", 8, (3, 2), parts=(4, 4)), "sum", "means")
    net.append(vectors.bilinear("smooth", (8, 6, 4), 48))
    crop = Slice((0, 1, 1), (8, 3, 2), (8, 6, 4))
    net.append(replace(vectors.copy("crop", (8, 3, 2), (48,)), slices=(crop,)))
    net.append(vectors.group_norm("groups", 8, (3, 2), 2))
    part = Slice((4, 0, 0), (4, 3, 2), (8, 3, 2))
    net.append(replace(ops.mul("share", 4, (3, 2)), slices=(None, part)), "sum", "crop")
    net.append(ops.conv2d("half", 4, 4, (3, 2), 1), "share")
    net.append(replace(vectors.div("ratio", 4, (3, 2)), slices=(None, part)), "half", "crop")


def _attention(net):
    net.append(ops.conv1d("tokens", 24, 8, 1, 1))
    net.append(ops.conv_transpose2d("spread", 8, 8, (1, 1), (6, 1), (6, 1)))
    net.append(vectors.rms_norm("scaled", 8, 6))
    net.append(vectors.rotary("turned", 8, 6))
    net.append(vectors.layer_norm("norm", 8, 6))
    for name in ("query", "key", "value"):
        net.append(ops.linear(name, 8, 8, 6), "norm")
    net.append(ops.matmul("scores", 2, 6, 4, 9, second=(24, 48)), "query", "input:keys", "key")
    net.append(vectors.softmax("weights", 9, 6, heads=2))
    part = Slice((0, 0, 0), (12, 6, 1), (18, 6, 1))
    net.append(replace(ops.matmul("mixed", 2, 6, 6, 4), slices=(part, None)), "weights", "value")
    net.append(ops.linear("project", 8, 8, 6))
    net.append(ops.add("residual", 8, (6, 1)), "project", "spread")


def _steps(net):
    last = "input:output", "input:state"
    for name in ("first", "second"):
        gates, state, output = ops.lstm_cell(name, 8, 4)
        if name == "second":
            gates = replace(gates, weights_of="first.gates", extra_params=0)
        net.append(gates, "mean", last[0])
        net.append(state, gates.name, last[1])
        net.append(output, gates.name, state.name)
        last = output.name, state.name


def _resets(net):
    """One step of a GRU of either kind."""
    last = net.layers[-1].name
    gates, fresh, kept, output = ops.gru_cell("after", 4, 4)
    net.append(gates, last, "input:hidden")
    net.append(fresh, last)
    net.append(kept, "input:hidden")
    net.append(output, gates.name, fresh.name, kept.name, "input:hidden")
    gates, reset, fresh, out = ops.gru_cell("before", 4, 4, reset_after=False)
    net.append(gates, output.name, output.name)
    net.append(reset, gates.name, output.name)
    net.append(fresh, last, reset.name)
    net.append(out, gates.name, fresh.name, output.name)
