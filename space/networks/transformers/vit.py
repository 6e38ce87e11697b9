"""Vision transformers (Dosovitskiy et al., ICLR 2021)."""

from archloom.space.workload import INPUT, Network, copy

from .transformer import Heads, SequenceBuilder

#: ViT-B (Dosovitskiy et al., Table 1), 16x16 patches of 224x224 pixels
_LAYERS, _FEATURES, _HIDDEN, _HEADS = 12, 768, 3072, 12
_PATCH, _ROWS, _CLASSES = 16, 224, 1000


def vit_b_16() -> Network:
    """ViT-B/16 for 224x224 ImageNet (Dosovitskiy et al., ICLR 2021, section 3.1).

    Queries, keys and values come from one matrix product, as PyTorch's attention has them; a
    classifier of one layer follows, as the paper has it after fine-tuning.
    """
    net = SequenceBuilder((3, _ROWS, _ROWS))
    patches = (_ROWS // _PATCH) ** 2
    x = net.conv(
        "patches", INPUT, _FEATURES, kernel=_PATCH, stride=_PATCH, padding=0, batch_norm=False
    )
    token = net.input("class_token", _FEATURES, 1, entries=1)
    words = (_FEATURES, patches * _FEATURES)
    x = net.append(copy("tokens", (_FEATURES, patches + 1, 1), words), token, x)
    where = net.input("position_embedding", _FEATURES, patches + 1, entries=patches + 1)
    x = net.sum("embedding", x, where)
    for i in range(_LAYERS):
        x = _layer(net, f"layer{i}", x)
    x = net.layer_norm("norm", x)
    net.linear("head", net.position(x, 0), _CLASSES)
    return net.network("vit_b_16")


def _layer(net: SequenceBuilder, name: str, source: str) -> str:
    """Attention and a perceptron, each of a norm and with a shortcut (equations 2 and 3)."""
    x = net.layer_norm(f"{name}.norm1", source)
    x = net.linear(f"{name}.qkv", x, 3 * _FEATURES)
    query, key, value = (net.columns(x, i * _FEATURES, _FEATURES) for i in range(3))
    x = net.attention(name, Heads(_HEADS, _FEATURES // _HEADS), query, key, value)
    source = net.sum(f"{name}.add1", net.linear(f"{name}.project", x, _FEATURES), source)
    x = net.layer_norm(f"{name}.norm2", source)
    x = net.linear(f"{name}.expand", x, _HIDDEN, activation="gelu")
    return net.sum(f"{name}.add2", net.linear(f"{name}.contract", x, _FEATURES), source)
