"""Published runs of Timeloop, told again: what was built, what ran on it, and what was recorded.

Sizes, layers, mappings, energies and results are those of reference outputs in
Accelergy-Project/timeloop-accelergy-exercises; the files are ours, in the formats and with the
habits of Timeloop's users. Results are, for each level and tensor, the words of the tile, then
reads, fills and updates of one instance, then the energy of all instances in pJ, to the two digits
that Timeloop prints.
"""

from dataclasses import dataclass

Row = tuple[int, int, int, int, float]


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        source: folder of the reference output.
        arch, problem, mapping, ert: the files.
        cycles: recorded.
        multipliers_pj: energy of all multiply-accumulates.
        used: instances in use, by level.
        leaked_pj: leakage of a level, where there is any.
        rows: recorded words and energy by level and tensor.
    """

    source: str
    arch: str
    problem: str
    mapping: str
    ert: str
    cycles: int
    multipliers_pj: float
    used: dict[str, int]
    leaked_pj: dict[str, float]
    rows: dict[str, dict[str, Row]]


def table(**components: str) -> str:
    """Return an energy table; each component is ``action energy`` pairs."""
    lines = ["ERT:", "  version: 0.4", "  tables:"]
    for name, actions in components.items():
        lines += [f"  - name: top.{name}[1..4]", "    actions:"]
        for pair in actions.split(","):
            action, energy = pair.split()
            lines.append(f"    - {{name: {action}, arguments: {{}}, energy: {energy}}}")
    return "\n".join(lines) + "\n"


def rows_problem(*dims: str) -> str:
    """One-dimensional convolution of 32 filters, with C input channels if they are asked for."""
    c = "C, " if "C" in dims else ""
    bounds = {"C": 32, "K": 32, "R": 3, "P": 16}
    return f"""
problem:
  shape:
    name: rows
    dimensions: [{", ".join(dims)}]
    data_spaces:
    - {{name: Filters, projection: [{c}K, R]}}
    - {{name: Ifmap, projection: [{"[[C]], " if c else ""}[[R], [P]]]}}
    - {{name: Sums, projection: [K, P], read_write: true}}
  instance: {{{", ".join(f"{d}: {bounds[d]}" for d in dims)}}}
"""


def conv_problem(**bounds: int) -> str:
    """Two-dimensional convolution with the names of the exercises."""
    stride = bounds.pop("stride", 1)
    given = ", ".join(f"{dim}: {bound}" for dim, bound in bounds.items())
    return f"""
problem:
  version: 0.4
  shape:
    name: conv
    dimensions: [C, M, R, S, N, P, Q]
    coefficients:
    - {{name: Wstride, default: {stride}}}
    - {{name: Hstride, default: {stride}}}
    data_spaces:
    - {{name: Weights, projection: [C, M, R, S]}}
    - name: Inputs
      projection: [[[N]], [[C]], [[R], [P, Wstride]], [[S], [Q, Hstride]]]
    - {{name: Outputs, projection: [N, M, Q, P], read_write: true}}
  instance: {{N: 1, {given}}}
"""


_SRAM = "read 0, read 39.0566, write 31.5767, leak 0.008787, update 26.840195"
_FILE = "read 0.42564, write 0.42564, leak 0.000861, update 0.42564"
_MAC = "mac_gated 0.0575, mac_random 0.845, compute 0.845"
_DRAM = "read 2048, write 2048, leak 0, update 2048"

TILED = Run(
    source="2020 ISPASS exercises, 02-model-conv1d+oc-2level, tiling",
    arch="""
# two memories, side by side in one branch, as in v0.3
architecture:
  version: 0.3
  subtree:
  - name: core
    local:
    - {name: store, class: SRAM, attributes: {memory-depth: 32K, memory-width: 64, word-bits: 8}}
    - {name: file, class: regfile, attributes: {depth: 64, width: 8, datawidth: 8}}
    - {name: macc, class: intmac, attributes: {datawidth: 8}}
""".replace("32K", "32 * 1024"),
    problem=rows_problem("K", "R", "P"),
    mapping="""
mapping:
- {target: store, type: temporal, factors: K16 P16, permutation: P K R}
- {target: file, type: temporal, factors: K2 R3, permutation: R, }
""",
    ert=table(store=_SRAM, file=_FILE, macc=_MAC),
    cycles=1536,
    multipliers_pj=1297.92,
    used={"store": 1, "file": 1},
    leaked_pj={"store": 13.50, "file": 1.32},
    rows={
        "store": {
            "Filters": (96, 96, 0, 0, 468.68),
            "Ifmap": (18, 288, 0, 0, 1406.04),
            "Sums": (512, 0, 0, 512, 1717.77),
        },
        "file": {
            "Filters": (6, 1536, 96, 0, 694.64),
            "Ifmap": (3, 1536, 288, 0, 776.37),
            "Sums": (2, 1024, 0, 1536, 1089.64),
        },
    },
)

BYPASS = Run(
    source="2020 ISPASS exercises, 03-model-conv1d+oc-3level, bypass",
    arch="""
architecture:
  version: "0.4"
  nodes:
  - !Container {name: system, attributes: {datawidth: 8, technology: 40nm}}
  - !Component {name: dram, class: DRAM, attributes: {width: 256}}
  - !Component
    name: buffer
    class: SRAM
    attributes: {depth: 32768, width: 64}
    constraints: {dataspace: {bypass: [Sums]}}
  - !Component {name: file, class: regfile, attributes: {depth: 64, width: 8}}
  - !Component {name: macc, class: intmac}
""",
    problem=rows_problem("K", "R", "P"),
    mapping="""
mapping:
- {target: buffer, type: temporal, factors: [K=16, P=16], permutation: [P, R, K]}
- {target: file, type: temporal, factors: [K=2, R=3], permutation: [R, P, K]}
- {target: file, type: dataspace, keep_only: [Sums]}
""",
    ert=table(dram=_DRAM, buffer=_SRAM, file=_FILE, macc=_MAC),
    cycles=1536,
    multipliers_pj=1297.92,
    used={"dram": 1, "buffer": 1, "file": 1},
    leaked_pj={"buffer": 13.50, "file": 1.32},
    rows={
        "dram": {
            "Filters": (96, 96, 0, 0, 6144.0),
            "Ifmap": (18, 18, 0, 0, 2048.0),
            "Sums": (512, 0, 0, 512, 32768.0),
        },
        "buffer": {
            "Filters": (96, 1536, 96, 0, 7877.79),
            "Ifmap": (18, 1536, 18, 0, 7593.60),
        },
        "file": {"Sums": (2, 1024, 0, 1536, 1089.64)},
    },
)

_SIXTEEN = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: dram, class: DRAM, attributes: {width: 256, datawidth: 8}}
  - !Container {name: PE, spatial: {meshX: 16}, attributes: {datawidth: 8}}
  - !Component {name: buffer, class: SRAM, attributes: {depth: 32768, width: 64}}
  - !Component {name: file, class: regfile, attributes: {depth: 64, width: 8}}
  - !Component {name: macc, class: intmac}
"""


def _sixteen(buffer: str, across: str) -> str:
    return f"""
mapping:
- {{target: inter_PE_spatial, type: spatial, factors: {across}}}
- {{target: buffer, type: temporal, factors: {buffer}, permutation: PRKC}}
- {{target: file, type: temporal, factors: P=16}}
"""


FILTERS_APART = Run(
    source="2020 ISPASS exercises, 04-model-conv1d+oc-3levelspatial, kp",
    arch=_SIXTEEN,
    problem=rows_problem("C", "K", "R", "P"),
    mapping=_sixteen("R=3 K=2 C=32", "K=16"),
    ert=table(dram=_DRAM, buffer=_SRAM, file=_FILE, macc=_MAC),
    cycles=3072,
    multipliers_pj=41533.44,
    used={"dram": 1, "buffer": 16, "file": 16},
    leaked_pj={"buffer": 431.90, "file": 42.32},
    rows={
        "dram": {
            "Filters": (3072, 3072, 0, 0, 196608.0),
            "Ifmap": (576, 576, 0, 0, 36864.0),
            "Sums": (512, 0, 0, 512, 32768.0),
        },
        "buffer": {
            "Filters": (192, 192, 192, 0, 27123.19),
            "Ifmap": (576, 1152, 576, 0, 126362.76),
            "Sums": (32, 992, 0, 1024, 132457.01),
        },
        "file": {
            "Filters": (1, 3072, 192, 0, 22228.62),
            "Ifmap": (16, 3072, 1152, 0, 28766.45),
            "Sums": (16, 3040, 992, 3072, 48379.94),
        },
    },
)

CHANNELS_APART = Run(
    source="2020 ISPASS exercises, 04-model-conv1d+oc-3levelspatial, cp",
    arch=_SIXTEEN,
    problem=rows_problem("C", "K", "R", "P"),
    mapping=_sixteen("R=3 K=32 C=2", "C=16"),
    ert=table(dram=_DRAM, buffer=_SRAM, file=_FILE, macc=_MAC),
    cycles=3072,
    multipliers_pj=41533.44,
    used={"dram": 1, "buffer": 16, "file": 16},
    leaked_pj={"buffer": 431.90, "file": 42.32},
    rows={
        "dram": {
            "Filters": (3072, 3072, 0, 0, 196608.0),
            "Ifmap": (576, 576, 0, 0, 36864.0),
            "Sums": (512, 0, 0, 512, 32768.0),
        },
        "buffer": {
            "Filters": (192, 192, 192, 0, 27123.19),
            "Ifmap": (36, 1152, 36, 0, 92512.54),
            "Sums": (512, 512, 0, 1024, 94962.68),
        },
        "file": {
            "Filters": (1, 3072, 192, 0, 22228.62),
            "Ifmap": (16, 3072, 1152, 0, 28766.45),
            "Sums": (16, 2560, 512, 3072, 41842.11),
        },
    },
)
