"""Networks whose maps grow, as PyTorch modules."""

import torch
from torch import nn
from torch.nn import functional


def twice(before, after):
    """Two convolutions without padding."""
    first, second = nn.Conv2d(before, after, 3), nn.Conv2d(after, after, 3)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())


class UNet(nn.Module):
    """Ronneberger et al., MICCAI 2015, Figure 1."""

    def __init__(self):
        super().__init__()
        widths = (64, 128, 256, 512, 1024)
        self.down = nn.ModuleList(twice(a, b) for a, b in zip((1, *widths), widths, strict=False))
        pairs = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.up = nn.ModuleList(twice(a, b) for a, b in pairs)
        self.last = nn.Conv2d(64, 2, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if i else x)
            skips.append(x)
        for grow, block, skip in zip(self.grow, self.up, skips[-2::-1], strict=True):
            x = grow(x)
            edge = (skip.shape[2] - x.shape[2]) // 2
            size = x.shape[2]
            skip = skip[:, :, edge : edge + size, edge : edge + size]
            x = block(torch.cat([skip, x], 1))
        return self.last(x)


class Generator(nn.Module):
    """The generator of SRGAN (Ledig et al., CVPR 2017, Figure 4)."""

    def __init__(self, blocks=16):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 64, 9, padding=4), nn.PReLU(64))
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(64, 64, 3, padding=1),
                nn.BatchNorm2d(64),
                nn.PReLU(64),
                nn.Conv2d(64, 64, 3, padding=1),
                nn.BatchNorm2d(64),
            )
            for _ in range(blocks)
        )
        self.middle = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64))
        grow = [nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.PReLU(64)]
        more = [nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.PReLU(64)]
        self.grow = nn.Sequential(*grow, *more, nn.Conv2d(64, 3, 9, padding=4))

    def forward(self, x):
        first = x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.grow(first + self.middle(x))


class Upsampler(nn.Module):
    """Maps that grow by their neighbours and by interpolation, with a skip."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, 2, 1)
        self.near, self.smooth = (
            nn.Upsample(scale_factor=2),
            nn.Upsample(scale_factor=2, mode="bilinear"),
        )
        self.mix, self.last = nn.Conv2d(11, 8, 3, padding=1), nn.Conv2d(8, 3, 1)

    def forward(self, x):
        y = torch.cat([self.near(torch.relu(self.down(x))), x], 1)
        return self.last(self.smooth(torch.relu(self.mix(y))))
