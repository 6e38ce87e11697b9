"""Workers: they answer, are killed where a compiler takes too long, and start again."""

from collections.abc import Iterator

import pytest

from archloom.evaluators.host.kernel import KernelSpec
from archloom.evaluators.host.schedules import Direct, Gemm, Untuned
from archloom.evaluators.host.shape import read_shape
from archloom.evaluators.host.worker.client import Worker
from archloom.evaluators.host.worker.requests import Failed, Prepare, Turn, Turned
from archloom.evaluators.host.worker.session import Plan, measure

SHAPE = read_shape("16x12x12:512:3x3")
SOUND = Prepare("sound", KernelSpec(SHAPE, "portable"), Untuned())

#: 512 channels at a time, unrolled: minutes in the compiler
ENDLESS = Prepare("endless", KernelSpec(SHAPE, "gemm"), Gemm(16, 2, 512, unroll=4))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(1) as found:
        yield found


def test_kernels_that_compile_for_ever_are_killed_and_the_others_are_timed(worker: Worker) -> None:
    wide = Prepare("wide", KernelSpec(read_shape("4x6x6:4:3x3"), "direct"), Direct(16, 4))
    plan = Plan(blocks=2, block_us=2000, compile_s=5)
    found = measure(worker, [SOUND, ENDLESS, wide], plan)
    assert set(found.failures) == {"endless", "wide"}
    assert (found.failures["endless"].kind, found.failures["wide"].kind) == (
        "too_slow",
        "not_compiled",
    )
    assert "more than 5 s" in found.failures["endless"].message
    # a machine that is very busy may move the control each time
    if found.refusal is None:
        assert set(found.timings) == {"sound"}
        assert all(block.runs >= 5 for block in found.timings["sound"].blocks)
        assert len(found.control_us) == 2
    assert worker.started == 2


def test_a_worker_that_dies_is_told_and_another_one_goes_on(worker: Worker) -> None:
    assert not isinstance(worker.ask(SOUND), Failed)
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    died = worker.ask(Turn(("sound",), 1000.0))
    assert isinstance(died, Failed)
    assert died.kind == "died"
    assert not isinstance(worker.ask(SOUND), Failed)
    assert isinstance(worker.ask(Turn(("sound",), 1000.0)), Turned)


def test_a_wrong_request_is_answered(worker: Worker) -> None:
    """Nothing of that name is prepared; the worker stays."""
    before = worker.started
    found = worker.ask(Turn(("nothing",), 1000.0))
    assert isinstance(found, Failed)
    assert found.kind == "crashed"
    assert not isinstance(worker.ask(SOUND), Failed)
    assert worker.started == before
