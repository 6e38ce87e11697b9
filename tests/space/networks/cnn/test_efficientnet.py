"""EfficientNets: working sets of FAST, and a block."""

import pytest

from archloom.space.networks.registry import network


@pytest.mark.parametrize(
    ("model", "mib"), [(0, 2.87), (1, 3.3), (2, 3.9), (4, 12.4), (5, 17.8), (6, 31.9), (7, 41.2)]
)
def test_the_largest_working_set_is_that_of_fast(model: int, mib: float) -> None:
    """Zhang et al., ASPLOS 2022, Table 1: input and output of a depthwise layer in bfloat16.

    Their 5.1 MiB of B3 is not among them: it is what an input of 244 rows gives, not 300.
    """
    layers = network(f"efficientnet_b{model}").layers
    words = max(la.input_words + la.output_words for la in layers if la.depthwise)
    assert round(words * 2 / 2**20, 2 if model == 0 else 1) == mib


def test_a_block_of_efficientnet() -> None:
    net = network("efficientnet_b0")
    names = ("expand", "depthwise", "squeeze", "reduce", "excite", "scale", "project")
    layers = {name: net.layers[net.index(f"stage3.1.{name}")] for name in names}
    assert [layers[n].activation for n in ("depthwise", "reduce", "excite", "project")] == [
        "silu",
        "silu",
        "sigmoid",
        "",
    ]
    depthwise, reduce = layers["depthwise"], layers["reduce"]
    assert (depthwise.g, depthwise.r, depthwise.p) == (240, 5, 28)
    # a quarter of the block's input, not of the expanded map; with a bias
    assert (reduce.c, reduce.k, reduce.extra_params) == (240, 10, 10)
    scale = layers["scale"]
    assert net.reads[net.index("stage3.1.scale")] == ("stage3.1.depthwise", "stage3.1.excite")
    assert scale.map_words == (240 * 28 * 28, 240)
    assert net.reads[net.index("stage3.1.add")] == ("stage3.1.project", "stage3.0.project")
