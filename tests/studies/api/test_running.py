"""Studies that are run from Python: the same records as from a shell, callbacks, Ctrl-C, errors."""

import signal
import sys
import threading
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

import archloom as al
from archloom.studies.api import running

from ...cases.studies import TINY, archloom, write_study

CONFIG: dict[str, Any] = yaml.safe_load(TINY) | {"name": "tiny"}


def records(study: Path) -> tuple[bytes, bytes]:
    return (study / "trials.jsonl").read_bytes(), (study / "baseline.json").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study as the command line runs it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    done = archloom("run", write_study(folder), "--out", folder / "tiny", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "tiny"


@pytest.mark.parametrize("workers", [None, 1])
def test_keys_and_values_give_the_records_of_the_command(
    workers: int | None, undisturbed: Path, tmp_path: Path
) -> None:
    study = al.run_study(CONFIG, tmp_path / "tiny", workers=workers)
    assert records(tmp_path / "tiny") == records(undisturbed)
    assert study.trials == al.load_study(undisturbed).trials


def test_a_file_gives_them_too(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert al.run_study(write_study(tmp_path)).location == "runs/tiny"
    assert records(tmp_path / "runs" / "tiny") == records(undisturbed)


def test_callbacks_hear_each_trial_once_and_after_its_record_is_safe(tmp_path: Path) -> None:
    told: list[al.Trial] = []

    def hear(trial: al.Trial) -> None:
        assert trial in al.load_study(tmp_path / "tiny").trials
        told.append(trial)

    order: list[str] = []
    both = [hear, lambda _: order.append("second")]
    study = al.run_study(CONFIG, tmp_path / "tiny", callbacks=both)
    assert tuple(told) == study.trials
    assert len(order) == len(told)
    al.resume_study(tmp_path / "tiny", callbacks=both)
    al.run_study(CONFIG, tmp_path / "tiny", callbacks=both)
    assert len(told) == len(order) == 10


def test_a_callback_that_raises_ends_the_study_which_goes_on(
    undisturbed: Path, tmp_path: Path
) -> None:
    """The error is the callback's own; new trials alone are told afterwards."""
    told: list[int] = []

    def fail(trial: al.Trial) -> None:
        told.append(trial.number)
        if trial.number == 2:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as error:
        al.run_study(CONFIG, tmp_path / "tiny", callbacks=[fail])
    assert "resume_study" in "".join(error.value.__notes__)
    assert told == [0, 1, 2]
    # a batch is recorded as a whole
    assert len(al.load_study(tmp_path / "tiny").trials) == 6
    al.resume_study(tmp_path / "tiny", callbacks=[fail])
    assert told == [0, 1, 2, 6, 7, 8, 9]
    assert records(tmp_path / "tiny") == records(undisturbed)


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_comes_out_and_loses_nothing(
    workers: int, undisturbed: Path, tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGINT)

    def press(trial: al.Trial) -> None:
        if trial.number == 5:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as error:
        al.run_study(CONFIG, tmp_path / "tiny", workers=workers, callbacks=[press])
    assert "resume_study" in "".join(error.value.__notes__)
    assert signal.getsignal(signal.SIGINT) == before
    if workers == 1:
        assert 6 <= len(al.load_study(tmp_path / "tiny").trials) < 10
    assert al.resume_study(tmp_path / "tiny", workers=1).finished
    assert records(tmp_path / "tiny") == records(undisturbed)


def test_ctrl_c_again_and_again_ends_no_process(tmp_path: Path) -> None:
    """A notebook would lose everything that it has."""

    def press(_: al.Trial) -> None:
        for _ in range(3):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        al.run_study(CONFIG, tmp_path / "tiny", workers=1, callbacks=[press])


def test_a_thread_that_hears_no_signals_runs_a_study(undisturbed: Path, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    work = threading.Thread(target=al.run_study, args=(CONFIG, tmp_path / "tiny"))
    work.start()
    work.join()
    assert records(tmp_path / "tiny") == records(undisturbed)
    assert signal.getsignal(signal.SIGINT) == before


def test_what_a_child_says_at_its_end_comes_out(tmp_path: Path) -> None:
    """A directory that another process works on is refused by the child that would work on it."""

    def resume(_: al.Trial) -> None:
        al.resume_study(tmp_path / "tiny", workers=2)

    with pytest.raises(al.ArchloomError, match="is writing to this study") as error:
        al.run_study(CONFIG, tmp_path / "tiny", workers=1, callbacks=[resume])
    assert not str(error.value).startswith("error")


def test_a_password_is_no_argument_of_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from archloom.studies.config import location_of

    location = location_of("postgresql://me:s%40cret@host/studies#one")
    script = "import os, sys; print(os.environ['PGPASSWORD'], *sys.argv)"
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-c", script, str(location)]
    with (
        (tmp_path / "said").open("w") as said,
        running._child([*command], location, said, True) as child,
    ):
        child.wait()
    assert "s@cret" not in " ".join(child.args)
    assert "s%40cret" not in " ".join(child.args)


def test_progress_is_shown_on_request_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    al.run_study(CONFIG, tmp_path / "quiet", workers=1)
    assert capfd.readouterr() == ("", "")
    al.run_study(CONFIG, tmp_path / "loud", workers=1, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "trials" in err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trils": 3}, "trils: is an unknown key; did you mean trials"),
        ({"workloads": ["resnt18"], "seed": -1}, "the study: 2 errors"),
        ({"space": 3.5j}, "is a complex; keys and values must be strings, numbers"),
        ({"kind": "stack"}, "is a study of kind stack"),
        ({"name": "a b"}, "name: "),
        ({"software": {"fusion": "jint"}}, "did you mean joint"),
    ],
)
def test_mistakes_of_keys_and_values(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(al.ArchloomError) as error:
        al.run_study(CONFIG | changes, tmp_path / "tiny")
    assert message in str(error.value)
    assert not (tmp_path / "tiny").exists()


def test_other_mistakes(tmp_path: Path) -> None:
    with pytest.raises(al.ArchloomError, match="no such study file"):
        al.run_study(tmp_path / "none.yaml")
    with pytest.raises(al.ArchloomError, match="workers: 0 must be"):
        al.run_study(CONFIG, tmp_path / "tiny", workers=0)
    with pytest.raises(al.ArchloomError, match="no such directory"):
        al.resume_study(tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other.txt").write_text("mine")
    with pytest.raises(al.ArchloomError, match="other"):
        al.run_study(CONFIG, tmp_path / "full")
    al.run_study(CONFIG, tmp_path / "tiny")
    with pytest.raises(al.ArchloomError, match="another config"):
        al.run_study(CONFIG | {"seed": 6}, tmp_path / "tiny")
    assert (tmp_path / "full" / "other.txt").read_text() == "mine"


def test_a_study_without_a_name_is_called_like_its_directory(tmp_path: Path) -> None:
    config = {key: value for key, value in CONFIG.items() if key != "name"} | {"trials": 2}
    assert al.run_study(config, tmp_path / "mine").name == "mine"
    with pytest.raises(al.ArchloomError, match="name"):
        al.run_study(config)


def test_a_database_keeps_a_study(postgres: Any) -> None:
    told: list[int] = []
    study = al.run_study(
        CONFIG | {"trials": 6},
        postgres.url,
        workers=1,
        callbacks=[lambda trial: told.append(trial.number)],
    )
    assert told == list(range(6))
    assert study.trials == al.load_study(f"{postgres.url}#tiny").trials


def test_a_study_gets_more_trials(undisturbed: Path, tmp_path: Path) -> None:
    """In this process, then in one of its own; the result is that of a study with as many."""
    al.run_study(CONFIG | {"trials": 13}, tmp_path / "long", workers=1)
    copytree(undisturbed, tmp_path / "tiny")
    study = al.resume_study(tmp_path / "tiny", trials=12, workers=1)
    assert (study.finished, study.config["trials"], len(study.trials)) == (True, 12, 12)
    told: list[int] = []
    callbacks = [lambda trial: told.append(trial.number)]
    al.resume_study(tmp_path / "tiny", trials=13, workers=2, callbacks=callbacks)
    assert told == [12]
    # it is a process of its own that starts Ray; another test may have imported it here
    assert "ray" not in sys.modules or not sys.modules["ray"].is_initialized()
    assert records(tmp_path / "tiny") == records(tmp_path / "long")
    with pytest.raises(al.ArchloomError, match="--trials 3 is below the 13 designs"):
        al.resume_study(tmp_path / "tiny", trials=3, workers=1)
    for wrong in (0, 2.5, "many"):
        with pytest.raises(al.ArchloomError, match="trials"):
            al.resume_study(tmp_path / "tiny", trials=wrong, workers=1)  # type: ignore[arg-type]
