"""Vision transformers (Dosovitskiy et al., ICLR 2021)."""

from archloom.space.workload import INPUT, Network, copy

from .transformer import Heads, SequenceBuilder

#: 16x16 patches of 224x224 pixels
_PATCH, _ROWS, _CLASSES = 16, 224, 1000


def vit(name: str, layers: int, features: int, heads: int, /) -> Network:
    """Vision transformer for 224x224 ImageNet (Dosovitskiy et al., ICLR 2021, section 3.1).

    Layers, features and heads are those of Table 1; the perceptron has four times the features.
    Queries, keys and values come from one matrix product, as PyTorch's attention has them; a
    classifier of one layer follows, as the paper has it after fine-tuning.
    """
    net = SequenceBuilder((3, _ROWS, _ROWS))
    patches = (_ROWS // _PATCH) ** 2
    x = net.conv(
        "patches", INPUT, features, kernel=_PATCH, stride=_PATCH, padding=0, batch_norm=False
    )
    token = net.input("class_token", features, 1, entries=1)
    words = (features, patches * features)
    x = net.append(copy("tokens", (features, patches + 1, 1), words), token, x)
    where = net.input("position_embedding", features, patches + 1, entries=patches + 1)
    x = net.sum("embedding", x, where)
    for i in range(layers):
        x = _layer(net, f"layer{i}", x, Heads(heads, features // heads))
    x = net.layer_norm("norm", x)
    net.linear("head", net.position(x, 0), _CLASSES)
    return net.network(name)


def _layer(net: SequenceBuilder, name: str, source: str, heads: Heads) -> str:
    """Attention and a perceptron, each of a norm and with a shortcut (equations 2 and 3)."""
    features = net.channels(source)
    x = net.layer_norm(f"{name}.norm1", source)
    x = net.linear(f"{name}.qkv", x, 3 * features)
    query, key, value = (net.columns(x, i * features, features) for i in range(3))
    x = net.attention(name, heads, query, key, value)
    source = net.sum(f"{name}.add1", net.linear(f"{name}.project", x, features), source)
    x = net.layer_norm(f"{name}.norm2", source)
    x = net.linear(f"{name}.expand", x, 4 * features, activation="gelu")
    return net.sum(f"{name}.add2", net.linear(f"{name}.contract", x, features), source)
