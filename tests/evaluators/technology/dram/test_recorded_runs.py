"""The DRAM model beside recorded runs of a cycle-accurate simulator."""

import importlib
import sys
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.technology.dram.energy import channel_energy

from ....source_tree import ROOT

sys.path.insert(0, str(ROOT))
recorded: Any = importlib.import_module("benchmarks.hardware.dram_runs")
accuracy: Any = importlib.import_module("benchmarks.hardware.dram_accuracy")


@pytest.fixture(scope="module")
def runs() -> list[Any]:
    found: list[Any] = recorded.recorded_runs()
    return found


def test_energies_of_commands_are_those_of_the_runs(runs: list[Any]) -> None:
    """Counted commands and times, at the energies of the model, come to the recorded energies."""
    for run in runs:
        costs, number, channel = channel_energy(run.channel), run.number, run.channel
        tck, ranks = channel.timing["tCK_ns"], channel.ranks
        parts = {
            "e_act_pJ": number("activates") * costs.activate_pj,
            "e_read_pJ": number("n_rd") * costs.read_pj,
            "e_write_pJ": number("n_wr") * costs.write_pj,
            "e_refresh_pJ": number("refreshes") * costs.refresh_pj,
            "e_bg_act_pJ": number("rank_active_cycles") * tck * costs.open_mw / ranks,
            "e_bg_pre_pJ": number("rank_idle_cycles") * tck * costs.closed_mw / ranks,
        }
        for column, energy_pj in parts.items():
            assert energy_pj == pytest.approx(number(column), rel=1e-4), (run.row["run_id"], column)


def test_channels_are_those_of_the_runs(runs: list[Any]) -> None:
    for run in runs:
        channel, number = run.channel, run.number
        assert channel.peak_gbytes_per_s == pytest.approx(number("peak_GBps"), rel=1e-4)
        assert channel.banks == number("banks_per_rank")
        assert channel.row_bytes == number("row_bytes")
        assert channel.burst_bytes == number("burst_bytes")


def test_a_third_of_the_runs_is_in_no_fit_with_all_that_asks_for_the_same(runs: list[Any]) -> None:
    kinds: dict[str, set[bool]] = {}
    for run in runs:
        kinds.setdefault(run.key, set()).add(run.unseen)
    assert all(len(seen) == 1 for seen in kinds.values())
    assert 0.3 < np.mean([run.unseen for run in runs]) < 0.37


def test_bandwidth_and_energy_of_the_unseen_third(runs: list[Any]) -> None:
    found = [accuracy.told(run) for run in runs if run.unseen]
    # docs/explanation/dram.md has these figures
    assert np.median([one.bandwidth_error for one in found]) < 0.015
    assert np.median([one.energy_error for one in found]) < 0.01
    far = [one for one in found if one.worst > 0.25]
    assert len(far) < 0.08 * len(found)
    assert {accuracy.reason(one.run) for one in far} <= {
        "streams begin in the same bank",
        "closed page",
        "queues of another length",
        "self-refresh",
        "runs at a stride",
        "streams that meet in a bank",
    }
    # what has no such reason is never far off, in any run
    plain = [accuracy.told(run) for run in runs if not accuracy.reason(run)]
    assert len(plain) > 900
    assert max(one.worst for one in plain) < 0.25


def test_the_constants_are_those_that_fit_the_other_runs(runs: list[Any]) -> None:
    """Half or double of any constant brings the runs that were fitted to no nearer."""
    seen = [run for run in runs if not run.unseen and run.saturated and not accuracy.reason(run)]
    base = accuracy.FITTED

    def off(fitted: Any) -> float:
        errors = [accuracy.told(run, fitted).efficiency - run.number("efficiency") for run in seen]
        return float(np.mean(np.square(errors)))

    least = off(base)
    for i, value in enumerate(base):
        for factor in (0.5, 2.0):
            other = list(base)
            other[i] = value * factor
            assert off(type(base)(*other)) > 0.99 * least
