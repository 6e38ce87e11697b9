"""Published runs of whole designs: see :mod:`.timeloop_runs`."""

from .timeloop_runs import Run, conv_problem, table

_REGISTER = "read 0.144, write 0, leak 0, update 0"
OUTPUTS_STAY = Run(
    source="example designs, simple_output_stationary, default_problem, one of two mappings",
    arch="""
dumped_by_timeloop_front_end: true
architecture:
  version: '0.4'
  subtree:
  - name: top
    attributes: {version: '0.4', technology: "SET ME", global_cycle_seconds: 1e-9, WORD: 16}
    local:
    - {name: "dram[1..1]", class: DRAM, attributes: {type: "LPDDR4", width: 64, datawidth: 16}}
    - name: shared[1..1]
      class: smartbuffer_SRAM
      attributes: {depth: 16384, width: 64, n_banks: 32, datawidth: 16, read_bandwidth: 16,
        write_bandwidth: 16, has_power_gating: false, meshX: 1, meshY: 1}
    - name: inter_PE_spatial[1..1]
      class: dummy_storage
      attributes: {width: 1, depth: 1, datawidth: 1, technology: -1}
    - {name: "spad[1..256]", class: smartbuffer_SRAM, attributes: &spad {depth: 192, width: 16,
        datawidth: 16, meshX: 16, meshY: 16}}
    - {name: "w[1..256]", class: storage, subclass: aladdin_register,
        attributes: {<<: *spad, depth: 1}}
    - {name: "i[1..256]", class: storage, attributes: {<<: *spad, depth: 1}}
    - {name: "o[1..256]", class: storage, attributes: {<<: *spad, depth: 1}}
    - name: mac[1..256]
      class: intmac
      attributes: {multiplier_width: 8, adder_width: 16, has_power_gating: false, meshX: 16,
        meshY: 16, power_gated_at: "mac"}
""",
    problem=conv_problem(C=3, M=32, R=3, S=3, P=112, Q=112, stride=2),
    mapping="""
mapping:
- {target: o, type: datatype, keep: [Outputs], bypass: [Weights, Inputs]}
- {target: i, type: datatype, keep: [Inputs], bypass: [Weights, Outputs]}
- {target: w, type: datatype, keep: [Weights], bypass: [Inputs, Outputs]}
- {target: spad, type: datatype, keep: [Outputs], bypass: [Weights, Inputs]}
- {target: inter_PE_spatial, type: datatype, keep: [], bypass: [Weights, Inputs, Outputs]}
- {target: shared, type: datatype, keep: [Weights, Inputs], bypass: [Outputs]}
- {target: w, type: temporal, factors: C1 M1 R1 S1 N1 P1 Q4, permutation: QCMRSNP}
- {target: spad, type: temporal, factors: C3 M1 R3 S3 N1 P1 Q4, permutation: RSQCMNP}
- {target: inter_PE_spatial, type: spatial, factors: M16, permutation: MCRSNPQ, split: 0}
- {target: inter_PE_spatial, type: temporal, factors: C1 M1 R1 S1 N1 P1 Q1}
- {target: shared, type: temporal, factors: M2 P16 Q7, permutation: MQPCRSN}
- {target: dram, type: temporal, factors: P7}
""",
    ert=table(
        dram="read 512, write 512, update 512",
        shared="write 26.121552, read 32.342452, leak 0.003351, update 26.121552",
        spad="write 1.562612, read 0.660171, leak 2.1e-05, update 1.562612",
        w=_REGISTER,
        i=_REGISTER,
        o=_REGISTER,
        mac="compute 0.315, leak 0.0036",
    ),
    cycles=677376,
    multipliers_pj=3413975.04,
    used={"dram": 1, "shared": 1, "spad": 16, "w": 16, "i": 16, "o": 16},
    leaked_pj={"shared": 2269.89, "spad": 227.60},
    rows={
        "dram": {
            "Weights": (864, 864, 0, 0, 110592.0),
            "Inputs": (151875, 151875, 0, 0, 19440128.0),
            "Outputs": (401408, 0, 0, 401408, 51380224.0),
        },
        "shared": {
            "Weights": (864, 2709504, 864, 0, 21913643.02),
            "Inputs": (22275, 677376, 151875, 0, 6468809.40),
        },
        "spad": {"Outputs": (16, 652288, 0, 677376, 23825559.80)},
        "w": {"Weights": (1, 677376, 169344, 0, 1560674.30)},
        "i": {"Inputs": (1, 677376, 677376, 0, 1560674.30)},
        "o": {"Outputs": (1, 652288, 652288, 677376, 1502871.55)},
    },
)

SIMBA = Run(
    source="example designs, simba_like, default_problem",
    arch="""
architecture:
  version: 0.4
  nodes:
  - !Container {name: system, attributes: {datawidth: 8, technology: "45nm"}}
  - !Component {name: dram, class: DRAM, attributes: {type: "LPDDR4", width: 64}}
  - !Component
    name: shared
    class: smartbuffer_SRAM
    attributes: {depth: 2048, width: 256, n_banks: 4, nports: 2}
    constraints: {dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}}
  - !Container {name: PE, spatial: {meshX: 16}}
  - !Component
    name: inputs
    class: storage
    subclass: smartbuffer_RF
    attributes: {depth: 8192, width: 64}
    constraints: {dataspace: {keep_only: [Inputs]}}
  - !Container {name: lane, spatial: {meshY: 4}}
  - !Parallel
    nodes:
    - !Component
      name: weights
      class: storage
      attributes: {depth: 4096, width: 64, n_banks: 8}
      constraints: {dataspace: {keep: [Weights]}}
    - !Component
      name: sums
      class: storage
      attributes: {depth: 128, width: 24, datawidth: 24}
      constraints: {dataspace: {keep: [Outputs]}}
    - !Nothing {constraints: {dataspace: {keep: [Inputs]}}}
  - !Container {name: cell, spatial: {meshY: 4}}
  - !Component
    name: registers
    class: storage
    attributes: {depth: 1, width: 512, cluster_size: 64, num_ports: 2}
    constraints: {dataspace: {keep_only: [Weights]}}
  - !Component {name: mac, class: intmac, attributes: {multiplier_width: 8, adder_width: 16}}
""",
    problem=conv_problem(C=3, M=32, R=3, S=3, P=112, Q=112, stride=2),
    mapping="""
mapping:
- {target: dram, type: temporal, factors: Q28}
- {target: shared, type: temporal, factors: P4}
- {target: PE, type: spatial, factors: [M=4, C=3], permutation: [M, C], split: 2}
- {target: inputs, type: temporal, factors: Q=4}
- {target: lane, type: spatial, factors: M=4, split: 0}
- {target: weights, type: temporal, factors: "R=3,S=3,P=4", permutation: "S,P,R"}
- {target: sums, type: temporal, factors: [P=7, M=2], permutation: [P, M]}
""",
    ert=table(
        dram="write 512, read 512, leak 0, update 512",
        shared="write 66.310888, read 51.870888, leak 0.003241, update 66.310888",
        inputs="write 241.503552, read 242.079552, leak 0.207488, update 241.503552",
        weights="write 120.78787, read 121.36387, leak 0.104535, update 120.78787",
        sums="write 2.875058, read 3.091057, leak 0.003416, update 2.875058",
        registers="write 0.080139, read 0.259899, leak 0.000169, update 0.080139",
        mac="compute 0.315, leak 0.0036",
    ),
    cycles=225792,
    multipliers_pj=3413975.04,
    used={"dram": 1, "shared": 1, "inputs": 12, "weights": 48, "sums": 48, "registers": 48},
    leaked_pj={
        "shared": 731.79,
        "inputs": 562189.57,
        "weights": 1132952.00,
        "sums": 37022.66,
        "registers": 1831.62,
    },
    rows={
        "dram": {
            "Weights": (864, 864, 0, 0, 55296.0),
            "Inputs": (151875, 151875, 0, 0, 9720320.0),
            "Outputs": (401408, 0, 0, 401408, 25690112.0),
        },
        "shared": {
            "Inputs": (6075, 170100, 151875, 0, 590523.43),
            "Outputs": (14336, 802816, 0, 1204224, 3796748.18),
        },
        "inputs": {"Inputs": (513, 225792, 56700, 0, 102530765.43)},
        "weights": {"Weights": (18, 32256, 18, 0, 23505671.40)},
        "sums": {"Outputs": (14, 200704, 50176, 225792, 67862952.49)},
        "registers": {"Weights": (1, 225792, 32256, 0, 245072.31)},
    },
)

_EYERISS = """
architecture:
  version: 0.4
  nodes:
  - !Container {name: system, attributes: {technology: "32nm", global_cycle_seconds: 1e-9}}
  - !Component {name: dram, class: DRAM, attributes: {type: "LPDDR4", width: 64, datawidth: 8}}
  - !Container {name: chip}
  - !Component
    name: shared
    class: smartbuffer_SRAM
    attributes: {depth: 16384, width: 64, n_banks: 32, datawidth: 8, read_bandwidth: 16,
      write_bandwidth: 16}
    constraints: {dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}}
  - !Container # rows of the output
    name: column
    spatial: {meshX: 14}
    constraints:
      spatial: {permutation: [N, C, P, R, S, Q, M], factors: [N=1, C=1, P=1, R=1, S=1], split: 7}
  - !Container # rows of the filter
    name: PE
    spatial: {meshY: 12}
    constraints:
      spatial: {permutation: [N, P, Q, R, S, C, M], factors: [N=1, P=1, Q=1, R=1], split: 4}
  - !Parallel
    nodes:
    - !Component
      name: ifmap
      class: smartbuffer_RF
      attributes: &ports {depth: 12, width: 16, datawidth: 8, read_bandwidth: 2, write_bandwidth: 2}
      constraints: {dataspace: {keep: [Inputs]}, temporal: {factors: [N=1, M=1, C=1, P=1, Q=1]}}
    - !Component
      name: filter
      class: smartbuffer_RF
      attributes: {<<: *ports, depth: 192}
      constraints: {dataspace: {keep: [Weights]}, temporal: {factors: [N=1, M=1, P=1, Q=1, S=1]}}
    - !Component
      name: psum
      class: smartbuffer_RF
      attributes: {<<: *ports, depth: 16, datawidth: 16, update_fifo_depth: 2}
      constraints: {dataspace: {keep: [Outputs]}, temporal: {factors: [N=1, C=1, R=1, S=1, P=1]}}
  - !Component {name: mac, class: intmac, attributes: {multiplier_width: 8, adder_width: 16}}
"""

_EYERISS_ERT = table(
    dram="write 512, read 512, update 512, leak 0",
    shared="write 14.137929, read 18.183829, leak 0.005652, update 14.137929",
    ifmap="write 0.176713, read 0.202442, leak 0.000101, update 0.176713",
    filter="write 1.881657, read 1.976602, leak 0.001592, update 1.881657",
    psum="write 0.2191, read 0.2513, leak 0.000134, update 0.2191",
    mac="compute 0.207692, leak 0.002374",
)

EYERISS = Run(
    source="2020 ISPASS exercises, 06-mapper-convlayer-eyeriss",
    arch=_EYERISS,
    problem=conv_problem(C=128, M=256, R=3, S=3, P=56, Q=56),
    mapping="""
mapping:
- {target: dram, type: temporal, factors: R3 C4 M16 Q2, permutation: RCMQ}
- {target: shared, type: temporal, factors: M2 C2 P56 Q2, permutation: MCPQ}
- {target: column, type: spatial, factors: Q=14}
- {target: PE, type: spatial, factors: "S=3,C=2,M=2", split: 0}
- {target: filter, type: temporal, factors: C=8}
- {target: psum, type: temporal, factors: M=4}
""",
    ert=_EYERISS_ERT,
    cycles=5505024,
    multipliers_pj=192082706.69,
    used={"dram": 1, "shared": 1, "ifmap": 168, "filter": 168, "psum": 168},
    leaked_pj={"shared": 31114.40, "ifmap": 93409.25, "filter": 1472351.70, "psum": 123929.10},
    rows={
        "dram": {
            "Weights": (294912, 66060288, 0, 0, 4227858432.0),
            "Inputs": (430592, 7127040, 0, 0, 456130560.0),
            "Outputs": (802816, 0, 0, 802816, 51380224.0),
        },
        "shared": {
            "Inputs": (53760, 57802752, 7127040, 0, 143979617.95),
            "Outputs": (25088, 18464768, 0, 19267584, 76020489.80),
        },
        "ifmap": {"Inputs": (8, 5505024, 688128, 0, 103828135.48)},
        "filter": {"Weights": (32, 5505024, 5505024, 0, 1784143905.03)},
        "psum": {"Outputs": (4, 5476352, 659456, 5505024, 458109930.70)},
    },
)

#: the loop over M leaves the window of the inputs where it is, and the one over Q moves it
FORGETS = Run(
    source="example designs, eyeriss_like, default_problem",
    arch=_EYERISS,
    problem=conv_problem(C=3, M=32, R=3, S=3, P=112, Q=112, stride=2),
    mapping="""
mapping:
- {target: dram, type: temporal, factors: M4 Q2 P8, permutation: MQP}
- {target: shared, type: temporal, factors: Q4 P14, permutation: QP}
- {target: column, type: spatial, factors: Q=14}
- {target: PE, type: spatial, factors: [S=3, C=3], split: 0}
- {target: filter, type: temporal, factors: R=3}
- {target: psum, type: temporal, factors: M=8}
""",
    ert=_EYERISS_ERT,
    cycles=86016,
    multipliers_pj=2250969.22,
    used={"dram": 1, "shared": 1, "ifmap": 126, "filter": 126, "psum": 126},
    leaked_pj={"shared": 486.16, "ifmap": 1094.64, "filter": 17254.12, "psum": 1452.29},
    rows={
        "dram": {
            "Weights": (864, 13824, 0, 0, 884736.0),
            "Inputs": (151875, 157296, 0, 0, 10066944.0),
            "Outputs": (401408, 0, 0, 401408, 25690112.0),
        },
        "shared": {
            "Inputs": (9831, 1354752, 157296, 0, 3357302.30),
            "Outputs": (6272, 0, 0, 401408, 709384.73),
        },
        "ifmap": {"Inputs": (3, 86016, 10752, 0, 1216735.96)},
        "filter": {"Weights": (24, 86016, 1536, 0, 10893306.24)},
        "psum": {"Outputs": (8, 57344, 0, 86016, 4190338.25)},
    },
)

#: files of v0.2, with a table of v0.2
ONE_LEVEL = Run(
    source="exercises of 2020, 00-model-conv1d-1level",
    arch="""
architecture:
  version: 0.2
  subtree:
  - name: PE
    attributes: {technology: 40nm}
    local:
    - {name: file, class: regfile, attributes: {depth: 64, width: 8, instances: 1, word-bits: 8}}
    - {name: macc, class: intmac, attributes: {datawidth: 8}}
""",
    problem="""
problem:
  shape:
    name: line
    dimensions: [ R, P ]
    data-spaces:
    - {name: Filters, projection: [ [ [R] ] ]}
    - {name: Ifmap, projection: [ [ [R], [P] ] ]}
    - {name: Sums, projection: [ [ [P] ] ], read-write: True}
  R: 3
  P: 16
""",
    mapping="mapping: [{target: file, type: temporal, factors: R3 P16, permutation: RP}]",
    ert="""
ERT:
  version: 0.2
  tables:
    PE.file:
      idle: {arguments: null, energy: 0.004}
      read:
      - {arguments: {address_delta: 0, data_delta: 0}, energy: 0.004}
      - {arguments: {address_delta: 1, data_delta: 1}, energy: 0.42}
      write:
      - {arguments: {address_delta: 0, data_delta: 1}, energy: 0.073}
      - {arguments: {address_delta: 1, data_delta: 1}, energy: 0.42}
    PE.macc:
      mac_gated: {arguments: null, energy: 0.022}
      mac_random: {arguments: null, energy: 0.603}
""",
    cycles=48,
    multipliers_pj=28.94,
    used={"file": 1},
    leaked_pj={},
    rows={
        "file": {
            "Filters": (3, 48, 0, 0, 20.16),
            "Ifmap": (18, 48, 0, 0, 20.16),
            "Sums": (16, 32, 0, 48, 33.60),
        }
    },
)
