"""Run SCALE-Sim on one layer, in the interpreter that has it: a request in JSON, an answer in JSON.

It imports nothing of Archloom: the recorder hands this text to another interpreter.
"""


def versions():
    from importlib.metadata import version
    from platform import python_version

    found = {name: version(name) for name in ("scalesim", "numpy")}
    return {"python": python_version(), **found}


def configuration(asked):
    from scalesim.scale_config import scale_config

    made = scale_config()
    made.run_name = "layer"
    made.df = asked["dataflow"]
    made.array_rows, made.array_cols = asked["rows"], asked["columns"]
    made.ifmap_sz_kb, made.filter_sz_kb, made.ofmap_sz_kb = asked["sram_kib"]
    # places of the operands in memory; they only must not overlap
    made.ifmap_offset, made.filter_offset, made.ofmap_offset = 0, 100_000_000, 200_000_000
    words = asked["dram_words"]
    made.use_user_bandwidth = words is not None
    made.bandwidths = [words or 0]
    # 3.0.0 takes the bandwidth of reads from these keys
    made.ifmap_sram_bank_bandwidth = made.filter_sram_bank_bandwidth = words or 1
    made.ifmap_sram_bank_num = made.filter_sram_bank_num = 1
    made.ifmap_sram_bank_port = made.filter_sram_bank_port = 2
    made.using_ifmap_custom_layout = made.using_filter_custom_layout = False
    made.sparsity_support = False
    made.valid_conf_flag = True
    return made


def simulate(asked):
    from scalesim.layout_utils import layouts
    from scalesim.single_layer_sim import single_layer_sim
    from scalesim.topology_utils import topologies

    topology = topologies()
    # input rows and columns, filter rows and columns, channels, filters, strides, dense
    topology.load_layer_params_from_list("layer", ["layer", *asked["layer"], 1, 1])
    simulation = single_layer_sim()
    simulation.set_params(0, configuration(asked), topology, layouts(), verbose=False)
    simulation.run()
    whole, cycles, stalls, utilisation, *_ = simulation.get_compute_report_items()
    found = simulation.get_detail_report_items()
    words = ("ifmap_sram", "filter_sram", "ofmap_sram", "ifmap_dram", "filter_dram", "ofmap_dram")
    counts = {name: int(found[3 * i + 2]) for i, name in enumerate(words)}
    return {
        "whole_cycles": int(whole),
        "cycles": int(cycles),
        "stall_cycles": int(stalls),
        "utilisation_percent": round(float(utilisation), 6),
        **counts,
    }
