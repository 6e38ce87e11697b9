"""Schedules of ragged batches: less than with padding, and one sequence as ever."""

import json
from typing import Any

from click.testing import CliRunner

from archloom.studies.commands.cli import app

QUICK = ("--fusion", "none", "--mapping", "local", "--mapping-evaluations", "20")


def scheduled(*arguments: str) -> dict[str, Any]:
    words = ["schedule", "llama32_1b_prefill", "--hardware", "tpu_v3", "--json", *arguments, *QUICK]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_sequences_of_different_lengths_are_packed() -> None:
    found = [
        scheduled("--batch", batch, "--network-set", setting)
        for setting, batch in (
            ("lengths=32,8", "1"),
            ("sequence_length=32", "2"),
            ("lengths=32", "2"),
        )
    ]
    packed, padded, alone = found
    assert packed["energy_pj"] < padded["energy_pj"]
    assert packed["dram_bytes"] < padded["dram_bytes"]
    # a list of one is the ordinary network
    for key in ("energy_pj", "latency_cycles", "dram_bytes", "edp_js", "groups"):
        assert alone[key] == padded[key]
