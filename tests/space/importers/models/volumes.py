"""Networks for videos and volumes, as PyTorch modules: small, but of the published forms."""

import torch
from torch import nn


def space(before: int, after: int, stride: int = 1) -> nn.Module:
    """A convolution along depth, rows and columns."""
    return nn.Conv3d(before, after, 3, stride, 1, bias=False)


def space_then_time(before: int, after: int, stride: int = 1) -> nn.Module:
    """A convolution inside frames, then one along depth, with as many weights as ``space``.

    Tran et al., CVPR 2018 (arXiv:1711.11248), section 3.5.
    """
    middle = 27 * before * after // (9 * before + 3 * after)
    inside = nn.Conv3d(before, middle, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False)
    along = nn.Conv3d(middle, after, (3, 1, 1), (stride, 1, 1), (1, 0, 0), bias=False)
    return nn.Sequential(inside, nn.BatchNorm3d(middle), nn.ReLU(), along)


class Block(nn.Module):
    """A residual block."""

    def __init__(self, conv, before, after, stride):
        super().__init__()
        self.first = nn.Sequential(conv(before, after, stride), nn.BatchNorm3d(after), nn.ReLU())
        self.second = nn.Sequential(conv(after, after), nn.BatchNorm3d(after))
        self.beside = None
        if stride > 1:
            shortcut = nn.Conv3d(before, after, 1, stride, bias=False)
            self.beside = nn.Sequential(shortcut, nn.BatchNorm3d(after))

    def forward(self, x):
        kept = x if self.beside is None else self.beside(x)
        return torch.relu(self.second(self.first(x)) + kept)


class VideoResNet(nn.Module):
    """The form of R3D-18 and R(2+1)D-18 (arXiv:1711.11248, Table 1), with two stages."""

    def __init__(self, conv=space):
        super().__init__()
        stem = nn.Conv3d(3, 8, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm3d(8), nn.ReLU())
        self.blocks = nn.Sequential(Block(conv, 8, 8, 1), Block(conv, 8, 16, 2))
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        return self.last(self.blocks(self.stem(x)).mean((2, 3, 4)))


def twice(before, middle, after):
    """Two convolutions of 3 x 3 x 3, which keep the size."""
    layers = []
    for a, b in ((before, middle), (middle, after)):
        layers += [nn.Conv3d(a, b, 3, padding=1), nn.BatchNorm3d(b), nn.ReLU()]
    return nn.Sequential(*layers)


class VolumeUNet(nn.Module):
    """3D U-Net (Cicek et al., MICCAI 2016, Figure 2) of two levels, with padding."""

    def __init__(self):
        super().__init__()
        self.down, self.deep = twice(1, 8, 16), twice(16, 16, 32)
        self.pool, self.grow = nn.MaxPool3d(2), nn.ConvTranspose3d(32, 32, 2, 2)
        self.up, self.last = twice(16 + 32, 16, 16), nn.Conv3d(16, 3, 1)

    def forward(self, x):
        skip = self.down(x)
        grown = self.grow(self.deep(self.pool(skip)))
        return self.last(self.up(torch.cat([skip, grown], 1)))
