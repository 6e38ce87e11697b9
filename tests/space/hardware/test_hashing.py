import pickle
import subprocess
import sys
from dataclasses import replace

from ...cases.designs import edge, several

SCRIPT = """
import pickle, sys
hardware = pickle.load(sys.stdin.buffer)
again = type(hardware)(**{n: getattr(hardware, n) for n in hardware.__match_args__})
print(hash(hardware) == hash(again), hardware == again)
"""


def test_equal_hardware_has_equal_hashes() -> None:
    one, other = edge(), edge()
    assert one == other
    assert one is not other
    assert hash(one) == hash(other) == hash(one)
    assert hash(one.levels[0]) == hash(other.levels[0])
    assert hash(one) != hash(several((2, 2)))


def test_a_changed_copy_has_a_hash_of_its_own() -> None:
    hardware = edge()
    before, fanouts = hash(hardware), hardware.fanouts
    wider = replace(hardware, frequency_mhz=hardware.frequency_mhz * 2)
    assert hash(wider) != before
    assert replace(wider, frequency_mhz=hardware.frequency_mhz) == hardware
    assert wider.fanouts == fanouts


def test_another_process_works_out_its_own() -> None:
    hardware = edge()
    # asked before: it must not travel, for texts have other hashes there
    assert hash(hardware) == hash(pickle.loads(pickle.dumps(hardware)))
    assert hardware.fusion_level == pickle.loads(pickle.dumps(hardware)).fusion_level
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=pickle.dumps(hardware), capture_output=True
    )
    assert found.stdout.decode().split() == ["True", "True"], found.stderr.decode()
