"""Sizes of feature maps and windows: validation, and sizes that follow from others."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

Pair = tuple[int, int]
Size = int | Pair


def pair(size: Size) -> Pair:
    """Return (rows, columns); one number stands for both."""
    return (size, size) if isinstance(size, int) else size


def check_numbers(name: str, numbers: Mapping[str, int], least: int = 1) -> None:
    """Refuse numbers of a layer that are not whole or too small, all at once.

    Raises:
        ValueError: names them and the least that they can be.
    """
    _refuse(name, least, {n: v for n, v in numbers.items() if not _is_whole(v, least)})


def check_sizes(name: str, sizes: Mapping[str, Size], least: int = 1) -> None:
    """Refuse sizes that are neither a whole number nor two of them, as :func:`check_numbers`."""
    wrong = {}
    for what, size in sizes.items():
        both = size if isinstance(size, tuple) and len(size) == 2 else (size,)
        if not all(_is_whole(value, least) for value in both):
            wrong[what] = size
    _refuse(name, least, wrong)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and value >= least


def _refuse(name: str, least: int, wrong: Mapping[str, object]) -> None:
    if wrong:
        each = (
            f"{what} is {value!r}, must be a whole number, at least {least}"
            for what, value in wrong.items()
        )
        raise ValueError(f"layer {name}: {'; '.join(each)}")


def check_groups(name: str, groups: int, **channels: int) -> None:
    """Refuse groups that do not divide the channels.

    Raises:
        ValueError: something else than whole numbers from 1 on; else names the nearest number
            of groups that does.
    """
    check_numbers(name, {**channels, "groups": groups})
    if any(count % groups for count in channels.values()):
        nearest = _nearest_divisor(groups, gcd(*channels.values()))
        given = " and ".join(f"{what} {count}" for what, count in channels.items())
        raise ValueError(
            f"layer {name}: groups is {groups}, must divide {given}; nearest: {nearest}"
        )


def _nearest_divisor(groups: int, number: int) -> int:
    """Return the divisor of ``number`` nearest to ``groups``, or of both if it is far away."""
    near = (groups + sign * step for step in range(1, 1000) for sign in (-1, 1))
    fit = (g for g in near if g > 0 and number % g == 0)
    return next(fit, gcd(groups, number))


def window(
    name: str, size: Size, kernel: Size, stride: Size = 1, padding: Size = 0, dilation: Size = 1
) -> dict[str, Any]:
    """Return the fields of a layer with a window over a feature map, ``padding`` on all sides.

    Raises:
        ValueError: a number that is no size, or a window that the padded map cannot hold.
    """
    check_sizes(name, {"size": size, "kernel": kernel, "stride": stride, "dilation": dilation})
    check_sizes(name, {"padding": padding}, least=0)
    sides = zip(*map(pair, (size, kernel, stride, padding, dilation)), strict=True)
    outputs = []
    for rows, taps, step, pad, spread in sides:
        reach = (taps - 1) * spread + 1
        if reach > rows + 2 * pad:
            raise ValueError(
                f"layer {name}: kernel {taps} with dilation {spread} spans {reach}, more than a "
                f"side of {rows} with padding {pad} on both ends"
            )
        outputs.append((rows + 2 * pad - reach) // step + 1)
    (p, q), (r, s) = outputs, pair(kernel)
    return {
        "p": p,
        "q": q,
        "r": r,
        "s": s,
        "stride": pair(stride),
        "dilation": pair(dilation),
        "padding": pair(padding),
        "input_size": pair(size),
    }


@dataclass(frozen=True, slots=True)
class TransposedAxis:
    """The convolution that does the work along one axis.

    Attributes:
        outputs: positions that it makes, each a patch of ``stride`` positions of the feature map.
        taps: of its kernel, for each position of a patch.
        padding: zeros before its input.
        start, end: positions cut off the map.
        useful_taps: taps of the true kernel over all positions of the map that are left.
        dilation: of its kernel.
    """

    outputs: int
    taps: int
    padding: int
    start: int
    end: int
    useful_taps: int
    dilation: int = 1


def transposed_axis(
    name: str,
    size: int,
    kernel: int,
    stride: int,
    padding: int,
    output_padding: int,
    dilation: int = 1,
) -> TransposedAxis:
    """Return the cheapest such convolution, with the kernel shifted into the best place.

    Position o of the feature map sums taps j of inputs i with i * stride + j = o + padding. So
    patch t needs inputs t - taps + 1 to t. Zeros before the kernel shift what is cut off; that can
    spare the patch that the border would cut in two. A dilated kernel of stride 1 is that of a
    dilated convolution, turned around. With a stride the kernel is filled up with the zeros between
    its taps (i * stride + j * dilation = o + padding), as the positions of a patch need taps of
    different distances; these zeros are weights that work is done with, and are not useful.

    Raises:
        ValueError: padding that cuts off more than the kernel adds or all of the map, or an output
            padding that is smaller than neither stride nor dilation.
    """
    dilation = 1 if kernel == 1 else dilation
    reach = (kernel - 1) * dilation + 1
    length = (size - 1) * stride - 2 * padding + reach + output_padding
    _check_transposed(name, (stride, dilation), padding, output_padding, reach)
    if length < 1:
        raise ValueError(
            f"layer {name}: padding {padding} on both ends leaves nothing of the "
            f"{length + 2 * padding} positions that are made"
        )
    if stride == 1 and dilation > 1:
        return TransposedAxis(length, kernel, reach - 1 - padding, 0, 0, length * kernel, dilation)
    options = []
    # the first patch as it falls, or whole; every other shift of the kernel makes no fewer
    for shift in {0, -padding % stride}:
        first, start = divmod(padding + shift, stride)
        last = (padding + shift + length - 1) // stride
        outputs = last - first + 1
        # the last patch must still read an input; output padding can need one more row of zeros
        taps = max(-(-(reach + shift) // stride), last - size + 2)
        end = outputs * stride - start - length
        options.append((outputs * taps, shift, (outputs, taps, taps - 1 - first, start, end)))
    useful = sum(
        _useful_taps(length, (j * dilation - padding) % stride, stride) for j in range(kernel)
    )
    return TransposedAxis(*min(options)[2], useful)


def _check_transposed(
    name: str, steps: tuple[int, int], padding: int, output_padding: int, reach: int
) -> None:
    stride, dilation = steps
    if padding >= reach:
        raise ValueError(f"layer {name}: padding {padding} must be below the kernel, {reach}")
    if stride == 1 and dilation > 1 and output_padding > padding:
        # a window that begins behind the input would hold zeros alone
        raise ValueError(
            f"layer {name}: output_padding {output_padding} must be at most the padding, "
            f"{padding}, with dilation {dilation}"
        )
    if output_padding >= max(stride, dilation):
        raise ValueError(
            f"layer {name}: output_padding {output_padding} must be below the stride, {stride}"
        )


def _useful_taps(length: int, first: int, stride: int) -> int:
    """Positions below ``length`` that a tap reaches: ``first``, and each a stride after it."""
    return max(0, -(-(length - first) // stride))
