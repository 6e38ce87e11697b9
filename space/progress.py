"""Stages of long work, as those who do it report them to whoever shows them.

Whatever may take more than a second or two takes a :class:`Stages` and says what it does; it knows
nothing of terminals, logs or clocks. Stages may stand inside others.
"""

from typing import Final, Protocol


class Stages(Protocol):
    """Listens to how far long work is. No result may depend on it."""

    def begin(self, what: str, total: int | None = None) -> None:
        """Say that a stage begins.

        Args:
            what: it does, as ``compiling kernels``.
            total: steps that it has; None if nobody knows.
        """
        ...

    def advance(self, now: str = "", steps: int = 1) -> None:
        """Say that so many more steps of the innermost stage are done, and what comes ``now``."""
        ...

    def end(self) -> None:
        """Say that the innermost stage is over."""
        ...


class Silence:
    """Stages that nobody watches."""

    def begin(self, what: str, total: int | None = None) -> None:
        """Do nothing."""

    def advance(self, now: str = "", steps: int = 1) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


#: Where nobody listens.
SILENT: Final[Stages] = Silence()
