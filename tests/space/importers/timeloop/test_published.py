"""A run that Timeloop's authors publish, from v0.4 files to the same counts.

Sizes, mapping and counts are those of the reference output of the design ``simba_like`` in
Accelergy-Project/timeloop-accelergy-exercises (baseline_designs/example_designs/simba_like/
ref_outputs/default_problem, timeloop-mapper.map.txt and timeloop-mapper.stats.txt): fan-outs in a
row, branches in parallel, tensors that pass levels by.
"""

from archloom.space.importers.cases.reader import case_of
from archloom.studies.analysis.conformance import evaluated

from ....cases.timeloop_files import read

ARCH = """
architecture:
  version: 0.4
  nodes:
  - !Container {name: chip, attributes: {datawidth: 8, technology: "45nm"}}
  - !Component {name: memory, class: DRAM, attributes: {type: "LPDDR4", width: 64}}
  - !Component
    name: shared
    class: smartbuffer_SRAM
    attributes: {depth: 2048, width: 256, n_banks: 4}
    constraints: {dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}}
  - !Container
    name: PE
    spatial: {meshX: 16}
    constraints: {spatial: {factors: R=1 S=1 P=1 Q=1 N=1, permutation: [M, C, R, S, P, Q, N]}}
  - !Component
    name: input_buffer
    class: storage
    subclass: smartbuffer_RF
    attributes: {depth: 8192, width: 64}
    constraints: {dataspace: {keep_only: [Inputs]}}
  - !Container
    name: buffers
    spatial: {meshY: 4}
    constraints: {spatial: {factors: P=1 Q=1 R=1 S=1 C=1 N=1}}
  - !Parallel
    nodes:
    - !Component
      name: weight_buffer
      class: storage
      attributes: {depth: 4096, width: 64}
      constraints: {dataspace: {keep: [Weights]}}
    - !Component
      name: sums
      class: storage
      attributes: {depth: 128, width: 24, datawidth: 24}
      constraints: {dataspace: {keep: [Outputs]}}
    - !Nothing {constraints: {dataspace: {keep: [Inputs]}}}
  - !Container
    name: macs
    spatial: {meshY: 4}
    constraints: {spatial: {factors: P=1 Q=1 R=1 S=1 M=1 N=1}}
  - !Component
    name: weight_registers
    class: storage
    attributes: {depth: 1, width: 512, cluster_size: 64}
    constraints: {dataspace: {keep: [Weights], bypass: [Inputs, Outputs]}}
  - !Component {name: mac, class: intmac, attributes: {multiplier_width: 8, adder_width: 16}}
"""

PROBLEM = """
problem:
  version: 0.4
  shape:
    name: layer
    dimensions: [C, M, R, S, N, P, Q]
    coefficients: [{name: Wstride, default: 1}, {name: Hstride, default: 1}]
    data_spaces:
    - {name: Weights, projection: [C, M, R, S]}
    - name: Inputs
      projection: [[[N]], [[C]], [[R], [P, Wstride]], [[S], [Q, Hstride]]]
    - {name: Outputs, projection: [N, M, Q, P], read_write: true}
  instance: {C: 3, M: 32, R: 3, S: 3, N: 1, P: 112, Q: 112, Wstride: 2, Hstride: 2}
"""

MAPPING = """
mapping:
- {target: memory, type: temporal, factors: P7 Q7, permutation: QP}
- {target: shared, type: temporal, factors: P2 Q16, permutation: QP}
- {target: PE, type: spatial, factors: [M=2, C=3]}
- {target: input_buffer, type: temporal, factors: [P=2]}
- {target: inter_buffers_spatial, type: spatial, factors: [M=4], split: 0}
- {target: sums, type: temporal, factors: [M=4, R=3, P=2, S=3], permutation: [M, R, P, S]}
- {target: weight_registers, type: temporal, factors: P=2}
"""

#: words read, filled and updated in one used instance, and words that it holds, by tensor
PUBLISHED = {
    "weight_registers": {"Weights": (451584, 225792, 0, 1)},
    "sums": {"Outputs": (401408, 0, 451584, 16)},
    "weight_buffer": {"Weights": (225792, 36, 0, 36)},
    "input_buffer": {"Inputs": (451584, 54978, 0, 51)},
    "shared": {"Inputs": (164934, 155925, 0, 3267), "Outputs": (0, 0, 401408, 8192)},
    "memory": {
        "Weights": (864, 0, 0, 864),
        "Inputs": (155925, 0, 0, 151875),
        "Outputs": (0, 0, 401408, 401408),
    },
}


def energies(names):
    """A table for every component; the counts do not depend on it."""
    actions = "actions: [{name: read, energy: 1}, {name: write, energy: 1}]"
    tables = "".join(f"\n  - {{name: '{name}', {actions}}}" for name in names)
    return f"ERT:\n  version: 0.4\n  tables:{tables}\n"


def test_every_published_count_is_ours(tmp_path):
    ert = energies([*PUBLISHED, "mac"])
    record = read(tmp_path, arch=ARCH, problem=PROBLEM, mapping=MAPPING, ert=ert)
    case = case_of(record)
    ours = evaluated(case)
    found = {
        level.name: {
            tensor: (*counts, words)
            for tensor, counts, words in zip(
                ("Weights", "Inputs", "Outputs"), rows.tolist(), tiles.tolist(), strict=True
            )
            if words
        }
        for level, rows, tiles in zip(case.hardware.levels, ours.counts, ours.tiles, strict=True)
    }
    assert found == PUBLISHED
    assert ours.cycles == 451584


def test_sizes_are_those_of_the_published_run(tmp_path):
    record = read(tmp_path, arch=ARCH, problem=PROBLEM)
    keys = ("size_words", "block_size", "cluster_size", "word_bits", "meshX", "meshY")
    sizes = {lv["name"]: tuple(lv[k] for k in keys) for lv in record["arch"]["levels"]}
    assert sizes == {
        "weight_registers": (1, 1, 64, 8, 16, 16),
        "sums": (128, 1, 1, 24, 16, 4),
        "weight_buffer": (32768, 8, 1, 8, 16, 4),
        "input_buffer": (65536, 8, 1, 8, 16, 1),
        "shared": (65536, 32, 1, 8, 1, 1),
        "memory": (None, 8, 1, 8, 1, 1),
    }
