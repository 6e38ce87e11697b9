"""Hash of a value that is a key again and again."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar


class HashedOnce:
    """Base of a frozen dataclass with slots whose hash is worked out on the first call.

    Memos of what a design costs ask for the hash of its hardware all the time, and each time all of
    its levels would be hashed. The hash is no field: copies, and objects that come from other
    processes, where texts have other hashes, work out their own.
    """

    __slots__ = ("_known_hash",)

    _known_hash: int
    #: names of all fields; a dataclass has them
    __match_args__: ClassVar[tuple[str, ...]]

    def __hash__(self) -> int:
        try:
            return self._known_hash
        except AttributeError:
            pass
        known = hash(fields_of(self.__match_args__)(self))
        object.__setattr__(self, "_known_hash", known)
        return known


@cache
def fields_of(names: tuple[str, ...]) -> Callable[[object], tuple[Any, ...]]:
    """Return what takes the values of several fields of an object at once."""
    return attrgetter(*names)
