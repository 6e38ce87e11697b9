"""Attention, recurrence and lookups as PyTorch modules, from their papers."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Multi-head attention with a projection each for queries, keys and values.

    With fewer heads of keys and values than of queries, several queries share one (Ainslie et
    al., EMNLP 2023).
    """

    def __init__(self, width, heads, shared=None, bias=True, turn=None):
        super().__init__()
        self.heads, self.shared, self.turn = heads, shared or heads, turn
        self.size = width // heads
        self.query = nn.Linear(width, width, bias)
        self.key = nn.Linear(width, self.shared * self.size, bias)
        self.value = nn.Linear(width, self.shared * self.size, bias)
        self.out = nn.Linear(width, width, bias)

    def split(self, x, heads):
        return x.view(*x.shape[:2], heads, self.size).transpose(1, 2)

    def forward(self, x):
        query = self.split(self.query(x), self.heads)
        key, value = self.split(self.key(x), self.shared), self.split(self.value(x), self.shared)
        if self.turn is not None:
            query, key = self.turn(query), self.turn(key)
        several = self.heads // self.shared
        if several > 1:
            key, value = key.repeat_interleave(several, 1), value.repeat_interleave(several, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.out(mixed.transpose(1, 2).flatten(2))


class PlainAttention(Attention):
    """The same, with its products, scale and softmax written out."""

    def forward(self, x):
        query, key, value = (
            self.split(part(x), self.heads) for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / self.size**0.5
        mixed = scores.softmax(-1) @ value
        return self.out(mixed.transpose(1, 2).flatten(2))


class VisionTransformer(nn.Module):
    """ViT-B/16 (Dosovitskiy et al., ICLR 2021, Table 1), norms before."""

    def __init__(self, depth=12, width=768, heads=12, mlp=3072, size=224, patch=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        block = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, mlp, **block) for _ in range(depth)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class BertLayer(nn.Module):
    """Attention and two products, norms after (Vaswani et al., NeurIPS 2017)."""

    def __init__(self, width, heads, mlp, attention):
        super().__init__()
        self.attention = attention(width, heads)
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))
        self.mlp = nn.Sequential(nn.Linear(width, mlp), nn.GELU(), nn.Linear(mlp, width))

    def forward(self, x):
        x = self.norm1(self.attention(x) + x)
        return self.norm2(self.mlp(x) + x)


class Bert(nn.Module):
    """Devlin et al., NAACL 2019: embeddings, encoder, pooler."""

    def __init__(self, depth=12, width=768, heads=12, mlp=3072, attention=Attention):
        super().__init__()
        self.words, self.types = nn.Embedding(30522, width), nn.Embedding(2, width)
        self.positions = nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, mlp, attention) for _ in range(depth))
        self.pooler = nn.Linear(width, width)

    def forward(self, ids, types):
        places = torch.arange(ids.shape[1]).unsqueeze(0)
        x = self.norm(self.words(ids) + self.types(types) + self.positions(places))
        for layer in self.layers:
            x = layer(x)
        return x, torch.tanh(self.pooler(x[:, 0]))


class NeuMF(nn.Module):
    """He et al., WWW 2017: a product of two factors beside a stack of layers."""

    def __init__(self, users=138493, items=26744, factors=64, widths=(256, 256, 128, 64)):
        super().__init__()
        half = widths[0] // 2
        self.user_gmf, self.item_gmf = nn.Embedding(users, factors), nn.Embedding(items, factors)
        self.user_mlp, self.item_mlp = nn.Embedding(users, half), nn.Embedding(items, half)
        pairs = pairwise(widths)
        self.mlp = nn.Sequential(*(nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in pairs))
        self.last = nn.Linear(factors + widths[-1], 1)

    def forward(self, user, item):
        product = self.user_gmf(user) * self.item_gmf(item)
        mixed = self.mlp(torch.cat([self.user_mlp(user), self.item_mlp(item)], -1))
        return torch.sigmoid(self.last(torch.cat([product, mixed], -1)))


class Crnn(nn.Module):
    """Shi, Bai and Yao, TPAMI 2017, as the authors published it: convolutions, two bidirectional
    LSTMs with a layer between them, labels.
    """

    def __init__(self, labels=37, hidden=256):
        super().__init__()
        table = ((64, 0), (128, 0), (256, 1), (256, 0), (512, 1), (512, 0))
        pools = {2: nn.MaxPool2d(2), 3: nn.MaxPool2d(2)}
        pools |= {i: nn.MaxPool2d(2, (2, 1), (0, 1)) for i in (5, 7)}
        conv, before = [], 1
        for i, (after, norm) in enumerate(table, start=2):
            conv.append(nn.Conv2d(before, after, 3, padding=1))
            conv += [nn.BatchNorm2d(after)] * norm + [nn.ReLU()]
            conv += [pools[i]] if i in pools else []
            before = after
        self.conv = nn.Sequential(*conv, nn.Conv2d(512, 512, 2), nn.BatchNorm2d(512), nn.ReLU())
        both = {"bidirectional": True, "batch_first": True}
        self.lstm1, self.join = nn.LSTM(512, hidden, **both), nn.Linear(2 * hidden, hidden)
        self.lstm2, self.labels = nn.LSTM(hidden, hidden, **both), nn.Linear(2 * hidden, labels)

    def forward(self, x):
        x = self.conv(x).squeeze(2).transpose(1, 2)
        x = self.join(self.lstm1(x)[0])
        return self.labels(self.lstm2(x)[0]).softmax(-1)


class Recurrent(nn.Module):
    """Stacked recurrent layers of one kind, then labels."""

    def __init__(self, kind, features=12, hidden=8, **options):
        super().__init__()
        self.cells = kind(features, hidden, batch_first=True, **options)
        both = 1 + bool(options.get("bidirectional"))
        self.labels = nn.Linear(options.get("proj_size") or both * hidden, 5)

    def forward(self, x):
        return self.labels(self.cells(x)[0])


class Turn(nn.Module):
    """Rotary position embedding, halves turned against each other (Su et al., 2021)."""

    def __init__(self, size, positions):
        super().__init__()
        speed = 1e4 ** (-torch.arange(0, size, 2) / size)
        angles = torch.arange(positions)[:, None] * torch.cat([speed, speed])
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        first, second = x.chunk(2, -1)
        return x * self.cos + torch.cat([-second, first], -1) * self.sin


class Decoder(nn.Module):
    """A decoder's layer as in Llama: RMS norms, shared heads, rotary embedding, gated products."""

    def __init__(self, width=64, heads=8, shared=2, mlp=160, positions=12):
        super().__init__()
        turn = Turn(width // heads, positions)
        self.attention = Attention(width, heads, shared, False, turn)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.gate, self.up = nn.Linear(width, mlp, False), nn.Linear(width, mlp, False)
        self.down = nn.Linear(mlp, width, False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))
