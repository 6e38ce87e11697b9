"""One axis of a transposed convolution, turned into a convolution of stride 1."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransposedAxis:
    """The convolution that does the work along one axis.

    Attributes:
        outputs: positions that it makes, each a patch of ``stride`` positions of the map.
        taps: of its kernel, for each position of a patch.
        padding: zeros before its input.
        start, end: positions cut off the map.
        useful_taps: taps of the true kernel over all positions of the map that are left.
    """

    outputs: int
    taps: int
    padding: int
    start: int
    end: int
    useful_taps: int


def transposed_axis(
    name: str, size: int, kernel: int, stride: int, padding: int, output_padding: int
) -> TransposedAxis:
    """Return the cheapest such convolution, with the kernel shifted into the best place.

    Position o of the map sums taps j of inputs i with i * stride + j = o + padding. So patch t
    needs inputs t - taps + 1 to t. Zeros before the kernel shift what is cut off; that can spare
    the patch that the border would cut in two.

    Raises:
        ValueError: padding that cuts off more than the kernel adds or all of the map, or an
            output padding that is not smaller than the stride.
    """
    length = (size - 1) * stride - 2 * padding + kernel + output_padding
    if padding >= kernel:
        raise ValueError(f"layer {name}: padding {padding} must be below the kernel, {kernel}")
    if output_padding >= stride:
        raise ValueError(
            f"layer {name}: output_padding {output_padding} must be below the stride, {stride}"
        )
    if length < 1:
        raise ValueError(
            f"layer {name}: padding {padding} on both ends leaves nothing of the "
            f"{length + 2 * padding} positions that are made"
        )
    options = []
    # the first patch as it falls, or whole; every other shift of the kernel makes no fewer
    for shift in {0, -padding % stride}:
        first, start = divmod(padding + shift, stride)
        last = (padding + shift + length - 1) // stride
        outputs = last - first + 1
        # the last patch must still read an input; output padding can need one more row of zeros
        taps = max(-(-(kernel + shift) // stride), last - size + 2)
        end = outputs * stride - start - length
        options.append((outputs * taps, shift, (outputs, taps, taps - 1 - first, start, end)))
    return TransposedAxis(*min(options)[2], _useful_taps(length, kernel, stride, padding))


def _useful_taps(length: int, kernel: int, stride: int, padding: int) -> int:
    """Pairs of a position o < length and a tap j < kernel with j = o + padding modulo stride."""
    every, some = divmod(kernel, stride)

    def below(end: int) -> int:
        """How many numbers below ``end`` have a remainder below ``some``."""
        return end // stride * some + min(end % stride, some)

    return every * length + below(padding + length) - below(padding)
