"""What the API raises: one kind of error for what the user can mend, whatever it came from."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from archloom.space import Infeasible, InfeasibleError

from ..errors import ArchloomError, TroubleError, UserError, reason

__all__ = ["ArchloomError", "Infeasible", "mendable"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def mendable(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make what a function of the API raises of a user's mistakes an :class:`ArchloomError`.

    A file that cannot be read or a disk that is full is one too. All else, such as a
    ``KeyboardInterrupt``, goes through as it is.
    """

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except InfeasibleError as error:
            raise UserError(str(error)) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise TroubleError(f"{where}{reason(error)}") from error

    return called
