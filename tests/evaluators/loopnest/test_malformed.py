"""Twelve thousand malformed inputs: each is refused by name, or gives a sound object.

A sound object evaluates to numbers: no NaN, nothing negative, no energy that vanishes.
"""

from dataclasses import fields, replace
from math import inf, isfinite, nan
from random import Random

import numpy as np
import pytest

from archloom.evaluators.hardware import hardware_cost
from archloom.evaluators.loopnest.kernel import VALID
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.errors import InfeasibleError
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.dims import TENSORS
from archloom.space.workload.layer import Layer

from ...cases.designs import edge
from ...cases.mappers import word_by_word
from ...oracles.compared import closed

ODD = (
    *(-1, 0, 1, 3, 1.5, -0.5, -0.0, nan, inf, -inf, 1e308, 1e-320, -1e308, 2**31, 2**53),
    *(2**63, 2**64, 10**400, -(10**400), True, False, None, "", "3", "weights", "K", "mesh"),
    *(b"8", 1j, object, {}, {"weights": 8}, [], [1, 1], set(), (), (1,), (1, 1), (2, 3), (0, 1)),
    *((1, -1), (1.0, 1.0), (nan, nan), (0.5, 2), (1, 2, 3), (True, True), ("1", "1"), (2**40,) * 2),
    *((1,) * 8, (1,) * 7, (0,) * 8, (10**6,) * 8, (None,) * 8, (True, True, False), (2**62, 1)),
    *(("weights",), ("weights",) * 2, ("biases",), TENSORS, ("K", "C"), ("Z",), (("weights", 8),)),
    *((("weights", 0),), (("weights", nan),), (("weights", "8"),), (("weights", 8),) * 2),
    *(
        ("weights", 8),
        ((8, "weights"),),
        ((),),
        ((1, 2, 3),),
        (("biases", 8),),
        (("weights", inf),),
    ),
    *(tuple((t, 64) for t in TENSORS), tuple((t, 2.5) for t in TENSORS)),
    *(np.int64(2), np.float64(0.5), np.float64(nan), np.int32(-4), np.bool_(True), "dram", "sram"),
)

CHIP = edge()
LEVEL = CHIP.levels[0]
LAYER = Layer("conv", "conv", k=4, c=3, p=5, q=4, r=3, s=2, stride=(1, 2), input_size=(7, 8))
PRICED = AccessEnergy(1.0, 2.0, 3.0, 0.5, 0.25, 0.125, 0.0625)
BASES = (LEVEL, CHIP, LAYER, PRICED, Effects(), MappingProblem.of_layer(LAYER, CHIP))
#: odd values that are none for some field, at least
SOUND = {
    Effects: 1,
    AccessEnergy: 10,
    Layer: 10,
    MappingProblem: 10,
    StorageLevel: 10,
    Hardware: 10,
}


def malformed(base, rng, count):
    """Yield changes of an object: each field to each odd value, then several at once."""
    names = [f.name for f in fields(base) if f.name != "hardware"]
    for name in names:
        for value in ODD:
            yield {name: value}
    for _ in range(count):
        yield {
            name: rng.choice(ODD) for name in rng.sample(names, rng.randint(2, min(4, len(names))))
        }


def made(base, changes):
    """Return the changed object, or None if it was refused as it should be."""
    try:
        return replace(base, **changes)
    except ValueError as error:
        text = str(error)
        named = any(name in text or repr(value) in text for name, value in changes.items())
        # sizes are right one by one, their product or the last window is not
        assert named or "counted exactly" in text or "outside the input" in text, text
        return None


def on_a_chip(thing):
    """Return a hardware that has the thing in it, or None if they do not go together."""
    try:
        if isinstance(thing, AccessEnergy):
            thing = replace(LEVEL, energy=thing)
        if isinstance(thing, Effects):
            return replace(CHIP, effects=thing)
        if isinstance(thing, StorageLevel):
            return replace(CHIP, levels=(thing, *CHIP.levels[1:]))
    except ValueError:
        return None
    return thing if isinstance(thing, Hardware) else None


def problem_with(thing):
    """Return a problem that has the thing in it, or None if they do not go together."""
    try:
        if isinstance(thing, MappingProblem):
            return thing
        if isinstance(thing, Layer):
            return MappingProblem.of_layer(thing, CHIP) if thing.uses_macs else None
        hardware = on_a_chip(thing)
        return MappingProblem.of_layer(LAYER, hardware) if hardware else None
    except ValueError:
        return None


def check(problem):
    """Evaluate the problem; a technology or a buffer that cannot be is a ValueError too."""
    try:
        setup = problem.setup
        area = hardware_cost(problem.hardware)
    except (ValueError, InfeasibleError):
        return False
    assert 0 < area.area_mm2 < inf
    assert 0 < area.tdp_w < inf
    if problem.loop_bounds is not None:
        problem = replace(problem, loop_bounds=None)
    mapping = word_by_word(problem)
    found = closed(problem, mapping)
    if found.status != VALID:
        assert (found.energy, found.chip, found.dram) == (inf, inf, inf)
        return True
    assert isfinite(found.energy)
    assert found.energy > 0
    assert (found.by_level >= 0).all()
    assert (found.counts >= 0).all()
    assert 0 < found.cycles < inf
    cost = mapped_cost(problem, mapping)
    assert 0 < cost.dynamic_pj < inf
    assert cost.latency_cycles >= 1
    assert isfinite(setup.leakage_pj)
    return True


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_every_malformed_value_is_refused_or_sound(base):
    rng, tried, refused, sound = Random(type(base).__name__), 0, 0, 0
    for changes in malformed(base, rng, 1200):
        tried += 1
        thing = made(base, changes)
        if thing is None:
            refused += 1
            continue
        problem = problem_with(thing)
        if problem is not None:
            sound += check(problem)
    assert tried >= 1200 + 4 * len(ODD)
    assert refused > tried / 2
    assert sound >= SOUND[type(base)]


def test_there_are_more_than_ten_thousand():
    rng = Random(0)
    assert sum(1 for base in BASES for _ in malformed(base, rng, 1200)) > 10_000


@pytest.mark.parametrize("value", [v for v in ODD if v is not True])
def test_no_odd_value_is_an_energy_or_a_rate_by_accident(value):
    whole = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (whole and 0 <= value <= 1e12):
        with pytest.raises(ValueError, match="read_pj must be a number from 0 up"):
            replace(PRICED, read_pj=value)
    if not (whole and (1e-9 <= value <= 1e15 or value == inf)):
        with pytest.raises(ValueError, match="level rf: bandwidth_words must be a number"):
            replace(LEVEL, bandwidth_words=value)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(ValueError, match="level rf") as error:
        replace(LEVEL, mesh=(0, 1), width_words=1.5, bandwidth_words=nan, keeps=("bias",))
    for said in ("mesh must", "(0, 1)", "width_words must", "1.5", "bandwidth_words must", "bias"):
        assert said in str(error.value)
    with pytest.raises(ValueError, match=r"read_pj .* -1; .*address_pj .* nan"):
        replace(PRICED, read_pj=-1, address_pj=nan)
    with pytest.raises(ValueError, match=r"fill_drain .*did you mean exposed\?"):
        Effects(network="mash", fill_drain="expose")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("WIO:// WIO:{0}//", "mapping has 2 levels, edge has 3"),
        ("WIO:// WIO:// --O:// WIO:{0}//", "mapping has 4 levels, edge has 3"),
        ("WIO:// W--:// WIO:{0}//", "glb cannot hold weights"),
        (
            "WIO:// -IO:// WI-:{0}//",
            "dram is the outermost level for outputs, so it must keep them",
        ),
        ("WIO:// -IO:// WIO://", "mapping covers"),
    ],
)
def test_a_mapping_never_moves_words_for_nothing(text, message):
    glb = replace(CHIP.levels[1], keeps=("inputs", "outputs"))
    chip = replace(CHIP, levels=(CHIP.levels[0], glb, CHIP.levels[2]))
    problem = MappingProblem.of_layer(LAYER, chip)
    loops = "K4.C3.P5.Q4.R3.S2"
    assert mapped_cost(problem, Mapping.from_text(f"WIO:// -IO:// WIO:{loops}//")).dynamic_pj > 0
    with pytest.raises(ValueError, match=message):
        mapped_cost(problem, Mapping.from_text(text.format(loops)))
