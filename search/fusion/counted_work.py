"""Work of planners that is counted, the same on every machine, and may be limited by a number."""

from dataclasses import dataclass


class WorkLimitError(Exception):
    """A planner had more to do than its limit allows.

    Attributes:
        limit: what it allows.
        spent: what was counted when it was broken.
    """

    def __init__(self, planner: str, what: str, limit: int, spent: int) -> None:
        super().__init__(f"needed more than {limit:,} {what} of {planner}; it had {spent:,}")
        self.limit, self.spent = limit, spent
        self._arguments = planner, what, limit, spent

    def __reduce__(self) -> tuple[type["WorkLimitError"], tuple[str, str, int, int]]:
        return WorkLimitError, self._arguments


@dataclass(slots=True)
class CountedWork:
    """Counts the work of one planner for one network on one design.

    What is counted follows from these alone: what a process remembers of other designs makes it
    quicker, and changes no count.

    Args:
        planner: that works, by its name in study files.
        what: is counted, for people.
        limit: most of it; None for no limit.

    Attributes:
        spent: counted so far.

    Raises:
        ValueError: a limit below 1.
    """

    planner: str
    what: str
    limit: int | None = None
    spent: int = 0

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"work_limit is {self.limit}, must be at least 1")

    def spend(self, work: int) -> None:
        """Count what is about to be done.

        Raises:
            WorkLimitError: it is more than the limit allows, with what was done before.
        """
        self.spent += work
        if self.limit is not None and self.spent > self.limit:
            raise WorkLimitError(self.planner, self.what, self.limit, self.spent)
