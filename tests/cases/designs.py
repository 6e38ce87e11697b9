"""Two published chips and small ones, as hardware to price in tests."""

from dataclasses import replace

from archloom.space.hardware.hardware import Hardware, Storage, StorageLevel

ALL = ("weights", "inputs", "outputs")


def eyeriss_like(spad: Storage = "register") -> Hardware:
    """Return Eyeriss (Chen et al., JSSC 2017): 12x14 PEs, 108 kB buffer, 16 bits, 200 MHz."""
    words = (("weights", 2 * 224), ("inputs", 2 * 12), ("outputs", 2 * 24))
    return Hardware(
        name="eyeriss-like",
        technology="cacti_45nm",
        frequency_mhz=200,
        word_bits=16,
        pe_mesh=(14, 12),
        array=(1, 1),
        levels=(
            StorageLevel("spad", spad, ALL, (14, 12), words, bandwidth_words=4),
            StorageLevel("glb", "sram", ("inputs", "outputs"), (1, 1), 108 * 1024, 4, 4),
            StorageLevel("dram", "dram", ALL, (1, 1), None, 1.0),
        ),
        dram="lpddr4",
        vector_lanes=14,
    )


def tpu_like() -> Hardware:
    """Return TPU v1 (Jouppi et al., ISCA 2017): 256x256 MACs, 28 MiB, 8 bits, 34 GB/s."""
    return Hardware(
        name="tpu-like",
        technology="cacti_45nm",
        frequency_mhz=700,
        word_bits=8,
        pe_mesh=(1, 1),
        array=(256, 256),
        levels=(
            StorageLevel("latch", "register", ("weights",), (256, 256), 2, 2),
            StorageLevel(
                "buffer",
                "sram",
                ALL,
                (1, 1),
                28 << 20,
                1024,
                256,
                spatial_x=("K",),
                spatial_y=("C", "R", "S"),
            ),
            StorageLevel("dram", "dram", ALL, (1, 1), None, 34e3 / 700, 64),
        ),
        dram="lpddr4",
        vector_lanes=256,
    )


def edge(glb_bytes: int = 64 << 10, word_bits: int = 8, channels: int = 1) -> Hardware:
    """Return a small accelerator: 4x4 PEs, shared registers in each, one buffer."""
    return Hardware(
        name="edge",
        technology="cacti_45nm",
        frequency_mhz=400,
        word_bits=word_bits,
        pe_mesh=(4, 4),
        array=(1, 1),
        levels=(
            StorageLevel("rf", "register", ALL, (4, 4), 256, bandwidth_words=4),
            StorageLevel("glb", "sram", ALL, (1, 1), glb_bytes, 16, 8, optional=True),
            StorageLevel("dram", "dram", ALL, (1, 1), None, 8.0 * channels),
        ),
        dram="lpddr4",
        vector_lanes=4,
    )


def several(mesh: tuple[int, int], buffer_bytes: int = 1 << 20) -> Hardware:
    """Return the small accelerator with as many buffers as ``mesh`` says, and 20 lanes."""
    hardware = edge(buffer_bytes)
    register, buffer, dram = hardware.levels
    levels = (register, replace(buffer, mesh=mesh), dram)
    return replace(hardware, levels=levels, vector_lanes=20)
