"""Error of a network that comes from outside."""

from collections.abc import Sequence


class ImportProblem(ValueError):  # noqa: N818 - a user's problem, told as a message
    """Why a file or program does not become a network; its text is for the user.

    Attributes:
        source: the file, or the program's name.
        problems: everything that is wrong, one text each.
    """

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__(self._text())

    def _text(self) -> str:
        if len(self.problems) == 1:
            return f"{self.source}: {self.problems[0]}"
        return "\n".join([f"{self.source}:", *(f"  {problem}" for problem in self.problems)])

    def __reduce__(self) -> tuple[type["ImportProblem"], tuple[str, tuple[str, ...]]]:
        return ImportProblem, (self.source, self.problems)
