"""Runs of a cycle-accurate DRAM simulator, as ``benchmarks/data/dram_runs.csv.gz`` has them.

Simulator: DRAMsim3 (Li et al., IEEE CAL 2020; umd-memsys/DRAMsim3, commit 29817593, MIT licence),
unmodified. 2516 runs of one channel; the header lines of the file say how they were made and what
each column holds.
"""

import csv
import gzip
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Final

from archloom.evaluators.technology.dram.device import DramChannel, dram_channel
from archloom.evaluators.technology.dram.traffic import Stream

FILE: Final = Path(__file__).parents[1] / "data" / "dram_runs.csv.gz"

#: configuration files of the simulator, and the devices that they are
_DEVICES: Final = {
    "DDR3_8Gb_x8_1600": "ddr3_1600_x8",
    "DDR3_8Gb_x16_1600": "ddr3_1600_x16",
    "DDR4_8Gb_x8_2400": "ddr4_2400_x8",
    "DDR4_8Gb_x8_3200": "ddr4_3200_x8",
    "LPDDR3_8Gb_x32_1600": "lpddr3_1600_x32",
    "LPDDR4_8Gb_x16_2400": "lpddr4_2400_x16",
    "HBM2_8Gb_x128": "hbm2_2000",
    "GDDR6_8Gb_x16": "gddr6_8gbps_x16",
}
_PARTS: Final = {"ro": "row", "ra": "rank", "bg": "group", "ba": "bank", "co": "column"}


@dataclass(frozen=True)
class Run:
    """A recorded run.

    Attributes:
        row: of the file.
        channel: that was simulated.
        streams: what it was asked for.
        aligned: whether the streams begin in the same bank.
    """

    row: dict[str, str]
    channel: DramChannel
    streams: tuple[Stream, ...]
    aligned: bool

    def number(self, column: str) -> float:
        """Return a number of the row; 0 where there is none."""
        return float(self.row[column] or 0)

    @property
    def family(self) -> str:
        """Kind of DRAM: ``DDR3`` and so on."""
        return self.row["config"].split("_")[0]

    @property
    def key(self) -> str:
        """What was asked for, whatever the device and the seed."""
        names = ("pattern", "interleave", "rate_frac", "arrival", "burst_B", "gap_ns")
        streams = [s.rsplit(":", 1)[0] for s in self.row["streams"].split(";")]
        return "|".join((*[self.row[name] for name in names], *streams))

    @property
    def unseen(self) -> bool:
        """Whether it is in the third that nothing is fitted to: all runs with its key are."""
        return sha256(self.key.encode()).digest()[0] % 3 == 0

    @property
    def chunk_bytes(self) -> float:
        """Bytes that a stream gets before the next one."""
        interleave = self.row["interleave"]
        if interleave == "req":
            return float(self.channel.burst_bytes)
        return float(interleave) if interleave.isdigit() else inf

    @property
    def saturated(self) -> bool:
        """Whether requests always wait."""
        return self.row["arrival"] == "sat"


def recorded_runs() -> list[Run]:
    """Return all runs in the order of the file."""
    with gzip.open(FILE, "rt") as file:
        return [_run(row) for row in csv.DictReader(line for line in file if line[0] != "#")]


def _run(row: dict[str, str]) -> Run:
    streams = [_stream(text) for text in row["streams"].split(";")]
    return Run(row, _channel(row), tuple(streams), "aligned" in row["pattern"])


def _stream(text: str) -> Stream:
    writes, kind, run, stride, height, share, _ = text.split(":")
    if kind == "stride":
        return Stream(float(run), float(share), float(writes), int(stride), int(height))
    return Stream(inf if kind == "seq" else float(run), float(share), float(writes))


def _channel(row: dict[str, str]) -> DramChannel:
    """Return the channel as the simulator had it, with its own address map and refresh."""
    name = row["config"]
    channel = dram_channel(_DEVICES[name], int(row["ranks"]), int(row["bus_bits"]))
    patch = dict(part.split("=") for part in row["patch"].split("+") if "=" in part)
    shipped = "rorabgbachco" if name.startswith("HBM2") else "rochrababgco"
    letters = patch.get("address_mapping", shipped)
    pairs = [letters[i : i + 2] for i in range(0, len(letters), 2)]
    timing = dict(channel.timing)
    if name.startswith(("DDR3", "LPDDR3")) and "tREFI" not in patch:
        # the simulator's default, for their files misspell the key
        timing["tREFI"] = 7800
    return replace(
        channel,
        address_map=tuple(_PARTS[pair] for pair in pairs if pair != "ch"),
        timing=timing,
        closed_page=patch.get("row_buf_policy") == "CLOSE_PAGE",
    )
