"""Attention as PyTorch's own modules and functions have it, with random weights."""

import torch
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


class Causal(nn.Module):
    """Four heads, ``shared`` of them to a head of keys, with a causal mask written in one ``form``.

    ``fill``, ``where`` and ``matrix`` are those of published code of GPT-2 and Llama: a buffer of
    more positions than there are, cut to size, or a matrix that is made for the sequence.
    """

    def __init__(self, form: str, shared: int = 1, window: int = 0) -> None:
        super().__init__()
        self.form, self.shared, self.window = form, shared, window
        self.query = nn.Linear(32, 32, bias=False)
        self.key = nn.Linear(32, 32 // shared, bias=False)
        self.value = nn.Linear(32, 32 // shared, bias=False)
        self.out = nn.Linear(32, 32, bias=False)
        seen = torch.ones(48, 48).tril()
        self.register_buffer("seen", (seen.triu(1 - window) if window else seen)[None, None])

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, -1, 8).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        seen = self.seen[:, :, :length, :length]
        if self.form == "flag":
            grouped = {"enable_gqa": self.shared > 1}
            made = scaled_dot_product_attention(query, key, value, is_causal=True, **grouped)
        else:
            key, value = (each.repeat_interleave(self.shared, 1) for each in (key, value))
            if self.form == "argument":
                made = scaled_dot_product_attention(query, key, value, attn_mask=seen.bool())
            else:
                scores = self.masked(query @ key.transpose(-1, -2) / 8**0.5, seen)
                made = nn.functional.dropout(scores.softmax(-1), 0.1, self.training) @ value
        found: Tensor = self.out(made.transpose(1, 2).reshape(batch, length, 32))
        return found

    def masked(self, scores: Tensor, seen: Tensor) -> Tensor:
        """Scores, with pairs that are not seen so low that their shares are 0."""
        if self.form == "fill":
            return scores.masked_fill(seen == 0, float("-inf"))
        if self.form == "where":
            return torch.where(seen.bool(), scores, torch.full([], -1e9))
        if self.form == "difference":
            return scores - 1e9 * (1 - seen)
        length, least = scores.shape[-1], torch.finfo(scores.dtype).min
        matrix = torch.full((length, length), least).triu(1)
        if self.window:
            far = torch.arange(length)[:, None] - torch.arange(length) >= self.window
            matrix = matrix + torch.full((length, length), least / 2) * far
        return scores + matrix
