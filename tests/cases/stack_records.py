"""Records of studies across the stack, made from a few rules about times and accuracies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: model: parameters and MACs
MODELS = {"small": (1_000_000, 10_000_000), "middle": (3_000_000, 30_000_000)}
MODELS |= {"large": (9_000_000, 90_000_000), "huge": (20_000_000, 300_000_000)}
FOUR = tuple(MODELS)
MANY = tuple(f"m{number}" for number in range(1, 25))
MODELS |= {name: (place * 1_000_000, place * 9_000_000) for place, name in enumerate(MANY, 1)}

#: compression: method, level, shares of parameters and MACs that are left, bytes of a value
COMPRESSIONS: dict[str, tuple[str, float, float, float, int]] = {
    "dense": ("dense", 0.0, 1.0, 1.0, 4),
    "weights 0.8": ("weights", 0.8, 0.2, 0.25, 4),
    "weights 0.95": ("weights", 0.95, 0.05, 0.1, 4),
    "channels 0.5": ("channels", 0.5, 0.3, 0.3, 4),
    "channels 0.8": ("channels", 0.8, 0.1, 0.1, 4),
    "float16": ("float16", 0.5, 1.0, 1.0, 2),
    "int8": ("int8", 0.75, 1.0, 1.0, 1),
}
ALGORITHMS = ("direct", "gemm", "spatial_pack")

NO_KERNEL = "no_host_kernel"

#: model, compression, algorithm, tuned -> microseconds, or the word of a refusal
TimeRule = Callable[[str, str, str, bool], float | str]
#: model, compression -> accuracy of each seed
AccuracyRule = Callable[[str, str], list[float]]


def even(model: str, compression: str, algorithm: str, tuned: bool) -> float | str:
    """Every kernel takes the same share of the MACs, tuned or not."""
    del tuned
    method, _, _, macs, _ = COMPRESSIONS[compression]
    if method == "weights" and algorithm == "spatial_pack":
        return NO_KERNEL
    return MODELS[model][1] * macs / 1e4


def perfect(model: str, compression: str) -> list[float]:
    """Nothing costs accuracy."""
    del model, compression
    return [95.0, 95.1, 94.9]


@dataclass(frozen=True)
class Rules:
    """How a record comes out.

    Attributes:
        times: of whole networks.
        accuracies: of seeds.
        noise: of every time.
        models, compressions, algorithms, states: the axes.
        study: settings.
    """

    times: TimeRule = even
    accuracies: AccuracyRule = perfect
    noise: float = 0.05
    models: tuple[str, ...] = FOUR
    compressions: tuple[str, ...] = tuple(COMPRESSIONS)
    algorithms: tuple[str, ...] = ALGORITHMS
    states: tuple[bool, ...] = (False, True)
    study: Mapping[str, Any] = field(default_factory=lambda: {"data": "digits", "seeds": 3})


def stack_results(rules: Rules = Rules()) -> dict[str, Any]:
    """Return the ``results.json`` of a study that came out by the rules."""
    points = [
        _point(rules, model, compression, algorithm, tuned)
        for model in rules.models
        for compression in rules.compressions
        for algorithm in rules.algorithms
        for tuned in rules.states
    ]
    timed = [i for i, point in enumerate(points) if point["status"] == "timed"]
    return {
        "kind": "stack",
        "name": "made",
        "archloom": "0",
        "machine": {
            "cpu": "a processor",
            "flags": ["avx2"],
            "cores": 2,
            "threads": 1,
            "libraries": {"halide": "21.0.0"},
            "python": "3.11",
        },
        "study": dict(rules.study),
        "load": [0.5, 1.5],
        "axes": {
            "model": list(rules.models),
            "compression": list(rules.compressions),
            "algorithm": list(rules.algorithms),
            "tuned": list(rules.states),
        },
        "points": points,
        "layers": [],
        "front": [i for i in timed if not any(_beats(points[j], points[i]) for j in timed)],
    }


def _point(
    rules: Rules, model: str, compression: str, algorithm: str, tuned: bool
) -> dict[str, Any]:
    method, level, params_left, macs_left, size = COMPRESSIONS[compression]
    params, macs = MODELS[model]
    whole = params_left if method == "channels" else 1.0
    seeds = rules.accuracies(model, compression)
    point: dict[str, Any] = {
        "model": model,
        "compression": compression,
        "method": method,
        "level": level,
        "algorithm": algorithm,
        "tuned": tuned,
        "accuracy_percent": sum(seeds) / len(seeds) if seeds else None,
        "accuracies_percent": seeds,
        "before_fine_tuning_percent": 20.0 if method in ("weights", "channels") else None,
        "stored_bytes": round(params * params_left * size),
        "params": round(params * whole),
        "nonzero_params": round(params * params_left),
        "macs": round(macs * (macs_left if method == "channels" else 1.0)),
        "nonzero_macs": round(macs * macs_left),
        "tried": 3 * tuned,
    }
    time = rules.times(model, compression, algorithm, tuned)
    if isinstance(time, str):
        return {**point, "status": "refused", "reason": {"reason": time, "text": f"why: {time}"}}
    half = rules.noise / 2
    return {
        **point,
        "status": "timed",
        "reason": None,
        "time_us": time,
        "low_us": time * (1 - half),
        "high_us": time * (1 + half),
        "noise": rules.noise,
        "blocks_us": [time] * 5,
        "sum_of_layers_us": time * 0.9,
    }


def _beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    signs = {"accuracy_percent": -1, "time_us": 1, "stored_bytes": 1}
    costs = [[sign * point[key] for key, sign in signs.items()] for point in (one, other)]
    return costs[0] != costs[1] and all(a <= b for a, b in zip(*costs, strict=True))


def times(**factors: float) -> TimeRule:
    """Times of :func:`even`, with factors for what a combination has: methods, algorithms, states.

    ``tuned_gemm`` and the like are for combinations.
    """

    def rule(model: str, compression: str, algorithm: str, tuned: bool) -> float | str:
        time = even(model, compression, algorithm, tuned)
        if isinstance(time, str):
            return time
        method, state = COMPRESSIONS[compression][0], "tuned" if tuned else "untuned"
        words = (method, algorithm, state, f"{state}_{algorithm}", f"{state}_{method}", model)
        for word in words:
            time *= factors.get(word, 1.0)
        return time

    return rule


def losing(points: dict[tuple[str, str], float], spread: float = 0.1) -> AccuracyRule:
    """95 percent, less by so many points for a model and a method or compression."""

    def rule(model: str, compression: str) -> list[float]:
        method = COMPRESSIONS[compression][0]
        lost = sum(
            points.get((which, what), 0.0)
            for which in (model, "all")
            for what in (method, compression)
        )
        apart = spread if method != "dense" else 0.1
        return [95 - lost, 95 - lost + apart, 95 - lost - apart]

    return rule


def alternating(model: str, compression: str, algorithm: str, tuned: bool) -> float | str:
    """Times that have nothing to do with MACs, nor with accuracies."""
    del algorithm, tuned
    place = list(MODELS).index(model) * 7 + list(COMPRESSIONS).index(compression)
    return 100.0 + (place * 11) % 28


def scattered(model: str, compression: str) -> list[float]:
    place = list(MODELS).index(model) * 7 + list(COMPRESSIONS).index(compression)
    return [70.0 + (place * 5) % 28]


def growing(model: str, compression: str) -> list[float]:
    """The more MACs, the more accuracy."""
    return [50 + MODELS[model][1] * COMPRESSIONS[compression][3] / 1e7]


def refused(model: str, compression: str, algorithm: str, tuned: bool) -> float | str:
    """Nothing could be timed."""
    del model, compression, algorithm, tuned
    return "noisy"


def unknown(model: str, compression: str) -> list[float]:
    """No accuracy is known."""
    del model, compression
    return []


def flat(model: str, compression: str) -> list[float]:
    """One seed, and the same accuracy everywhere."""
    del model, compression
    return [95.0]


NOTHING = Rules(times=refused, accuracies=unknown)
NOISY = Rules(noise=0.24)
