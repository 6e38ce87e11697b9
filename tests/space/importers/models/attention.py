"""Attention as PyTorch's own modules and functions have it, with random weights."""

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class Cross(nn.Module):
    """``nn.MultiheadAttention`` of one sequence to another; options are those of the module."""

    def __init__(self, **options: object) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(48, 4, **options)  # type: ignore[arg-type]

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        found: Tensor = self.attention(query, key, value, need_weights=False)[0]
        return found


class Masked(nn.Module):
    """A decoder's layer with a causal mask."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(48, 4, 96, batch_first=True)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        found: Tensor = self.layer(x, memory, tgt_mask=self.mask, tgt_is_causal=True)
        return found


class Grouped(nn.Module):
    """Four heads of queries and two of keys and values, shared by ``how``."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.query = nn.Linear(48, 48, bias=False)
        self.key = nn.Linear(48, 24, bias=False)
        self.value = nn.Linear(48, 24, bias=False)
        self.out = nn.Linear(48, 48, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, 4, 12).transpose(1, 2)
        key, value = (
            part(x).view(batch, length, 2, 12).transpose(1, 2) for part in (self.key, self.value)
        )
        if self.how == "repeat":
            key, value = (each.repeat_interleave(2, dim=1) for each in (key, value))
        elif self.how == "expand":
            wide = (batch, 2, 2, length, 12)
            key, value = (
                each[:, :, None].expand(wide).reshape(batch, 4, length, 12) for each in (key, value)
            )
        if self.how == "sdpa":
            made = scaled_dot_product_attention(query, key, value, enable_gqa=True)
        else:
            made = ((query @ key.transpose(-1, -2)) / 12**0.5).softmax(-1) @ value
        found: Tensor = self.out(made.transpose(1, 2).reshape(batch, length, 48))
        return found
