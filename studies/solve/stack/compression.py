"""Compressions of a stack study, as its file names them: what is done to a model, in which type."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from archloom.space import Faults, did_you_mean
from archloom.studies.config import EntryError, Key, Reading, collecting


@dataclass(frozen=True, slots=True)
class Compression:
    """What is done to a model.

    Attributes:
        method: as :class:`~archloom.studies.solve.compressing.StepFigures` has it.
        dtype: of its kernels.
        level: share of weights or channels that are pruned; 0 for other methods.
    """

    method: str
    dtype: str
    level: float = 0.0

    @property
    def label(self) -> str:
        """Its name in records: ``weights 0.8``, ``float16_stored``."""
        if self.method in PRUNING:
            return f"{self.method} {self.level:g}"
        return next(word for word, found in WORDS.items() if found == (self.method, self.dtype))

    @property
    def entry(self) -> Any:
        """What a study file says for it."""
        return {self.method: self.level} if self.method in PRUNING else self.label


#: words of a study file: method, and type of the kernels. DLAS (Gibson et al., ACM TACO 2024,
#: section 5.1.2) runs float16 where it is emulated; ``float16_stored`` only stores it.
WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "dense": ("dense", "float32"),
    "float16": ("float16", "float16"),
    "float16_stored": ("float16", "float16_stored"),
    "int8": ("int8", "int8"),
    "int8_uncalibrated": ("int8_uncalibrated", "int8"),
}

#: methods that have a level
PRUNING: Final = ("weights", "channels")

#: what is compared where nobody says anything else
USUAL: Final = (
    Compression("dense", "float32"),
    Compression("weights", "float32", 0.8),
    Compression("channels", "float32", 0.5),
    Compression("float16", "float16"),
    Compression("int8", "int8"),
)


def _read(entries: Any, _: Reading) -> tuple[Compression, ...]:
    if not isinstance(entries, list | tuple) or not entries:
        raise ValueError(f"{entries!r} must be a list such as [dense, {{weights: 0.8}}, int8]")
    faults, found = Faults(), dict[Compression, None]()
    for at, entry in enumerate(entries):
        with collecting(faults, at):
            for one in _compressions(entry):
                if one in found:
                    raise ValueError(f"{one.label} occurs twice")
                found[one] = None
    if faults:
        raise EntryError(faults)
    return tuple(found)


def _compressions(entry: Any) -> list[Compression]:
    if isinstance(entry, Compression):
        return [entry]
    if isinstance(entry, str) and entry in WORDS:
        return [Compression(*WORDS[entry])]
    if isinstance(entry, str) and entry in PRUNING:
        raise ValueError(f"{entry!r} needs a fraction, as {{{entry}: 0.5}}")
    if isinstance(entry, dict) and len(entry) == 1:
        ((method, levels),) = entry.items()
        if method in PRUNING:
            return [_pruned(method, each) for each in _listed(levels)]
        if method in WORDS:
            raise ValueError(f"{method!r} takes no fraction; write {method}")
        raise ValueError(f"{method!r} is unknown; {did_you_mean(str(method), PRUNING)}")
    known = (*WORDS, *PRUNING)
    raise ValueError(f"{entry!r} is unknown; {did_you_mean(str(entry), known)}")


def _listed(levels: Any) -> list[Any]:
    return levels if isinstance(levels, list) else [levels]


def _pruned(method: str, level: Any) -> Compression:
    if type(level) not in (int, float):
        raise ValueError(f"{method}: {level!r} must be a valid number")
    if not 0.0 < level < 1.0:
        raise ValueError(f"{method}: {level!r} must be a fraction above 0 and below 1")
    return Compression(method, "float32", float(level))


def _form() -> dict[str, Any]:
    share = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    pruned = {
        "type": "object",
        "properties": {
            method: {"anyOf": [share, {"type": "array", "items": share}]} for method in PRUNING
        },
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    entry = {"anyOf": [{"enum": list(WORDS)}, pruned]}
    return {"type": "array", "items": entry, "minItems": 1}


#: the key that holds compressions
COMPRESSIONS: Final = Key(_read, lambda found: [each.entry for each in found], form=_form).like(
    ["dense", {"weights": [0.5, 0.8]}, "int8"]
)
