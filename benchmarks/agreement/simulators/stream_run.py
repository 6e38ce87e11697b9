"""Let Stream schedule a chain of convolutions, in the interpreter that has it: JSON in, JSON out.

It imports nothing of Archloom: the recorder hands this text to another interpreter.
"""

import sys
import tempfile
import types


def versions():
    from importlib.metadata import version
    from platform import python_version

    found = {name: version(name) for name in ("stream-dse", "zigzag-dse", "numpy")}
    return {"python": python_version(), **found}


def chain(asked):
    """A chain in Stream's words, each layer on its only core; maps keep their size."""
    made, size = {}, asked["size"]
    for i, (channels, filters, kernel) in enumerate(asked["layers"]):
        pad = ((kernel - 1) // 2, (kernel - 1) // 2)
        made[i] = {
            "operator_type": "layer_on_core0",
            "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
            "dimension_relations": ["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
            "loop_dim_size": {
                "B": 1,
                "K": filters,
                "C": channels,
                "OY": size,
                "OX": size,
                "FY": kernel,
                "FX": kernel,
            },
            "operand_precision": {"O": 8, "O_final": 8, "W": 8, "I": 8},
            "operand_source": {"W": [], "I": [i - 1] if i else []},
            "constant_operands": ["W"] if i else ["W", "I"],
            "memory_operand_links": {"O": "O", "W": "I2", "I": "I1"},
            "padding": {"IY": pad, "IX": pad},
        }
        if i:
            maps = {"I": {"IX": "OX", "IY": "OY", "C": "K"}}
            made[i]["operand_source_dimension_mapping"] = maps
    return made


def scheduled(asked, folder):
    from stream.classes import stages as stream_stages
    from zigzag.classes import stages as zigzag_stages

    module = types.ModuleType("archloom_chain")
    module.workload = chain(asked)
    sys.modules[module.__name__] = module
    parts = (
        *("UserDefinedModelParserStage", "GenerateCNWorkloadHybridStage"),
        *("IntraCoreMappingStage", "InterCoreMappingStage"),
    )
    found = [getattr(stream_stages, name) for name in parts]
    main = zigzag_stages.MainStage(
        [zigzag_stages.AcceleratorParserStage, *found],
        accelerator=f"stream.inputs.testing.hardware.{asked['hardware']}",
        workload_path=module.__name__,
        mapping_path="stream.inputs.testing.mapping.testing_mapping",
        loma_lpf_limit=6,
        # one core: there is nothing to allocate
        nb_ga_individuals=4,
        nb_ga_generations=1,
        node_hw_performances_path=f"{folder}/performances.pickle",
        plot_hof=False,
        plot_file_name=False,
        plot_full_schedule=False,
        plot_data_transfer=False,
        cn_define_mode=1,
        hint_loops=[["OY", asked["parts"]]] if asked["parts"] > 1 else [],
        operands_to_prefetch=[],
        scheduler_candidate_selection="memory",
    )
    return main.run()[0][0]


def simulate(asked):
    with tempfile.TemporaryDirectory() as folder:
        found = scheduled(asked, folder)
    nodes = list(found.workload.nodes())
    layers = [[node for node in nodes if node.id[0] == i] for i in range(len(asked["layers"]))]
    return {
        "latency_cycles": int(found.latency),
        "first_start": int(min(node.start for node in nodes)),
        "last_end": int(max(node.end for node in nodes)),
        "parts": [len(layer) for layer in layers],
        "layer_cycles": [int(sum(node.runtime for node in layer)) for layer in layers],
        "on_chip_pj": float(found.total_cn_onchip_energy),
    }
