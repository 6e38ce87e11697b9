"""Each of the thirteen verdicts comes out each way, from records that are made so."""

import json
from collections.abc import Callable
from dataclasses import replace

from archloom.studies.analysis.stack import Verdict, judge
from archloom.studies.analysis.stack.findings import Finding

from ....cases.stack_records import (
    ALGORITHMS,
    MANY,
    NO_KERNEL,
    NOISY,
    NOTHING,
    AccuracyRule,
    Rules,
    alternating,
    flat,
    growing,
    losing,
    scattered,
    stack_results,
    times,
)

HOLDS, FAILS, UNTOLD = Verdict.HOLDS, Verdict.FAILS, Verdict.UNTOLD


def found(number: str, rules: Rules) -> Finding:
    return next(each for each in judge(stack_results(rules)) if each.observation.number == number)


def parts(number: str, rules: Rules) -> list[Verdict]:
    return [part.verdict for part in found(number, rules).parts]


def test_one() -> None:
    assert parts("I", Rules(times=alternating, accuracies=scattered)) == [HOLDS] * 3
    assert parts("I", Rules(accuracies=growing)) == [FAILS] * 3
    assert parts("I", Rules(accuracies=scattered)) == [HOLDS, FAILS, HOLDS]
    assert found("I", Rules(accuracies=scattered)).verdict is FAILS
    assert parts("I", NOTHING) == [UNTOLD] * 3
    # the same accuracy everywhere goes with nothing
    assert parts("I", Rules(times=alternating, accuracies=flat)) == [UNTOLD, HOLDS, UNTOLD]
    few = Rules(compressions=("dense",))
    assert parts("I", few) == [UNTOLD] * 3
    assert "pairs: 4, at least 6 are needed" in found("I", few).parts[0].evidence


def test_two() -> None:
    assert found("II", Rules()).verdict is HOLDS
    assert found("II", Rules(times=times(tuned_weights=12.0))).verdict is FAILS
    assert found("II", Rules(times=times(untuned_weights=12.0))).verdict is HOLDS
    assert found("II", Rules(times=times(tuned_weights=10.5))).verdict is UNTOLD
    assert found("II", Rules(states=(False,))).verdict is UNTOLD
    assert found("II", Rules(models=("small",))).verdict is UNTOLD
    assert found("II", NOTHING).verdict is UNTOLD
    imagenet = Rules(study={"data": "imagenet"})
    assert found("II", imagenet).verdict is FAILS
    assert found("II", replace(imagenet, times=times(tuned_weights=12.0))).verdict is HOLDS


def test_two_takes_the_level_at_the_elbow() -> None:
    shown = found("II", Rules()).parts[0].evidence
    assert "small, weights 0.95: 0.10 (0.09 to 0.11)" in shown
    lost = Rules(accuracies=losing({("all", "weights 0.95"): 30.0}))
    assert "small, weights 0.8: 0.25" in found("II", lost).parts[0].evidence
    none = Rules(accuracies=losing({("small", "weights"): 30.0}))
    assert "small, weights 0.8 (accuracy lost): 0.25" in found("II", none).parts[0].evidence


def test_three() -> None:
    rules = Rules(models=MANY, compressions=("dense", "weights 0.8"))

    def accuracies(dense: Callable[[int], float]) -> AccuracyRule:
        """Small models lose more than large ones."""

        def rule(model: str, compression: str) -> list[float]:
            place = MANY.index(model)
            lost = 60 - 2.5 * place if compression != "dense" else 0
            return [dense(place) - lost + shift for shift in (0.1, 0.0, -0.1)]

        return rule

    mixed = accuracies(lambda place: 90 + (place * 11) % 24 / 4)
    assert parts("III", replace(rules, accuracies=mixed)) == [HOLDS, HOLDS]
    rising = accuracies(lambda place: 70 + place)
    assert parts("III", replace(rules, accuracies=rising)) == [FAILS, HOLDS]
    # four models are too few for the first part
    small = Rules(accuracies=losing({("small", "weights"): 50.0, ("middle", "weights"): 20.0}))
    assert parts("III", small) == [UNTOLD, HOLDS]
    large = Rules(accuracies=losing({("huge", "weights"): 50.0, ("large", "weights"): 20.0}))
    assert parts("III", large) == [UNTOLD, FAILS]
    wild = losing({("small", "weights"): 50.0, ("middle", "weights"): 20.0}, spread=40.0)
    assert parts("III", Rules(accuracies=wild)) == [UNTOLD, UNTOLD]
    assert parts("III", Rules()) == [UNTOLD, UNTOLD]
    assert parts("III", NOTHING) == [UNTOLD, UNTOLD]


def test_four() -> None:
    lost = losing({("all", "channels"): 9.0})
    rules = Rules(times=times(weights=2.0, channels=1.0), accuracies=lost)
    assert parts("IV", rules) == [HOLDS, HOLDS, HOLDS]
    assert found("IV", rules).verdict is HOLDS
    lost = losing({("all", "weights"): 9.0})
    slow = Rules(times=times(weights=0.9, channels=1.5), accuracies=lost)
    assert parts("IV", slow) == [FAILS, FAILS, FAILS]
    # elbows beyond the last level of both: which is further is not known
    assert parts("IV", Rules()) == [UNTOLD, UNTOLD, UNTOLD]
    assert parts("IV", NOISY)[1:] == [UNTOLD, UNTOLD]
    assert parts("IV", NOTHING) == [UNTOLD] * 3
    assert parts("IV", Rules(compressions=("dense", "weights 0.8"))) == [UNTOLD] * 3


def test_four_brackets_the_elbow() -> None:
    """Weights are kept at 0.8 and lost at 0.95, channels kept at 0.5 and lost at 0.8."""
    lost = losing({("all", "weights 0.95"): 9.0, ("all", "channels 0.8"): 9.0})
    shown = found("IV", Rules(accuracies=lost)).parts[0]
    assert shown.verdict is UNTOLD
    assert "small: 5.0% to 20.0% and 10.0% to 30.0% of the parameters left" in shown.evidence


def test_five() -> None:
    assert found("V", Rules(times=times(float16=3.0))).verdict is HOLDS
    assert found("V", Rules(times=times(int8=3.0))).verdict is HOLDS
    assert found("V", Rules(noise=0.02)).verdict is FAILS
    assert found("V", NOISY).verdict is UNTOLD
    assert found("V", NOTHING).verdict is UNTOLD
    text = found("V", Rules(times=times(tuned_float16=3.0))).parts[0].evidence
    assert "time of float16 tuned / float32: 3.00 (2.73 to 3.30) (geometric mean of 4)" in text
    assert "time of int8 tuned / float32: 1.00 (0.91 to 1.10) (geometric mean of 4)" in text


def test_six() -> None:
    assert found("VI", Rules(accuracies=losing({("all", "int8"): 3.0}))).verdict is HOLDS
    both = Rules(accuracies=losing({("all", "int8"): 3.0, ("all", "float16"): 3.0}))
    assert parts("VI", both) == [FAILS, HOLDS]
    assert parts("VI", Rules()) == [HOLDS, FAILS]
    uneven = Rules(accuracies=losing({("small", "int8"): 9.0, ("small", "float16"): 9.0}))
    assert parts("VI", uneven) == [UNTOLD, UNTOLD]
    assert parts("VI", Rules(models=("small",))) == [UNTOLD, UNTOLD]
    assert parts("VI", NOTHING) == [UNTOLD, UNTOLD]


def test_seven() -> None:
    assert found("VII", Rules(times=times(tuned_spatial_pack=0.5))).verdict is HOLDS
    assert found("VII", Rules(times=times(tuned_direct=0.5))).verdict is FAILS
    assert found("VII", Rules(times=times(untuned_spatial_pack=0.5))).verdict is UNTOLD
    assert found("VII", replace(NOISY, times=times(spatial_pack=0.7))).verdict is UNTOLD
    assert found("VII", NOTHING).verdict is UNTOLD
    assert found("VII", Rules(algorithms=("spatial_pack",))).verdict is UNTOLD
    text = found("VII", Rules(times=times(tuned_direct=0.5))).parts[0].evidence
    assert (
        "Fastest: direct 4. Figures: time of spatial pack / time of the fastest other algorithm"
        in text
    )
    assert "small: 2.00 (1.82 to 2.20) of direct" in text


def test_one_model_shows_nothing_general() -> None:
    """However many cases it has."""
    fast = times(untuned=8.0, tuned_spatial_pack=0.5, tuned_gemm=0.7, weights=2.0)
    one = judge(stack_results(Rules(times=fast, models=("small",))))
    told = {each.observation.number for each in one if each.verdict is not UNTOLD}
    assert told == set()
    shown = found("X", Rules(times=fast, models=("small",))).parts[0]
    assert shown.figure == "models with such cases: 1, at least 2 are needed"


def test_an_algorithm_that_was_not_asked_for_may_be_the_fastest() -> None:
    fast = times(tuned_spatial_pack=0.5, gemm=0.5)
    for lacking in ("direct", "gemm", "spatial_pack"):
        rules = Rules(times=fast, algorithms=tuple(n for n in ALGORITHMS if n != lacking))
        assert found("VII", rules).verdict is UNTOLD
    without = Rules(times=fast, algorithms=("direct", "gemm"))
    assert found("IX", without).verdict is HOLDS
    assert found("IX", replace(without, algorithms=("gemm", "spatial_pack"))).verdict is UNTOLD
    # one that is slower than another is not the fastest, whatever is left out
    slow = Rules(times=times(tuned_direct=0.5), algorithms=("direct", "spatial_pack"))
    assert found("VII", slow).verdict is FAILS


def test_models_that_no_kernel_runs_are_no_cases() -> None:
    def rule(model: str, compression: str, name: str, tuned: bool) -> float | str:
        time = times(tuned_spatial_pack=0.5, gemm=0.4)(model, compression, name, tuned)
        return "no_whole_network" if model in ("small", "middle") else time

    for number in ("VII", "IX"):
        assert found(number, Rules(times=rule)).verdict is not UNTOLD
        assert "small" not in found(number, Rules(times=rule)).parts[0].evidence


def test_claims_say_what_is_claimed_and_no_case() -> None:
    assert (
        found("VII", Rules()).parts[0].claim
        == "for tuned dense models, spatial pack is the fastest"
    )
    assert found("IX", Rules()).parts[0].claim == "for weight-pruned models, GEMM is the fastest"


def test_eight_and_thirteen_need_other_machines() -> None:
    for number, why in (("VIII", "no GPU kernels"), ("XIII", "needs results")):
        finding = found(number, Rules())
        assert finding.verdict is UNTOLD
        assert finding.parts == ()
        assert why in finding.observation.beyond


def test_nine() -> None:
    assert found("IX", Rules(times=times(gemm=0.5))).verdict is HOLDS
    assert found("IX", Rules(times=times(direct=0.5))).verdict is FAILS
    # half of the cases are not most of them
    mixed = Rules(times=times(untuned_gemm=0.5, tuned_direct=0.5))
    assert found("IX", mixed).verdict is FAILS
    assert found("IX", Rules()).verdict is UNTOLD
    assert found("IX", NOTHING).verdict is UNTOLD


def test_ten() -> None:
    assert found("X", Rules(times=times(weights=2.0, channels=1.5))).verdict is HOLDS
    assert found("X", Rules(times=times(weights=0.5, channels=0.5))).verdict is FAILS
    # three quarters of the cases are not more than that
    some = Rules(times=times(weights=2.0, untuned_channels=2.0, tuned_channels=0.5))
    assert found("X", some).verdict is FAILS
    assert found("X", Rules()).verdict is UNTOLD
    assert found("X", NOTHING).verdict is UNTOLD
    text = found("X", Rules(times=times(weights=2.0))).parts[0].evidence
    assert "fraction reached with weights tuned: 0.50 (0.45 to 0.55) (geometric mean of 4)" in text


def test_eleven() -> None:
    fast = times(untuned=8.0, untuned_spatial_pack=0.5, tuned_gemm=0.5)
    assert parts("XI", Rules(times=fast)) == [HOLDS, HOLDS]
    # a compression may change alone
    other = times(untuned=8.0, gemm=0.5, untuned_channels=30.0, untuned_weights=3.0)
    compression = Rules(times=other, compressions=("dense", "weights 0.8", "channels 0.8"))
    text = found("XI", compression).parts[1].evidence
    assert "small: dense to channels 0.8" not in text
    assert "small: weights 0.8 to channels 0.8" in text
    settled = times(untuned=1.2, gemm=0.5)
    clear = Rules(times=settled, compressions=("dense", "weights 0.8", "channels 0.8"))
    assert parts("XI", clear) == [FAILS, FAILS]
    assert parts("XI", Rules(times=times(untuned=2.0))) == [UNTOLD, UNTOLD]
    assert parts("XI", NOTHING) == [UNTOLD, UNTOLD]
    assert parts("XI", Rules(states=(True,))) == [UNTOLD, UNTOLD]


def test_eleven_sees_no_change_where_the_best_was_refused() -> None:
    """Pruned weights are the fastest untuned, and refused tuned: they may still be the fastest."""

    def rule(model: str, compression: str, name: str, tuned: bool) -> float | str:
        time = times(gemm=0.5, untuned=1.2)(model, compression, name, tuned)
        return "noisy" if tuned and compression == "weights 0.8" and time != NO_KERNEL else time

    part = found("XI", Rules(times=rule, compressions=("dense", "weights 0.8"))).parts[1]
    assert part.verdict is UNTOLD
    assert part.evidence == "0 of 12 change, 4 do not, 8 are within noise"


def test_twelve() -> None:
    less = times(untuned_dense=6.0, untuned_weights=2.0, untuned_channels=2.0)
    assert found("XII", Rules(times=less)).verdict is HOLDS
    more = times(untuned_dense=2.0, untuned_weights=6.0, untuned_channels=6.0)
    assert found("XII", Rules(times=more)).verdict is FAILS
    assert found("XII", Rules()).verdict is UNTOLD
    assert found("XII", NOTHING).verdict is UNTOLD


def test_noise_decides_what_is_told() -> None:
    fast = times(tuned_spatial_pack=0.7)
    verdicts = [found("VII", Rules(times=fast, noise=noise)).verdict for noise in (0.1, 0.2, 0.22)]
    assert verdicts == [HOLDS, HOLDS, UNTOLD]


def test_all_thirteen_are_there_once_and_become_json() -> None:
    findings = judge(stack_results())
    romans = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII"]
    assert [each.observation.number for each in findings] == romans
    text = json.dumps([each.record for each in findings], allow_nan=False)
    assert json.loads(text)[1]["verdict"] == "holds"
    open_ended = json.loads(text)[5]["parts"][1]
    assert open_ended["verdict"] == "does not hold"


def test_other_algorithms_decide_nothing() -> None:
    """oneDNN is faster than all, and no part of the paper."""

    def rule(model: str, compression: str, name: str, tuned: bool) -> float | str:
        if name == "library":
            return 1.0
        return times(tuned_spatial_pack=0.5)(model, compression, name, tuned)

    rules = Rules(times=rule, algorithms=("direct", "gemm", "spatial_pack", "library"))
    assert found("VII", rules).verdict is HOLDS
    assert found("II", rules).parts == found("II", Rules(times=times(tuned_spatial_pack=0.5))).parts
