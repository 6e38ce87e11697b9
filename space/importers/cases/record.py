"""Record format of conformance cases: one JSON object with an architecture, a problem, a
mapping and what another tool counted for them. docs/reference/timeloop.md describes every field.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from archloom.space.hardware import DRAM_CHOICES, DRAM_COUNTS

from ...errors import did_you_mean

# strict: "3" and true are no numbers
Positive = Annotated[float, Field(gt=0, le=1e15, strict=True)]
Energy = Annotated[float, Field(ge=0, le=1e12, strict=True)]
#: sizes beyond this are slips, and products of them would not fit 64 bits
Count = Annotated[int, Field(ge=1, le=2**40, strict=True)]
Truth = Annotated[bool, Field(strict=True)]
Factors = dict[str, Count]
Names = list[str]


class RecordError(ValueError):
    """Everything that is wrong with one record.

    Attributes:
        faults: one sentence each, with the key path.
    """

    def __init__(self, faults: list[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(faults))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LevelEnergy(_Strict):
    """Energies of one access of ``block_size`` words, and of one instance's leakage a cycle."""

    read: Energy
    fill: Energy
    update: Energy
    leak_per_cycle: Energy = 0.0


def _one_of(known: Sequence[str]) -> AfterValidator:
    def check(value: str) -> str:
        if value not in known:
            near = did_you_mean(value, known)
            hint = f"; {near}" if near.startswith("did you mean") else ""
            raise ValueError(f"must be one of {', '.join(known)}, got {value[:60]!r}{hint}")
        return value

    return AfterValidator(check)


class Timing(_Strict):
    """DRAM with rows and banks; see :class:`archloom.space.hardware.DramTiming`."""

    device: Annotated[str, _one_of(DRAM_CHOICES["device"])]
    channels: Annotated[int, Field(ge=1, le=DRAM_COUNTS["channels"], strict=True)] = 1
    ranks: Annotated[int, Field(ge=1, le=DRAM_COUNTS["ranks"], strict=True)] = 1
    layout: Annotated[str, _one_of(DRAM_CHOICES["layout"])] = "channels_first"


class Level(_Strict):
    """A storage level; ``size_words`` null has no limit, energies null come from a technology."""

    name: str
    size_words: Count | None
    word_bits: Count = 16
    instances: Count = 1
    meshX: Count = 1
    meshY: Count = 1
    technology: str = "SRAM"
    block_size: Count = 1
    cluster_size: Count = 1
    multiple_buffering: Annotated[float, Field(ge=1, allow_inf_nan=False, strict=True)] = 1.0
    read_bandwidth: Positive | None = None
    write_bandwidth: Positive | None = None
    shared_bandwidth: Positive | None = None
    energy_pJ: LevelEnergy | None = None
    net_energy_per_hop_pJ: Energy | None = None
    net_router_energy_pJ: Energy | None = None
    addr_gen_energy_pJ: Energy | None = None
    timing: Timing | None = None


class Mac(_Strict):
    """The multipliers."""

    instances: Count = 1
    meshX: Count = 1
    meshY: Count = 1
    energy_pJ: Energy | None = None


class Architecture(_Strict):
    """Storage levels from the innermost, above the multipliers."""

    name: str
    description: str = ""
    levels: Annotated[list[Level], Field(min_length=1)]
    mac: Mac


class Problem(_Strict):
    """A loop nest: bounds, and for each tensor its ranks as sums of dimensions.

    A term of a rank is ``[dimension]`` or ``[dimension, coefficient]``.
    """

    name: str
    kind: str = ""
    dims: Annotated[Factors, Field(min_length=1)]
    Wstride: Count = 1
    Hstride: Count = 1
    Wdilation: Count = 1
    Hdilation: Count = 1
    coefficients: Factors = {}
    projections: dict[str, list[list[Annotated[Names, Field(min_length=1, max_length=2)]]]]
    note: str = ""

    def coefficient(self, name: str) -> int | None:
        """Value of a coefficient, or None if the record has none of that name."""
        if name in self.coefficients:
            return self.coefficients[name]
        standard = ("Wstride", "Hstride", "Wdilation", "Hdilation")
        return getattr(self, name) if name in standard else None


class Temporal(_Strict):
    """Loops over time."""

    factors: Factors = {}
    permutation_inner_to_outer: str | Names = ""


class Spatial(_Strict):
    """Loops over the children of a level."""

    X: Factors = {}
    Y: Factors = {}
    order_X_inner_to_outer: str | Names = ""
    order_Y_inner_to_outer: str | Names = ""
    fanoutX: Count | None = None
    fanoutY: Count | None = None


class Loops(_Strict):
    """What one level does."""

    level: str
    temporal: Temporal = Temporal()
    spatial: Spatial | None = None
    keep: Names
    bypass: Names = []
    no_multicast: Names = []


class Record(BaseModel):
    """One case; keys that others added for themselves are left alone at the top."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str = ""
    arch: Architecture
    problem: Problem
    mapping: list[Loops] | None = None
    imperfect_factorization: Truth = False
    closed_form_agrees: Truth = True
    result: dict[str, Any] | None = None


def parse_record(data: Any) -> Record:
    """Return the record that ``data`` (from JSON) holds.

    Raises:
        RecordError: every missing, unknown or malformed key.
    """
    try:
        return Record.model_validate(data)
    except ValidationError as error:
        raise RecordError(_faults(error)) from None


def parse_problem(data: Any) -> Problem:
    """Return the problem that ``data`` holds.

    Raises:
        RecordError: as :func:`parse_record`.
    """
    try:
        return Problem.model_validate(data)
    except ValidationError as error:
        raise RecordError([f"problem.{fault}" for fault in _faults(error)]) from None


def parse_loops(data: Any) -> list[Loops]:
    """Return the loops that ``data``, the mapping of a record, holds.

    Raises:
        RecordError: as :func:`parse_record`.
    """
    try:
        return TypeAdapter(list[Loops]).validate_python(data)
    except ValidationError as error:
        raise RecordError([f"mapping{fault}" for fault in _faults(error)]) from None


class Parts(NamedTuple):
    """Parts of a record; None where there is none, or none of the right form."""

    arch: Architecture | None
    problem: Problem | None
    mapping: list[Loops] | None


def parts_of(data: Any) -> Parts:
    """Return the parts of a record that have the right form, whatever is wrong with others."""
    found: list[Any] = []
    for key, kind in (("arch", Architecture), ("problem", Problem), ("mapping", list[Loops])):
        try:
            value = data.get(key) if isinstance(data, Mapping) else None
            found.append(TypeAdapter(kind).validate_python(value))
        except ValidationError:
            found.append(None)
    return Parts(*found)


def _faults(error: ValidationError) -> list[str]:
    return [f"{_path(e['loc'])}: {_rule(e)}{_got(e)}" for e in error.errors(include_url=False)]


def _path(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "record"


def _rule(error: Any) -> str:
    known = {
        "extra_forbidden": "is not a key of the format",
        "missing": "is missing",
        **dict.fromkeys(("model_type", "dict_type"), "must be keys with values"),
        **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
        **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
        **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
        "string_type": "must be a text",
        "list_type": "must be a list",
    }
    message = str(error["msg"]).replace("Input should be", "must be").removeprefix("Value error, ")
    return known.get(error["type"], message)


def _got(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        parts = (Level, Architecture, Mac, Problem, Loops, Temporal, Spatial, LevelEnergy, Timing)
        known = sorted({key for model in parts for key in model.model_fields})
        hint = did_you_mean(str(error["loc"][-1]), known)
        # without a near one the list of all keys would bury the fault
        return f"; {hint}" if hint.startswith("did you mean") else ""
    if error["type"] in ("missing", "value_error"):
        return ""
    return f", got {repr(error['input'])[:60]}"
