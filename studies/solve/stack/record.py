"""Results of a stack study as one JSON value, from which tables, report and verdicts are made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import fmean
from typing import Final

from archloom.evaluators.host import ConvShape
from archloom.search import non_dominated
from archloom.space import Infeasible
from archloom.studies.solve.compressing import StepFigures
from archloom.studies.solve.measuring import status_record

from .bench import Bench, Row
from .compression import Compression
from .points import Kernel, Networks, Point, never
from .settings import StackConfig

#: figures of the first seed's model, whose kernels are timed
_COUNTS: Final = ("stored_bytes", "params", "nonzero_params", "macs", "nonzero_macs")


@dataclass(frozen=True)
class Trained:
    """Figures of all seeds of the models of a study.

    Attributes:
        steps: by model; each of a method, level and seed.
    """

    steps: Mapping[str, Sequence[StepFigures]]

    def of(self, model: str, compression: Compression) -> list[StepFigures]:
        """Return the figures of a compressed model, in the order of the seeds."""
        kind = (compression.method, compression.level)
        found = [
            step
            for step in self.steps[model]
            if (step.method, step.level if compression.level else 0.0) == kind
        ]
        return sorted(found, key=lambda step: step.seed)

    def accuracy_percent(self, model: str, compression: Compression) -> float:
        """Return the mean accuracy over seeds."""
        return fmean(step.accuracy_percent for step in self.of(model, compression))

    def record(self, model: str, compression: Compression) -> Row:
        """Return what a point says of the accuracy side."""
        steps = self.of(model, compression)
        before = [step.before_percent for step in steps if step.before_percent is not None]
        return {
            "accuracy_percent": fmean(step.accuracy_percent for step in steps),
            "accuracies_percent": [step.accuracy_percent for step in steps],
            "before_fine_tuning_percent": fmean(before) if before else None,
            **{name: getattr(steps[0], name) for name in _COUNTS},
        }


def stack_record(
    config: StackConfig,
    points: Sequence[Point],
    trained: Trained,
    measured: tuple[Networks, Bench],
    machine: Row,
) -> Row:
    """Return all results.

    Args:
        config: of the study.
        points: that were asked for, in the order of the axes.
        trained: accuracies and sizes.
        measured: times.
        machine: where.
    """
    networks, bench = measured
    rows = [_point(point, trained, networks, bench) for point in points]
    return {
        "kind": "stack",
        "name": config.name,
        "archloom": version("archloom"),
        "machine": machine,
        "study": config.to_dict(),
        "axes": {
            "model": list(config.models),
            "compression": [c.label for c in config.compression],
            "algorithm": list(config.algorithms),
            "tuned": [name == "tuned" for name in ("untuned", "tuned")
                      if name in config.tuning.schedules],
        },
        "points": rows,
        "layers": list(_layers(points, networks, bench)),
        "front": front_of(rows),
    }  # fmt: skip


def front_of(points: Sequence[Row]) -> list[int]:
    """Return the points that no other is better than in accuracy, time and size."""
    timed = [number for number, row in enumerate(points) if row["status"] == "timed"]
    costs = [
        (-points[n]["accuracy_percent"], points[n]["time_us"], points[n]["stored_bytes"])
        for n in timed
    ]
    kept = non_dominated(costs).tolist()
    return [number for number, stays in zip(timed, kept, strict=True) if stays]


def _point(point: Point, trained: Trained, networks: Networks, bench: Bench) -> Row:
    about = {
        "model": point.model,
        "compression": point.compression.label,
        "method": point.compression.method,
        "level": point.compression.level,
        "algorithm": point.algorithm,
        "tuned": point.tuned,
        **trained.record(point.model, point.compression),
    }
    found = bench.point(point)
    assert found is not None, "all points are measured"
    row = {**about, **{k: v for k, v in found.items() if k not in ("kind", "name")}}
    if row["status"] == "timed":
        shapes = networks.shapes(point.model, point.compression, point.algorithm)
        rows = [bench.kernel(k, point.tuned) for layers in shapes.values() for _, k in layers]
        medians = [row.get("median_us") if row else None for row in rows]
        whole = [t for t in medians if t is not None]
        row["sum_of_layers_us"] = sum(whole) if len(whole) == len(medians) else None
        first = [bench.kernel(layers[0][1], point.tuned) for layers in shapes.values()]
        row["tried"] = sum(row["tried"] for row in first if row)
    return row


def _layers(points: Iterable[Point], networks: Networks, bench: Bench) -> Iterator[Row]:
    """Yield the rows of each shape of each compressed model."""
    pairs = dict.fromkeys((point.model, point.compression) for point in points)
    kinds = {
        pair: [(p.algorithm, p.tuned) for p in points if (p.model, p.compression) == pair]
        for pair in pairs
    }
    for (model, compression), asked in kinds.items():
        by_algorithm = {
            algorithm: networks.shapes(model, compression, algorithm)
            for algorithm in dict.fromkeys(name for name, _ in asked)
        }
        for shape in next(iter(by_algorithm.values())):
            named = {algorithm: shapes[shape] for algorithm, shapes in by_algorithm.items()}
            yield _layer(model, compression, shape, (named, asked), bench)


def _layer(
    model: str,
    compression: Compression,
    shape: ConvShape,
    wanted: tuple[Mapping[str, Sequence[tuple[str, Kernel]]], Sequence[tuple[str, bool]]],
    bench: Bench,
) -> Row:
    named, asked = wanted
    layers = next(iter(named.values()))
    kernels = {algorithm: [k for _, k in some] for algorithm, some in named.items()}
    return {
        "model": model,
        "compression": compression.label,
        "shape": str(shape),
        "count": len(layers),
        "layers": [name for name, _ in layers],
        "macs": shape.macs,
        "density": fmean(kernel.spec.density for _, kernel in layers),
        "densities": [kernel.spec.density for _, kernel in layers],
        "rows": [
            {
                "algorithm": algorithm,
                "tuned": tuned,
                **_row(never(compression, algorithm), kernels[algorithm], tuned, bench),
            }
            for algorithm, tuned in asked
        ],
    }


def _row(why: Infeasible | None, kernels: Sequence[Kernel], tuned: bool, bench: Bench) -> Row:
    """Return the row of a shape; of layers with weights of their own, the mean of theirs."""
    if why is not None:
        return status_record(why)
    rows = [row for kernel in dict.fromkeys(kernels) if (row := bench.kernel(kernel, tuned))]
    found = [{k: v for k, v in row.items() if k not in ("kind", "name")} for row in rows]
    refused = next((row for row in found if row["status"] != "timed"), None)
    if len(found) == 1 or refused is not None:
        return refused or found[0]
    means = {name: fmean(row[name] for row in found) for name in ("median_us", "low_us", "high_us")}
    return {
        **found[0],
        **means,
        "noise": max(row["noise"] for row in found),
        "medians_us": [row["median_us"] for row in found],
    }
