"""Study files of kind stack: all mistakes at once, defaults, and what is to be installed."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from archloom.studies.config.errors import ConfigError, kind_of
from archloom.studies.config.sections import Reading
from archloom.studies.config.study_config import load_config
from archloom.studies.errors import UserError
from archloom.studies.solve.stack import settings
from archloom.studies.solve.stack.settings import StackConfig, load_stack

ROOT = Path(__file__).parents[4]

WRONG = """\
kind: stack
models: [resnet81, vgg16]
data: digit
width: 9
seeds: 0
epochs: "3"
fine_tune: -1
compression:
- dens
- {weights: 1.5}
- {chanels: 0.5}
- weights
- {int8: 3}
- dense
- dense
- {weights: [0.5, high]}
algorithms: [gem, direct]
tuning: {schedules: [untund], trials: 0, optimizer: tpee, share: 2}
threads: 0
search: {optimizer: tep, trials: 3}
executor: proceses
model: x
"""

FAULTS = """\
line 2: models[0]: model 'resnet81' is unknown; did you mean resnet18
line 3: data: data 'digit' is unknown; did you mean digits?
line 4: width: 9 must be less than or equal to 4
line 5: seeds: 0 must be greater than or equal to 1
line 6: epochs: '3' must be a valid integer; YAML reads this as a text, write 3
line 7: fine_tune: -1 must be greater than or equal to 0
line 9: compression[0]: 'dens' is unknown; did you mean dense?
line 10: compression[1]: weights: 1.5 must be a fraction above 0 and below 1
line 11: compression[2]: 'chanels' is unknown; did you mean channels?
line 12: compression[3]: 'weights' needs a fraction, as {weights: 0.5}
line 13: compression[4]: 'int8' takes no fraction; write int8
line 15: compression[6]: dense occurs twice
line 16: compression[7]: weights: 'high' must be a valid number
line 17: algorithms[0]: 'gem' is unknown; did you mean gemm?
line 18: tuning.optimizer: 'tpee' is unknown; did you mean tpe?
line 18: tuning.schedules[0]: 'untund' is unknown; did you mean untuned or tuned?
line 18: tuning.share: 2 must be less than or equal to 1
line 18: tuning.trials: 0 must be greater than or equal to 1
line 19: threads: 0 must be greater than or equal to 1
line 20: search.optimizer: 'tep' is unknown; did you mean tpe?
line 21: executor.name: 'proceses' is unknown; did you mean processes?
line 22: model: is an unknown key; did you mean models?
""".splitlines()


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def said(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as told:
        load_stack(written(folder, text))
    return str(told.value)


def test_all_mistakes_are_said_at_once_with_line_and_key(tmp_path: Path) -> None:
    message = said(tmp_path, WRONG)
    for fault in FAULTS:
        assert fault in message
    assert f"{len(FAULTS)} errors" in message.splitlines()[0]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("", "is missing"),
        ("models: []", "models: [] must be a list of 1 at least"),
        ("models: [vgg16, vgg16]", "models[1]: 'vgg16' occurs twice"),
        ("models: [vgg16]\ndata: cifar10", "give it as data_dir"),
        (
            "models: [vgg16]\ndata_dir: here",
            "digits comes with a Python package; leave data_dir out",
        ),
        ("models: [vgg16]\nthreads: 4096", "threads: 4096 must be at most"),
        (
            "models: [vgg16]\ncompression: [int8]\nfine_tune: 2",
            "fine_tune: applies to weights and channels",
        ),
        ("models: [vgg16]\nsearch: factorail", "'factorail' is unknown; did you mean factorial?"),
        ("models: [vgg16]\nsearch: {optimizer: tpe}", "search.trials: is missing"),
        (
            "models: [vgg16]\nsearch: {optimizer: mobo, trials: 3}",
            "'mobo' only works for hardware spaces; known: gp",
        ),
        (
            "models: [vgg16]\nsearch: {optimizer: {name: nsga2, poplation: 8}, trials: 3}",
            "search.optimizer.poplation: is no option of 'nsga2'; did you mean population?",
        ),
        ("models: [vgg16]\ncompression: dense", "must be a list such as"),
        ("models: [vgg16]\ntuning: tunde", "tuning.schedules[0]: 'tunde' is unknown"),
    ],
)
def test_a_mistake_is_one_message(tmp_path: Path, lines: str, fault: str) -> None:
    assert fault in said(tmp_path, f"kind: stack\n{lines}\n")


def test_models_alone_are_enough_and_what_is_read_can_be_written(tmp_path: Path) -> None:
    config = load_stack(written(tmp_path, "kind: stack\nmodels: [vgg16]\n"))
    assert (config.name, config.data, config.width, config.epochs) == ("mine", "digits", 0.25, 20)
    assert [c.label for c in config.compression] == [
        "dense", "weights 0.8", "channels 0.5", "float16", "int8",
    ]  # fmt: skip
    assert config.algorithms == ("direct", "gemm", "spatial_pack")
    # DLAS shares the epochs of training among the levels
    assert config.epochs_after("weights") == 20
    plain = yaml.safe_load(yaml.safe_dump(config.to_dict()))
    assert StackConfig.read(plain, Reading()) == config
    assert not {"name", "executor", "data_dir"} & config.identity.keys()


def test_words_alone_and_lists_of_levels_are_short_forms(tmp_path: Path) -> None:
    text = """\
kind: stack
models: [vgg16]
epochs: 9
compression: [{weights: [0.8, 0.5]}, float16_stored, int8_uncalibrated]
tuning: untuned
search: {optimizer: random, trials: 2}
executor: inline
"""
    config = load_stack(written(tmp_path, text))
    assert [(c.label, c.method, c.dtype) for c in config.compression] == [
        ("weights 0.8", "weights", "float32"),
        ("weights 0.5", "weights", "float32"),
        ("float16_stored", "float16", "float16_stored"),
        ("int8_uncalibrated", "int8_uncalibrated", "int8"),
    ]
    assert config.levels("weights") == (0.5, 0.8)
    assert config.epochs_after("weights") == 4
    assert config.tuning.schedules == ("untuned",)
    assert config.search is not None
    assert config.search.optimizer.name == "random"
    assert config.executor.count == 1


def test_the_kind_decides_what_a_file_is(tmp_path: Path) -> None:
    stack = written(tmp_path, "kind: stack\nmodels: [vgg16]\n")
    assert kind_of(stack) == "stack"
    with pytest.raises(
        UserError, match="is a study of kind stack, which only archloom run accepts"
    ):
        load_config(stack)
    assert kind_of(ROOT / "studies" / "quickstart.yaml") is None
    assert kind_of(tmp_path / "none.yaml") is None
    odd = written(tmp_path, "kind: stak\nworkloads: [resnet18]\nspace: casco_edge\ntrials: 2\n")
    assert kind_of(odd) is None
    with pytest.raises(ConfigError) as told:
        load_config(odd)
    assert "line 1: kind: 'stak' is unknown; did you mean stack?" in str(told.value)
    assert len(told.value.faults) == 1


def test_what_is_missing_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(name: str) -> Any:
        return None if name in ("halide", "sklearn") else find_spec(name)

    monkeypatch.setattr(settings, "find_spec", found)
    message = said(tmp_path, "kind: stack\nmodels: [vgg16]\n")
    assert "needs halide and sklearn, which are not installed" in message
    assert "pip install 'archloom[host]'" in message
    # without them, studies of accelerators are what they were
    assert load_config(ROOT / "studies" / "quickstart.yaml").name == "quickstart"


def test_the_study_that_comes_with_archloom_has_all_axes() -> None:
    config = load_stack(ROOT / "examples" / "stack_digits.yaml")
    assert config.models == ("resnet18", "vgg16", "mobilenetv1", "mobilenetv2")
    assert len(config.compression) == 5
    assert config.algorithms == ("direct", "gemm", "spatial_pack")
    assert config.tuning.schedules == ("untuned", "tuned")
    assert config.search is None
