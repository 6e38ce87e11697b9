"""Let ZigZag map one layer, in the interpreter that has it: a request in JSON, an answer in JSON.

It imports nothing of Archloom: the recorder hands this text to another interpreter.
"""

import tempfile


def versions():
    from importlib.metadata import version
    from platform import python_version

    found = {name: version(name) for name in ("zigzag-dse", "numpy")}
    return {"python": python_version(), **found}


def workload(asked):
    """A convolution in ZigZag's words; products have a kernel of one."""
    b, k, c, oy, ox, fy, fx = asked["loops"]
    stride = asked["stride"]
    return [
        {
            "id": 0,
            "name": "layer",
            "operator_type": "Conv",
            "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
            "dimension_relations": [f"ix={stride}*ox+1*fx", f"iy={stride}*oy+1*fy"],
            "loop_dims": ["B", "K", "C", "OY", "OX", "FY", "FX"],
            "loop_sizes": [b, k, c, oy, ox, fy, fx],
            "operand_precision": {"W": 8, "I": 8, "O": asked["sum_bits"], "O_final": 8},
            "operand_source": {"I": 0, "W": 0},
        }
    ]


def evaluated(asked, folder):
    from importlib.resources import files
    from pathlib import Path
    from pickle import load

    import yaml
    from zigzag.api import get_hardware_performance_zigzag

    own, path = files("zigzag") / "inputs", Path(folder)
    layer = path / "layer.yaml"
    layer.write_text(yaml.safe_dump(workload(asked)))
    get_hardware_performance_zigzag(
        str(layer),
        str(own / "hardware" / f"{asked['hardware']}.yaml"),
        str(own / "mapping" / f"{asked['mapping']}.yaml"),
        opt="EDP",
        temporal_mapping_type=asked["cuts"],
        dump_folder=folder,
        pickle_filename=str(path / "found.pickle"),
        lpf_limit=6,
        loma_show_progress_bar=False,
    )
    with (path / "found.pickle").open("rb") as file:
        return load(file)[0]


def loops(pairs):
    return [[str(dim), float(size) if size != int(size) else int(size)] for dim, size in pairs]


def memory(level):
    instance = level.memory_instance
    return {
        "memory": instance.name,
        "bits": int(instance.size),
        "instances": int(level.unroll_count),
        "read_pj": instance.r_cost,
        "write_pj": instance.w_cost,
        "port_bits": max(int(p.bw_max) for p in level.ports),
        "least_bits": min(int(p.bw_min) for p in level.ports),
    }


def moved(cme, operand, at):
    """Elements that a level moves in each direction, over all its instances in use."""
    from zigzag.hardware.architecture.memory_port import DataDirection
    from zigzag.mapping.data_movement import DataMoveAttr

    flows = cme.mapping.unit_mem_data_movement[operand][at]
    amount = flows.get_attribute(DataMoveAttr.DATA_TRANS_AMOUNT_PER_PERIOD)
    periods = flows.get_attribute(DataMoveAttr.DATA_TRANS_PERIOD_COUNT)
    bits = flows.get_attribute(DataMoveAttr.DATA_PRECISION)
    units = cme.mapping.spatial_mapping.unit_count[operand][at + 1]
    return {
        str(d.name).lower(): [int(amount.get(d) * periods.get(d) * units), int(bits.get(d))]
        for d in DataDirection
    }


def simulate(asked):
    with tempfile.TemporaryDirectory() as folder:
        cme = evaluated(asked, folder)
    operands = {}
    for operand in cme.layer.layer_operands:
        link = cme.memory_operand_links.layer_to_mem_op(operand)
        temporal = cme.temporal_mapping.mapping_dic_origin[operand]
        spatial = cme.spatial_mapping.mapping_dict_origin[operand]
        levels = []
        for at, level in enumerate(cme.mem_hierarchy_dict[link][: cme.mapping.mem_level[operand]]):
            levels.append(
                {
                    **memory(level),
                    "temporal": loops(temporal[at]),
                    "spatial": loops(spatial[at + 1]),
                    "elements": moved(cme, operand, at),
                    "energy_pj": cme.mem_energy_breakdown[operand][at],
                }
            )
        operands[str(operand)] = {"below": loops(spatial[0]), "levels": levels}
    unrolled = {
        str(dim): loops(nested.items()) for dim, nested in cme.layer.spatial_mapping.items()
    }
    return {
        "operands": operands,
        "unrolled": unrolled,
        "mac_pj": cme.mac_energy,
        "energy_pj": cme.energy_total,
        "steps": int(cme.ideal_temporal_cycle),
        "stall_cycles": float(cme.stall_slack_comb),
        "first_load_cycles": float(cme.data_onloading_cycle),
        "last_store_cycles": float(cme.data_offloading_cycle),
        "drain_cycles": float(getattr(cme, "systolic_drain_cycle", 0)),
        "latency_cycles": float(cme.latency_total2),
    }
