"""Work that the planners deepfrack and optimus count, which ``work_limit`` may limit, and its time.

python benchmarks/fusion/planner_work.py
python benchmarks/fusion/planner_work.py resnet50 --hardware fast_large
"""

import argparse
import time

from archloom.search.fusion.counted_work import CountedWork
from archloom.search.fusion.deepfrack.planner import DeepFrackSearch
from archloom.search.fusion.optimus.planner import optimus_plan
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS
from archloom.space.fusion import layer_by_layer
from archloom.space.networks import network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", default=["tiny_cnn", "mobilenetv2"])
    parser.add_argument("--hardware", nargs="+", choices=PRESETS, default=["eyeriss", "fast_large"])
    options = parser.parse_args()
    print("network hardware planner counted CPU-s")
    for name in options.networks:
        for hardware in map(preset, options.hardware):
            mapper = Mapper(MAPPING_SEARCHES["local"](), 200, seed=1)
            evaluator = MemoizedPlanEvaluator(network(name), hardware, mapper)
            evaluator.plan(layer_by_layer(evaluator.network))
            began = time.process_time()
            deepfrack = DeepFrackSearch(evaluator)
            deepfrack.plan()
            between = time.process_time()
            optimus = CountedWork("optimus", "")
            optimus_plan(evaluator, spend=optimus.spend)
            for planner, counted, spent in (
                ("deepfrack", deepfrack.work.spent, between - began),
                ("optimus", optimus.spent, time.process_time() - between),
            ):
                print(f"{name} {hardware.name} {planner} {counted} {spent:.1f}", flush=True)


if __name__ == "__main__":
    main()
