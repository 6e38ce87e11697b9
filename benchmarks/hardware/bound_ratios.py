"""How well is a design's EDP predicted from its lower bound and from results of other designs?

Takes the designs of ``casco_edge`` that ``hardware_search.py curves`` measured and that are within
``--within`` of the exact front, and prints for the loose and the tight bound the deviation of
ln(EDP / bound), and the root mean square error of a Gaussian process on some of them for the
others: with BoTorch's prior of the noise (``smooth``) and with that of ``mobo`` (``rough``).

    python benchmarks/hardware/hardware_search.py curves --optimizers mobo random
    python benchmarks/hardware/bound_ratios.py
"""

import argparse
import json
from math import exp, fsum, log
from pathlib import Path

import numpy as np
from hardware_search import NETWORKS, front_file, problem_of

from archloom.evaluators.arrays import Floats
from archloom.search.hardware.bayesian.candidate_pool import CandidatePool
from archloom.search.hardware.problem import ENUMERATE_LIMIT, Candidate, DesignProblem
from archloom.surrogates.gp import GaussianProcess
from archloom.surrogates.gp_fit import ROUGH_NOISE_PRIOR, SMOOTH_NOISE_PRIOR, fit_hyperparameters

TOLD = (8, 15, 30, 60, 150)
ASKED, DRAWS = 200, 10
PRIORS = {"smooth": SMOOTH_NOISE_PRIOR, "rough": ROUGH_NOISE_PRIOR}


def designs(problem: DesignProblem, file: Path) -> list[tuple[Candidate, float]]:
    """Return the designs that were measured on all networks, each with its EDP (geometric mean)."""
    found = []
    parameters = {p.name: {str(v): v for v in p.values} for p in problem.space.parameters}
    for record in map(json.loads, file.read_text().splitlines()):
        if len(record["edps"]) == len(NETWORKS):
            pairs = (part.split("=") for part in record["key"].split(", "))
            design = problem.assess({name: parameters[name][text] for name, text in pairs})
            assert isinstance(design, Candidate)
            found.append((design, exp(fsum(map(log, record["edps"])) / len(NETWORKS))))
    return found


def behind(values: Floats, front: Floats) -> Floats:
    """Return [n] by how much, in logarithms, a member of a front is better in all objectives."""
    return np.asarray([np.min(np.max(np.log(row) - np.log(front), axis=1)) for row in values])


def error(
    inputs: Floats, targets: Floats, told: int, draws: int, noise: tuple[float, float]
) -> float:
    """Return the root mean square error over some draws of designs that are told."""
    squares = []
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(targets))
        some, rest = order[:told], order[told : told + ASKED]
        found = fit_hyperparameters(inputs[some], targets[some], noise=noise)
        mean, _ = GaussianProcess(inputs[some], targets[some], found).predict(inputs[rest])
        squares.append(np.mean((targets[rest] - mean) ** 2))
    return float(np.sqrt(np.mean(squares)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    kept = Path("runs/hardware_search/casco_edge/evaluations.jsonl")
    parser.add_argument("--evaluations", type=Path, default=kept)
    parser.add_argument("--within", type=float, default=0.03, help="in natural logarithms")
    parser.add_argument("--told", type=int, nargs="+", default=TOLD, help="designs fitted to")
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    problem = problem_of("casco_edge", ENUMERATE_LIMIT)
    members = json.loads(front_file(problem).read_text())["front"]
    found = designs(problem, options.evaluations)
    values = np.array([(edp, design.area_mm2, design.tdp_w) for design, edp in found])
    near = behind(values, np.array([m["values"] for m in members])) < options.within
    found = [one for one, is_near in zip(found, near, strict=True) if is_near]
    inputs = CandidatePool(problem, 0, 2000).inputs([design for design, _ in found])
    print(f"{len(found)} designs within {options.within} of the front")
    print("| bound | ln(EDP / bound) | noise | " + " | ".join(map(str, options.told)) + " |")
    print("|---" * (3 + len(options.told)) + "|")
    for bound in ("loose", "tight"):
        least = [(d if bound == "loose" else problem.tightened(d)).values[0] for d, _ in found]
        above = np.log([edp for _, edp in found]) - np.log(least)
        for name, noise in PRIORS.items():
            errors = (error(inputs, above, n, options.draws, noise) for n in options.told)
            cells = " | ".join(f"{value:.4f}" for value in errors)
            print(f"| {bound} | {above.mean():.3f} +- {above.std():.3f} | {name} | {cells} |")


if __name__ == "__main__":
    main()
