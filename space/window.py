"""Sizes of maps and windows: what is wrong with them, and what follows from them."""

from collections.abc import Mapping
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
            f"{what} is {value!r}, it must be a whole number, at least {least}"
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
            f"layer {name}: groups is {groups}, it must divide {given}; nearest: {nearest}"
        )


def _nearest_divisor(groups: int, number: int) -> int:
    """Return the divisor of ``number`` nearest to ``groups``, or of both if it is far away."""
    near = (groups + sign * step for step in range(1, 1000) for sign in (-1, 1))
    fit = (g for g in near if g > 0 and number % g == 0)
    return next(fit, gcd(groups, number))


def window(
    name: str, size: Size, kernel: Size, stride: Size = 1, padding: Size = 0, dilation: Size = 1
) -> dict[str, Any]:
    """Return the fields of a layer that slides a window over a map, ``padding`` on all sides.

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
