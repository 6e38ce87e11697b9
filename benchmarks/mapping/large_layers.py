"""How far large layers are proven on a 128 x 128 array with four levels, and in what time.

    python benchmarks/mapping/large_layers.py [--seconds 10]

Without ports that limit it, then with 16 words a cycle from DRAM; any dimension along both axes,
EDP. CPU seconds of one core after compilation. Exits with 1 where a layer takes longer than
``--seconds`` or its gap is above 5%; one layer of very composite bounds need only end in time with
a finite gap.
"""

import argparse
import sys
import time
from math import inf
from threading import Thread

import numpy as np

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import prove
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import TENSORS
from archloom.space.workload.layer import Layer

#: percent above the proven bound
MOST_GAP = 5.0

#: name, storage, instances, bytes, and pJ of a word that is read, filled and updated
LEVELS = (
    ("registers", "register", (128, 128), 128, (0.2, 0.2, 0.25)),
    ("row buffer", "sram", (1, 128), 8192, (0.9, 1.0, 1.1)),
    ("global buffer", "sram", (1, 1), 2**22, (8.0, 8.5, 9.0)),
    ("dram", "dram", (1, 1), None, (200.0, 190.0, 210.0)),
)


def array(dram_words: float) -> Hardware:
    """Return the hardware, with so many words a cycle from DRAM."""
    levels = tuple(
        StorageLevel(
            name,
            storage,
            TENSORS,
            mesh,
            room,
            dram_words if room is None else inf,
            energy=AccessEnergy(*energy),
        )
        for name, storage, mesh, room, energy in LEVELS
    )
    return Hardware(
        "array", "cacti_45nm", 1000, 16, (128, 128), (1, 1), levels, "lpddr4", 1, mac_pj=0.5
    )


def conv(batch: int, channels: int, size: int) -> Layer:
    name = f"3x3 convolution, {batch} x {channels} x {size} x {size}"
    padded = (size + 2, size + 2)
    return Layer(
        name, "conv", n=batch, c=channels, k=channels, p=size, q=size, r=3, s=3, input_size=padded
    )


def product(name: str, groups: int, k: int, c: int, p: int) -> Layer:
    return Layer(name, "conv", g=groups, k=k, c=c, p=p, input_size=(p, 1))


COMPOSITE = conv(48, 720, 60)
LAYERS = (
    product("GEMM 4096 x 4096 x 2048", 1, 4096, 4096, 2048),
    *(conv(32, c, size) for c, size in ((64, 56), (128, 28), (256, 14), (512, 7))),
    *(conv(32, c, size) for c, size in ((128, 56), (256, 56), (512, 28))),
    product("attention, scores of 8192 positions", 16, 8192, 128, 8192),
    product("attention, values of 8192 positions", 16, 128, 8192, 8192),
    COMPOSITE,
)


def ring(stop: np.ndarray, end: float) -> None:
    """Set the flag when the process has used so many CPU seconds."""
    while not stop[0] and time.process_time() < end:
        time.sleep(0.01)
    stop[0] = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="at most, for a layer")
    parser.add_argument("--layers", type=int, help="so many of them (default: all)")
    options = parser.parse_args()
    missed = []
    for words in (inf, 16.0):
        prove(MappingProblem.of_layer(conv(1, 8, 8), array(words)), 10**6)
        for layer in LAYERS[: options.layers]:
            problem = MappingProblem.of_layer(layer, array(words))
            began = time.process_time()
            stop = np.zeros(1, np.uint8)
            timer = Thread(target=ring, args=(stop, began + options.seconds))
            timer.start()
            found = prove(problem, 10**12, stop=stop)
            spent = time.process_time() - began
            stop[0] = 1
            timer.join()
            gap = found.gap_percent
            print(
                f"{words:4} words/cycle  {layer.name:40} {gap:8.3f}% "
                f"{found.evaluations:>12,} {spent:8.2f} CPU-s",
                flush=True,
            )
            most = inf if layer is COMPOSITE else MOST_GAP
            # setting the flag and looking at it takes a little
            if not (gap < inf and gap <= most and spent <= options.seconds + 0.5):
                missed.append(f"{words} words/cycle, {layer.name}: {gap:.3g}%, {spent:.2f} CPU-s")
    sys.exit("\n".join(missed) or None)


if __name__ == "__main__":
    main()
