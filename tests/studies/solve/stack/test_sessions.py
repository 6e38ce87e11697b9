"""Rules of sessions, with a made-up crew: what is disturbed is timed again, what is good is not."""

from collections.abc import Mapping, Sequence
from typing import Any

from archloom.evaluators.host.samples import Block, Timing, control_moved
from archloom.evaluators.host.worker.requests import Failed
from archloom.evaluators.host.worker.session import Measured, Plan
from archloom.space import Infeasible
from archloom.studies.engine.progress import SILENT
from archloom.studies.solve.stack.sessions import Sessions

GOOD = Timing((Block(10, 10, 10, 5),) * 5)
NOISY = Timing((Block(5, 10, 15, 5),) * 5)
LESS_NOISY = Timing((Block(7, 10, 10, 5),) * 5)


class MadeUp:
    """Answers one session after the other, and notes what each was asked for."""

    def __init__(self, *sessions: Measured) -> None:
        self._sessions, self.asked = list(sessions), list[list[str]]()

    def times(self, names: Mapping[int, Sequence[str]], plan: Plan) -> Measured:
        assert plan.blocks == 5
        self.asked.append([name for some in names.values() for name in some])
        return self._sessions.pop(0)


def timed(crew: MadeUp, *names: str) -> dict[str, Any]:
    double: Any = crew
    sessions = Sessions(double, 1, SILENT, lambda: None)
    return sessions.timed({0: names[:1], 1: names[1:]}, sessions.kernels)


def test_only_what_was_disturbed_is_timed_again() -> None:
    failed = Failed("died", "made up")
    crew = MadeUp(
        Measured({"a": GOOD, "b": NOISY}, {"c": failed}, control_moved([0.5])),
        Measured({"b": GOOD, "d": GOOD}),
    )
    assert timed(crew, "a", "b", "c", "d") == {"a": GOOD, "b": GOOD, "c": failed, "d": GOOD}
    assert crew.asked == [["a", "b", "c", "d"], ["b", "d"]]


def test_after_three_sessions_the_least_noisy_time_is_taken_or_none() -> None:
    moved = control_moved([0.5])
    crew = MadeUp(
        Measured({"a": NOISY}, {}, moved),
        Measured({"a": LESS_NOISY}, {}, moved),
        Measured({"a": NOISY}, {}, moved),
    )
    found = timed(crew, "a", "b")
    assert found["a"] == LESS_NOISY
    assert isinstance(found["b"], Infeasible)
    assert found["b"].reason == "control_moved"
    assert crew.asked == [["a", "b"]] * 3
