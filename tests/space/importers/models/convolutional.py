"""Convolutional networks as PyTorch modules, from their papers."""

import torch
from torch import nn


def norm_conv(before, after, kernel, stride=1, groups=1, act=nn.ReLU, eps=1e-5):
    """Convolution, batch norm, activation."""
    parts = [
        nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after, eps=eps),
    ]
    return nn.Sequential(*parts, *([act()] if act else []))


class Residual(nn.Module):
    """Body and shortcut, added up, then perhaps an activation (He et al., CVPR 2016)."""

    def __init__(self, body, shortcut=None, act=None):
        super().__init__()
        self.body, self.shortcut = body, shortcut or nn.Identity()
        self.act = act or nn.Identity()

    def forward(self, x):
        return self.act(self.body(x) + self.shortcut(x))


def classifier(channels, classes=1000):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


def resnet(block, depths, expansion):
    """Four stages of residual blocks; the first of each but one halves rows and columns."""
    layers = [norm_conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for stage, depth in enumerate(depths):
        width = 64 * 2**stage
        after = width * expansion
        for i in range(depth):
            stride = 2 if stage and not i else 1
            changes = stride > 1 or before != after
            shortcut = norm_conv(before, after, 1, stride, act=None) if changes else None
            layers.append(Residual(block(before, width, after, stride), shortcut, nn.ReLU()))
            before = after
    return nn.Sequential(*layers, *classifier(before))


def _basic(before, width, after, stride):
    return nn.Sequential(norm_conv(before, width, 3, stride), norm_conv(width, after, 3, act=None))


def _bottleneck(groups=1, wider=1):
    def block(before, width, after, stride):
        width *= wider
        return nn.Sequential(
            norm_conv(before, width, 1),
            norm_conv(width, width, 3, stride, groups),
            norm_conv(width, after, 1, act=None),
        )

    return block


def resnet18():
    return resnet(_basic, (2, 2, 2, 2), 1)


def resnet50():
    return resnet(_bottleneck(), (3, 4, 6, 3), 4)


def resnext50():
    """32 groups of width 4 (Xie et al., CVPR 2017, Table 1)."""
    return resnet(_bottleneck(groups=32, wider=2), (3, 4, 6, 3), 4)


def mobilenetv1():
    """Howard et al., arXiv:1704.04861, Table 1."""
    widths = (64, 128, 128, 256, 256, *(512,) * 6, 1024, 1024)
    strides = (1, 2, 1, 2, 1, 2, *(1,) * 5, 2, 1)
    layers, before = [norm_conv(3, 32, 3, 2)], 32
    for after, stride in zip(widths, strides, strict=True):
        layers += [norm_conv(before, before, 3, stride, before), norm_conv(before, after, 1)]
        before = after
    return nn.Sequential(*layers, *classifier(before))


def mobilenetv2():
    """Sandler et al., CVPR 2018, Table 2."""
    table = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    layers, before = [norm_conv(3, 32, 3, 2, act=nn.ReLU6)], 32
    for grow, after, times, first in table:
        for i in range(times):
            stride = 1 if i else first
            wide = before * grow
            body = nn.Sequential(
                *([norm_conv(before, wide, 1, act=nn.ReLU6)] if grow > 1 else []),
                norm_conv(wide, wide, 3, stride, wide, act=nn.ReLU6),
                norm_conv(wide, after, 1, act=None),
            )
            layers.append(Residual(body) if stride == 1 and before == after else body)
            before = after
    layers.append(norm_conv(before, 1280, 1, act=nn.ReLU6))
    return nn.Sequential(*layers, *classifier(1280))


class Fire(nn.Module):
    """Squeeze, then two convolutions side by side (Iandola et al., arXiv:1602.07360)."""

    def __init__(self, before, squeezed, after):
        super().__init__()
        self.squeeze = nn.Sequential(nn.Conv2d(before, squeezed, 1), nn.ReLU())
        self.one = nn.Sequential(nn.Conv2d(squeezed, after, 1), nn.ReLU())
        self.three = nn.Sequential(nn.Conv2d(squeezed, after, 3, padding=1), nn.ReLU())

    def forward(self, x):
        x = self.squeeze(x)
        return torch.cat([self.one(x), self.three(x)], 1)


def squeezenet1_1():
    fires = ((64, 16, 64), (128, 16, 64), (128, 32, 128), (256, 32, 128))
    fires += ((256, 48, 192), (384, 48, 192), (384, 64, 256), (512, 64, 256))
    layers = [nn.Conv2d(3, 64, 3, 2), nn.ReLU()]
    for i, fire in enumerate(fires):
        if i in (0, 2, 4):
            layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
        layers.append(Fire(*fire))
    last = [nn.Dropout(), nn.Conv2d(512, 1000, 1), nn.ReLU()]
    return nn.Sequential(*layers, *last, nn.AdaptiveAvgPool2d(1), nn.Flatten())


class DenseLayer(nn.Module):
    """Batch norm and ReLU come first; the result goes beside what was read."""

    def __init__(self, before, growth):
        super().__init__()
        self.norm = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU())
        self.narrow = norm_conv(before, 4 * growth, 1)
        self.conv = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv(self.narrow(self.norm(x)))], 1)


def densenet161():
    """Huang et al., CVPR 2017: growth 48, blocks of 6, 12, 36 and 24."""
    before, growth = 96, 48
    layers = [norm_conv(3, before, 7, 2), nn.MaxPool2d(3, 2, 1)]
    for block, depth in enumerate((6, 12, 36, 24)):
        for _ in range(depth):
            layers.append(DenseLayer(before, growth))
            before += growth
        if block < 3:
            half = nn.Conv2d(before, before // 2, 1, bias=False)
            layers += [nn.BatchNorm2d(before), nn.ReLU(), half, nn.AvgPool2d(2)]
            before //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(before), nn.ReLU(), *classifier(before))


class Excite(nn.Module):
    """Squeeze-and-excite (Hu et al., CVPR 2018) with SiLU."""

    def __init__(self, channels, squeezed):
        super().__init__()
        self.gates = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, squeezed, 1),
            nn.SiLU(),
            nn.Conv2d(squeezed, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return x * self.gates(x)


def efficientnet_b0():
    """Tan and Le, ICML 2019, Table 1."""
    table = (
        (1, 3, 1, 16, 1),
        (6, 3, 2, 24, 2),
        (6, 5, 2, 40, 2),
        (6, 3, 2, 80, 3),
        (6, 5, 1, 112, 3),
        (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    )
    layers, before = [norm_conv(3, 32, 3, 2, act=nn.SiLU)], 32
    for grow, kernel, first, after, times in table:
        for i in range(times):
            stride, wide = 1 if i else first, before * grow
            body = nn.Sequential(
                *([norm_conv(before, wide, 1, act=nn.SiLU)] if grow > 1 else []),
                norm_conv(wide, wide, kernel, stride, wide, act=nn.SiLU),
                Excite(wide, before // 4),
                norm_conv(wide, after, 1, act=None),
            )
            layers.append(Residual(body) if stride == 1 and before == after else body)
            before = after
    layers.append(norm_conv(before, 1280, 1, act=nn.SiLU))
    return nn.Sequential(*layers, *classifier(1280))


def relu_conv(before, after, kernel, stride=1, padding=None):
    padding = kernel // 2 if padding is None else padding
    return nn.Sequential(nn.Conv2d(before, after, kernel, stride, padding), nn.ReLU())


def alexnet():
    """Krizhevsky, arXiv:1404.5997, in one tower."""
    convs = [relu_conv(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2), relu_conv(64, 192, 5)]
    convs += [nn.MaxPool2d(3, 2), relu_conv(192, 384, 3), relu_conv(384, 256, 3)]
    convs += [relu_conv(256, 256, 3), nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(6), nn.Flatten()]
    full = [nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096)]
    return nn.Sequential(*convs, *full, nn.ReLU(), nn.Linear(4096, 1000))


class Inception(nn.Module):
    """Four branches side by side (Szegedy et al., CVPR 2015, Figure 2b)."""

    def __init__(self, before, one, three_in, three, five_in, five, pooled):
        super().__init__()
        pool = nn.MaxPool2d(3, 1, 1)
        self.branches = nn.ModuleList(
            [
                relu_conv(before, one, 1),
                nn.Sequential(relu_conv(before, three_in, 1), relu_conv(three_in, three, 3)),
                nn.Sequential(relu_conv(before, five_in, 1), relu_conv(five_in, five, 5)),
                nn.Sequential(pool, relu_conv(before, pooled, 1)),
            ]
        )
        self.channels = one + three + five + pooled

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def googlenet():
    """Szegedy et al., CVPR 2015, Table 1, without response norms and auxiliary classifiers."""
    table = (
        (64, 96, 128, 16, 32, 32),
        (128, 128, 192, 32, 96, 64),
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
        (256, 160, 320, 32, 128, 128),
        (384, 192, 384, 48, 128, 128),
    )
    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    layers = [relu_conv(3, 64, 7, 2), pool, relu_conv(64, 64, 1), relu_conv(64, 192, 3), pool]
    before = 192
    for i, module in enumerate(table):
        layers += [pool] if i in (2, 7) else []
        layers.append(Inception(before, *module))
        before = layers[-1].channels
    return nn.Sequential(*layers, *classifier(before))
