"""Recommendation networks."""

from typing import Final

from archloom.space.workload import Network, mul

from .transformers import SequenceBuilder

#: users and items of MovieLens-20M (Harper and Konstan, TiiS 2015)
_USERS, _ITEMS = 138_493, 26_744
#: features of the factors, and of the perceptron: user and item side by side, then its three
#: layers (MLPerf Training v0.5, whose data set this is too)
_FACTORS: Final = 64
_PERCEPTRON: Final = (256, 256, 128, 64)


def ncf() -> Network:
    """Neural collaborative filtering for one pair of user and item of MovieLens-20M.

    NeuMF (He et al., WWW 2017, section 3.4): a layer with a sigmoid over the product of two
    embeddings beside a perceptron over two others. The four rows of tables are inputs; a batch
    is so many pairs.
    """
    net = SequenceBuilder()
    each = _PERCEPTRON[0] // 2
    sides = {"user": _USERS, "item": _ITEMS}
    user, item = (net.input(f"{s}_factors", _FACTORS, 1, entries=n) for s, n in sides.items())
    product = net.append(mul("product", _FACTORS), user, item)
    user, item = (net.input(s, each, 1, entries=n) for s, n in sides.items())
    x = net.linear("fc1", (user, item), _PERCEPTRON[1], activation="relu")
    for i, features in enumerate(_PERCEPTRON[2:], start=2):
        x = net.linear(f"fc{i}", x, features, activation="relu")
    net.linear("rating", (product, x), 1, activation="sigmoid")
    return net.network("ncf")
