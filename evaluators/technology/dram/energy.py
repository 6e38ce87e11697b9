"""Energy of a DRAM channel by what it does, from the supply currents of its devices.

The formulas are those of Micron's TN-40-07 (Calculating Memory Power for DDR4 SDRAM), which the
simulator of the recorded runs uses too: each command costs what it draws above standby. Energy of
drivers, terminations and of the wordline supply (VPP) is not in them.
"""

from dataclasses import dataclass

from .device import DramChannel


@dataclass(frozen=True, slots=True)
class ChannelEnergy:
    """Energies and powers of a channel.

    Attributes:
        activate_pj: opening a row and closing it again.
        read_pj, write_pj: of a burst; ``burst_bits``: its bits.
        refresh_pj: of one refresh of a rank.
        refresh_mw: of all ranks, at the rate that refresh is due.
        open_mw, closed_mw: standby of all ranks with a row open, and with none.
    """

    activate_pj: float
    read_pj: float
    write_pj: float
    burst_bits: int
    refresh_pj: float
    refresh_mw: float
    open_mw: float
    closed_mw: float

    @property
    def read_pj_per_bit(self) -> float:
        """Energy of a bit that is read from an open row."""
        return self.read_pj / self.burst_bits

    @property
    def write_pj_per_bit(self) -> float:
        """Energy of a bit that is written to an open row."""
        return self.write_pj / self.burst_bits


def channel_energy(channel: DramChannel) -> ChannelEnergy:
    """Return the energies of a channel."""
    t, p = channel.timing, channel.power
    milliwatts = p["VDD"] * channel.devices
    # mW times ns is pJ
    pj = milliwatts * t["tCK_ns"]
    standby = p["IDD3N"] * t["tRAS"] + p["IDD2N"] * t["tRP"]
    refresh_pj = pj * (p["IDD5"] - p["IDD3N"]) * t["tRFC"]
    return ChannelEnergy(
        activate_pj=pj * (p["IDD0"] * channel.row_cycle - standby),
        read_pj=pj * (p["IDD4R"] - p["IDD3N"]) * channel.burst_cycles,
        write_pj=pj * (p["IDD4W"] - p["IDD3N"]) * channel.burst_cycles,
        burst_bits=8 * channel.burst_bytes,
        refresh_pj=refresh_pj,
        refresh_mw=refresh_pj / (t["tREFI"] * t["tCK_ns"]) * channel.ranks,
        open_mw=milliwatts * p["IDD3N"] * channel.ranks,
        closed_mw=milliwatts * p["IDD2N"] * channel.ranks,
    )
