"""Writes case records as a Timeloop user would, in both generations of the formats."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from archloom.space.importers.timeloop.reader import read_timeloop
from archloom.space.importers.timeloop.yaml_dialect import TimeloopError

Record = dict[str, Any]


class Tag(dict[str, Any]):
    """A mapping behind a tag."""

    def __init__(self, tag: str, **values: Any) -> None:
        super().__init__(values)
        self.tag = tag


class _Dumper(yaml.SafeDumper):
    pass


def _tagged(dumper: yaml.SafeDumper, data: Tag) -> yaml.Node:
    return dumper.represent_mapping(f"!{data.tag}", dict(data))


_Dumper.add_representer(Tag, _tagged)


def dump(path: Path, data: Any) -> Path:
    """Write YAML and return the path."""
    path.write_text(yaml.dump(data, Dumper=_Dumper, sort_keys=False))
    return path


def write_old(record: Record, folder: Path) -> dict[str, Path]:
    """Write v0.3 files: a tree with ranges, hyphens, mappings as texts."""
    levels, mac = record["arch"]["levels"], record["arch"]["mac"]
    tree: Any = None
    for level in levels:
        local = {
            "name": f"{level['name']}[0..{level['instances'] - 1}]",
            "class": "DRAM" if level["technology"] == "DRAM" else "smartbuffer_SRAM",
            "attributes": {k.replace("_", "-", 1): v for k, v in _attributes(level).items()},
        }
        local["attributes"] |= {"meshX": level["meshX"], "meshY": level["meshY"]}
        node: Record = {"name": f"around_{level['name']}", "local": [local]}
        if tree is None:
            name = f"mac[1..{mac['instances']}]"
            node["local"].append({"name": name, "class": "intmac", "attributes": _mesh(mac)})
        else:
            node["subtree"] = [tree]
        tree = node
    tree["name"] = record["arch"]["name"]
    architecture = {"version": 0.3, "subtree": [tree]}
    return _write(record, folder, architecture, "data-spaces", "read-write", _old_directives)


def write_new(record: Record, folder: Path) -> dict[str, Path]:
    """Write v0.4 files: tagged nodes with fan-outs at containers, mappings as lists."""
    levels, mac = record["arch"]["levels"], record["arch"]["mac"]
    nodes: list[Tag] = [Tag("Container", name=record["arch"]["name"])]
    outwards = list(reversed(levels))
    for level, inner in zip(outwards, [*outwards[1:], mac], strict=True):
        attributes = _attributes(level)
        fanout = (inner["meshX"] // level["meshX"], inner["meshY"] // level["meshY"])
        network = {k: attributes.pop(k, None) for k in ("energy_per_hop", "router_energy")}
        if fanout == (1, 1):
            attributes |= network
        else:
            attributes |= dict.fromkeys(network)
        storage = "DRAM" if level["technology"] == "DRAM" else "storage"
        nodes.append(
            Tag("Component", name=level["name"], **{"class": storage}, attributes=attributes)
        )
        if fanout != (1, 1):
            spatial = {"meshX": fanout[0], "meshY": fanout[1]}
            held = {k: v for k, v in network.items() if v is not None}
            nodes.append(
                Tag("Container", name=f"{level['name']}_fan", spatial=spatial, attributes=held)
            )
    nodes.append(Tag("Component", name="mac", **{"class": "intmac"}))
    architecture = {"version": "0.4", "nodes": nodes}
    return _write(record, folder, architecture, "data_spaces", "read_write", _new_directives)


def _mesh(mac: Record) -> Record:
    return {"meshX": mac["meshX"], "meshY": mac["meshY"]}


def _attributes(level: Record) -> Record:
    named = {
        "entries": level["size_words"],
        "word_bits": level["word_bits"],
        "block_size": level["block_size"],
        "cluster_size": level["cluster_size"],
        "multiple_buffering": level["multiple_buffering"],
        "read_bandwidth": level["read_bandwidth"],
        "write_bandwidth": level["write_bandwidth"],
        "shared_bandwidth": level["shared_bandwidth"],
        "energy_per_hop": level["net_energy_per_hop_pJ"],
        "router_energy": level["net_router_energy_pJ"],
        "addr_gen_energy": level["addr_gen_energy_pJ"],
    }
    return {k: v for k, v in named.items() if v is not None}


def _write(
    record: Record,
    folder: Path,
    architecture: Record,
    spaces: str,
    written: str,
    directives: Any,
) -> dict[str, Path]:
    problem = record["problem"]
    names = record["data_space_names"]
    shape = {
        "name": problem["name"],
        "dimensions": list(problem["dims"]),
        "coefficients": [{"name": n, "default": 1} for n in problem["coefficients"]],
        spaces: [
            {"name": names[t], "projection": p, **({written: True} if t == "Outputs" else {})}
            for t, p in problem["projections"].items()
        ],
    }
    instance = {**problem["dims"], **problem["coefficients"]}
    tables = [
        {
            "name": f"system.{level['name']}[1..{level['instances']}]",
            "actions": [
                {"name": "read", "energy": level["energy_pJ"]["read"]},
                {"name": "fill", "energy": level["energy_pJ"]["fill"]},
                {"name": "update", "energy": level["energy_pJ"]["update"]},
                {"name": "leak", "energy": level["energy_pJ"]["leak_per_cycle"]},
            ],
        }
        for level in record["arch"]["levels"]
    ]
    mac = {"name": "compute", "energy": record["arch"]["mac"]["energy_pJ"]}
    tables.append({"name": "system.mac", "actions": [mac]})
    listed = [d for loops in record["mapping"] for d in directives(loops, names)]
    return {
        "arch": dump(folder / "arch.yaml", {"architecture": architecture}),
        "problem": dump(
            folder / "problem.yaml", {"problem": {"shape": shape, "instance": instance}}
        ),
        "mapping": dump(folder / "mapping.yaml", {"mapping": listed}),
        "ert": dump(folder / "ERT.yaml", {"ERT": {"version": 0.4, "tables": tables}}),
    }


def _old_directives(loops: Record, names: dict[str, str]) -> list[Record]:
    level, time, space = loops["level"], loops["temporal"], loops["spatial"]
    found = [
        {
            "target": level,
            "type": "temporal",
            "factors": " ".join(f"{d}{f}" for d, f in time["factors"].items()),
            "permutation": time["permutation_inner_to_outer"],
        },
        {
            "target": level,
            "type": "datatype",
            "keep": [names[t] for t in loops["keep"]],
            "bypass": [names[t] for t in loops["bypass"]],
        },
    ]
    if space is not None:
        factors = {**space["X"], **space["Y"]}
        spatial = {
            "target": level,
            "type": "spatial",
            "factors": " ".join(f"{d}={f}" for d, f in factors.items()),
            "permutation": space["order_X_inner_to_outer"] + space["order_Y_inner_to_outer"],
            "split": len(space["X"]),
        }
        if loops["no_multicast"]:
            spatial["no_multicast_no_reduction"] = [names[t] for t in loops["no_multicast"]]
        found.insert(1, spatial)
    return found


def _new_directives(loops: Record, names: dict[str, str]) -> list[Record]:
    found = []
    for old in _old_directives(loops, names):
        new = dict(old)
        if old["type"] == "datatype":
            new["type"] = "dataspace"
        else:
            table = loops["temporal"]["factors"]
            if old["type"] == "spatial":
                table = {**loops["spatial"]["X"], **loops["spatial"]["Y"]}
                new["target"] = f"{old['target']}_fan"
            new["factors"] = [f"{d}={f}" for d, f in table.items()]
            new["permutation"] = list(old["permutation"])
        if "no_multicast_no_reduction" in new:
            new["no_reuse"] = new.pop("no_multicast_no_reduction")
        found.append(new)
    return found


def read(folder: Path, **texts: str) -> Record:
    """Write texts to files of these names, and read them.

    ``arch``, ``problem``, ``mapping`` and ``ert`` are what their names say; any other file stands
    beside the architecture.
    """
    paths = {name: folder / f"{name}.yaml" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name])
    beside = [path for name, path in paths.items() if name not in ("problem", "mapping", "ert")]
    return read_timeloop(beside, paths["problem"], paths.get("mapping"), ert_path=paths.get("ert"))


def faults(folder: Path, **texts: str) -> list[str]:
    """Return everything that is wrong with these files, without the folder."""
    with pytest.raises(TimeloopError) as error:
        read(folder, **texts)
    assert str(error.value) == "\n".join(error.value.faults)
    return [fault.replace(f"{folder}/", "") for fault in error.value.faults]
