"""Sessions with a made-up worker: turns, disturbed turns, failures, a busy machine."""

from archloom.evaluators.host.kernel import KernelSpec
from archloom.evaluators.host.samples import MOST_REPEATS, Block
from archloom.evaluators.host.schedules import Untuned
from archloom.evaluators.host.shape import read_shape
from archloom.evaluators.host.worker.requests import Failed, Prepare, Turn, Turned
from archloom.evaluators.host.worker.session import Plan, in_turns, measure

KERNELS = [
    Prepare(name, KernelSpec(read_shape("2x5x5:2:3x3"), "portable"), Untuned()) for name in "abc"
]
PLAN = Plan(blocks=3, cores=2)


class MadeUp:
    """A worker that answers from a list of control times."""

    def __init__(self, controls: list[tuple[float, float]], load: float = 0.0, threads: int = 1):
        self.controls, self.load, self.threads, self.started = list(controls), load, threads, 1
        self.fails: dict[str, str] = {}
        self.prepared: list[str] = []
        self.turns = 0

    def ask(self, request: object, limit_s: float) -> object:
        assert limit_s > 0
        if isinstance(request, Prepare):
            if kind := self.fails.get(request.name):
                if kind == "died":
                    self.started += 1
                    self.prepared = []
                return Failed(kind, "made up")
            self.prepared.append(request.name)
        if isinstance(request, Turn):
            assert set(request.names) <= set(self.prepared)
            before, after = self.controls[min(self.turns, len(self.controls) - 1)]
            self.turns += 1
            time = 10.0 * self.turns
            blocks = dict.fromkeys(request.names, Block(time, time, time, 5))
            return Turned(blocks, before, after, self.load)
        return None


def test_a_turn_in_which_the_control_moved_is_done_again() -> None:
    worker = MadeUp([(100, 100), (100, 120), (100, 101), (100, 100)])
    told: list[str] = []
    found = measure(worker, KERNELS, PLAN, told.append)
    assert (worker.turns, found.repeats) == (4, 1)
    # it is the same turn
    assert [text for text in told if "turn" in text] == [f"turn {n} of 3" for n in (1, 2, 3)]
    # the disturbed turn's times are dropped
    assert [b.middle for b in found.timings["a"].blocks] == [10, 30, 40]
    assert found.control_us == ((100, 100), (100, 101), (100, 100))


def test_a_control_that_moves_again_and_again_refuses_all_rows() -> None:
    worker = MadeUp([(100, 130)])
    found = measure(worker, KERNELS, PLAN)
    assert found.timings == {}
    assert worker.turns == MOST_REPEATS + 1
    assert found.refusal is not None
    assert found.refusal.reason == "control_moved"


def test_several_threads_on_a_busy_machine_are_refused() -> None:
    found = measure(MadeUp([(100, 100)], load=1.5, threads=2), KERNELS, PLAN)
    assert found.refusal is not None
    assert found.refusal.reason == "machine_busy"
    assert measure(MadeUp([(100, 100)], load=1.5), KERNELS, PLAN).refusal is None


def test_what_fails_is_left_out_and_what_a_killed_process_held_is_prepared_again() -> None:
    worker = MadeUp([(100, 100)])
    worker.fails = {"b": "died"}
    found = measure(worker, KERNELS, PLAN)
    assert set(found.timings) == {"a", "c"}
    assert found.failures["b"].kind == "died"
    assert worker.prepared == ["a", "c"]
    worker = MadeUp([(100, 100)])
    worker.fails = dict.fromkeys("abc", "not_compiled")
    assert set(measure(worker, KERNELS, PLAN).failures) == {"a", "b", "c"}
    assert worker.turns == 0


def test_workers_take_turns_and_one_that_is_disturbed_leaves_the_others() -> None:
    order: list[str] = []

    class Noted(MadeUp):
        def __init__(self, name: str, controls: list[tuple[float, float]]) -> None:
            super().__init__(controls)
            self.name, self.prepared = name, ["x", "y"]

        def ask(self, request: object, limit_s: float) -> object:
            order.append(self.name)
            return super().ask(request, limit_s)

    calm, restless = Noted("calm", [(100, 100)]), Noted("restless", [(100, 150)])
    one, other = in_turns([(calm, ["x"]), (restless, ["y"])], PLAN)
    assert order[:4] == ["calm", "restless", "calm", "restless"]
    assert len(one.timings["x"].blocks) == PLAN.blocks
    assert one.refusal is None
    assert other.timings == {}
    assert other.refusal is not None
    assert other.refusal.reason == "control_moved"
