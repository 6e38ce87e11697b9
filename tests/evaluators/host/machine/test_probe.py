"""The kernels that rates are measured with do what they are counted for."""

import numpy as np

from archloom.evaluators.host.machine.probe import copy_words, read_words, step_clock, write_words


def test_memory_kernels_touch_every_word_of_a_pass() -> None:
    words = np.arange(100, dtype=np.int64)
    # every other pass begins a line of 8 words later
    assert read_words(words, 1) == words.sum()
    assert read_words(words, 4) == 2 * words.sum() + 2 * words[8:].sum()
    copy = np.zeros_like(words)
    copy_words(words, copy, 1)
    assert np.array_equal(copy, words)
    copy_words(words, copy, 2)
    assert np.array_equal(copy[8:], words[8:] ^ 1)
    assert np.array_equal(copy[:8], words[:8])
    write_words(words, 4)
    assert words.tolist() == [2] * 8 + [3] * 92


def test_the_clock_steps_as_marsaglia_says() -> None:
    """Shifts 13, 7, 17 of 64 bits (J. Stat. Software 8(14), 2003, section 3)."""
    word, most = 88172645463325252, 2**64 - 1
    for _ in range(5):
        word ^= word << 13 & most
        word ^= word >> 7
        word ^= word << 17 & most
    assert step_clock(88172645463325252, 5) % 2**64 == word
