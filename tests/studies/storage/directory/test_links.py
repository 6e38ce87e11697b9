"""Files of a study that somebody else works on."""

from pathlib import Path
from threading import Event, Thread

from archloom.studies.storage.directory.links import read_file, refuse_links


def test_files_that_come_and_go_meanwhile_are_no_fault(tmp_path: Path) -> None:
    """A process that works on a study writes some beside their places, and moves them there."""
    done, part, place = Event(), tmp_path / ".live.json.part", tmp_path / "live.json"

    def work() -> None:
        while not done.is_set():
            part.write_text("{}")
            part.rename(place)
            place.unlink()

    worker = Thread(target=work)
    worker.start()
    try:
        for _ in range(3000):
            refuse_links(tmp_path)
            assert read_file(tmp_path, "live.json") in (None, b"{}")
    finally:
        done.set()
        worker.join()
