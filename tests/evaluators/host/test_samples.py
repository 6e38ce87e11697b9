"""Rules of what may be said of times, on made-up samples."""

import pytest

from archloom.evaluators.host.machine import too_busy
from archloom.evaluators.host.samples import (
    MOST_NOISE,
    Block,
    Timing,
    block_of,
    moved,
    ratio,
)


def timing(*middles: float, width: float = 0.0) -> Timing:
    return Timing(tuple(Block(m * (1 - width / 2), m, m * (1 + width / 2), 30) for m in middles))


def test_a_block_has_the_quartiles_of_its_runs() -> None:
    assert block_of([5, 1, 3, 2, 4]) == Block(2, 3, 4, 5)
    assert block_of([7.0]) == Block(7.0, 7.0, 7.0, 1)


def test_noise_is_the_larger_of_spread_and_quartiles() -> None:
    assert timing(100, 110, 100).noise == pytest.approx(0.1)
    assert timing(100, 100, width=0.2).noise == pytest.approx(0.2)
    assert timing(100, 102, 100, width=0.2).noise == pytest.approx(0.2)


def test_one_slow_block_moves_the_noise_and_not_the_median() -> None:
    found = timing(100, 100, 160, 100, 100)
    assert found.median_us == 100
    assert found.noise == pytest.approx(0.6)
    assert found.refusal is not None


@pytest.mark.parametrize(("noise", "refused"), [(MOST_NOISE * 0.99, False), (0.26, True)])
def test_a_noisy_row_is_refused_with_its_noise(noise: float, refused: bool) -> None:
    why = timing(100, width=noise).refusal
    assert (why is not None) == refused
    if why is not None:
        assert (why.reason, why.amounts) == ("noisy", "")
        assert f"spread over {noise:.0%} of the median, at most {MOST_NOISE:.0%}" in why.hint


@pytest.mark.parametrize(
    ("one", "other", "noise", "resolved"),
    [
        (121, 100, 0.1, True),
        (119, 100, 0.1, False),
        (100, 121, 0.1, True),
        (100, 119, 0.1, False),
        (100, 100, 0.0, False),
        (101, 100, 0.0, True),
    ],
)
def test_a_ratio_is_resolved_above_twice_the_noise(
    one: float, other: float, noise: float, resolved: bool
) -> None:
    found = ratio(timing(one, width=noise), timing(other))
    assert found.resolved == resolved
    assert ("not resolved" in str(found)) != resolved
    # the noise of the noisier one counts, whichever it is
    assert ratio(timing(one), timing(other, width=noise)).resolved == resolved


def test_a_record_has_the_figures_and_the_blocks_that_they_are_of() -> None:
    record = timing(100, 104, 102, width=0.1).record
    assert (record["median_us"], len(record["blocks"])) == (102, 3)
    assert record["low_us"] == pytest.approx(102 * 0.95)
    assert record["noise"] == pytest.approx(0.1)


def test_the_control_moves_by_a_share_either_way() -> None:
    assert moved(100, 112) == moved(112, 100) == pytest.approx(0.12)


@pytest.mark.parametrize(
    ("threads", "load", "busy"), [(1, 50, False), (2, 0.9, False), (2, 1.1, True)]
)
def test_a_busy_machine_refuses_what_a_clock_times(threads: int, load: float, busy: bool) -> None:
    why = too_busy(threads, load, 2)
    assert (why is not None) == busy
    if why is not None:
        assert f"the load average is {load:.2f}" in why.hint
        assert "needs at most 1;" in why.hint
