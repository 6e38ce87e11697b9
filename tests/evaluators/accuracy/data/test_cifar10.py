"""CIFAR-10 in both versions, and files that are something else."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from archloom.evaluators.accuracy.data import DatasetError, ImageArray, load_dataset
from archloom.evaluators.accuracy.data.cifar10 import cropped_and_flipped

NAMES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
Pixels = NDArray[np.uint8]


def batch(seed: int) -> tuple[Pixels, list[int]]:
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 256, (10_000, 3072), dtype=np.uint8)
    return pixels, random.integers(0, 10, 10_000).tolist()


def same_files(first: Path, names: tuple[str, ...]) -> None:
    """Let other batches be the first one, without 31 MB for each."""
    for name in names:
        (first.parent / name).hardlink_to(first)


def test_both_versions_are_the_same_images(tmp_path: Path) -> None:
    inner = tmp_path / "py" / "cifar-10-batches-py"
    inner.mkdir(parents=True)
    trained, tested = batch(0), batch(1)
    for name, (pixels, labels) in (("data_batch_1", trained), ("test_batch", tested)):
        held: dict[bytes, Any] = {b"batch_label": b"x", b"labels": labels, b"data": pixels}
        (inner / name).write_bytes(pickle.dumps(held, protocol=2))
        records = np.concatenate([np.array(labels, np.uint8)[:, None], pixels], axis=1)
        (tmp_path / f"{name}.bin").write_bytes(records.tobytes())
    same_files(inner / "data_batch_1", NAMES[1:5])
    same_files(tmp_path / "data_batch_1.bin", tuple(f"{name}.bin" for name in NAMES[1:5]))
    for folder in (tmp_path, tmp_path / "py"):
        data = load_dataset("cifar10", folder)
        assert isinstance(data.train, ImageArray)
        assert isinstance(data.test, ImageArray)
        assert (len(data.train.labels), len(data.test.labels)) == (50_000, 10_000)
        assert (data.train.pixels[10_003] == trained[0][3].reshape(3, 32, 32)).all()
        assert (data.test.pixels[7] == tested[0][7].reshape(3, 32, 32)).all()
        assert data.test.labels.tolist() == tested[1]
        assert data.image == (3, 32, 32)
        # images to test with are never varied
        assert data.train.vary is cropped_and_flipped
        assert data.test.vary is None


def files_with(first: bytes, folder: Path) -> None:
    """Write a first batch; the others are there, and are not read where it is wrong."""
    for name in NAMES:
        (folder / name).touch()
    (folder / "data_batch_1").write_bytes(first)


class Harm:
    """Runs a command when an ordinary unpickler reads it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {self.mark}",))


def test_a_hostile_pickle_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    files_with(pickle.dumps({b"data": Harm(mark), b"labels": []}), tmp_path)
    with pytest.raises(DatasetError, match=r"data_batch_1 is no batch.*asks for .*system"):
        load_dataset("cifar10", tmp_path)
    assert not mark.exists()
    pickle.loads((tmp_path / "data_batch_1").read_bytes())
    assert mark.exists(), "the file would have done harm elsewhere"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        pickle.dumps([1, 2]),
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 1]}),
        pickle.dumps({b"data": np.zeros((10_000, 3072), np.uint8), b"labels": [11] * 10_000}),
    ],
)
def test_another_file_is_named(content: bytes, tmp_path: Path) -> None:
    files_with(content, tmp_path)
    with pytest.raises(DatasetError, match="data_batch_1"):
        load_dataset("cifar10", tmp_path)


def test_a_missing_file_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"expected are data_batch_1 to data_batch_5"):
        load_dataset("cifar10", tmp_path)


def test_varied_images_are_moved_and_mirrored_ones() -> None:
    pixels = np.random.default_rng(1).integers(1, 256, (12, 3, 32, 32), dtype=np.uint8)
    varied = cropped_and_flipped(pixels, np.random.default_rng(2))
    padded = np.pad(pixels, ((0, 0), (0, 0), (4, 4), (4, 4)))
    for image, whole in zip(varied, padded, strict=True):
        candidates = [
            part
            for down in range(9)
            for right in range(9)
            for part in (whole[:, down : down + 32, right : right + 32],)
        ]
        assert any((image == c).all() or (image == c[:, :, ::-1]).all() for c in candidates)
    assert len({image.tobytes() for image in varied}) == 12
