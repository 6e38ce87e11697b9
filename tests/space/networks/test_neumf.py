import pytest

from archloom.space.networks.registry import network


@pytest.mark.parametrize("batch", [1, 256])
def test_ncf(batch):
    """He et al., WWW 2017, on MovieLens-20M: 138,493 users and 26,744 items."""
    net = network("ncf").with_batch(batch)
    tables = (138_493 + 26_744) * (64 + 128)
    matrices = 256 * 256 + 256 * 128 + 128 * 64 + (64 + 64)
    assert net.params == tables + matrices + 256 + 128 + 64 + 1 == 31_832_577
    assert net.macs == batch * matrices == batch * 106_624


def test_both_sides_meet_in_the_last_layer():
    net = network("ncf")
    assert net.reads[net.index("product")] == ("input:user_factors", "input:item_factors")
    assert net.reads[net.index("fc1")] == ("input:user", "input:item")
    rating = net.layers[net.index("rating")]
    assert net.reads[-1] == ("product", "fc3")
    assert (rating.parts, rating.k, rating.activation) == ((64, 64), 1, "sigmoid")
    assert net.layers[net.index("product")].params == (138_493 + 26_744) * 64
