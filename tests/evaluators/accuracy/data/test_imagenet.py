"""ImageNet's folders: what is read, how it is cropped, and what is missing."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from archloom.evaluators.accuracy.data import DatasetError, load_dataset

MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])


def draw(path: Path, size: tuple[int, int], color: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ("train", "val"):
        for label in ("n01", "n02"):
            draw(tmp_path / part / label / "a.JPEG", (300, 200), (255, 0, 0))
            draw(tmp_path / part / label / "b.png", (40, 500), (0, 0, 255))
    return tmp_path


def test_images_are_scaled_cropped_and_normalised(folder: Path) -> None:
    data = load_dataset("imagenet", folder)
    assert (data.classes, data.train.labels.tolist(), data.image) == (
        2,
        [0, 0, 1, 1],
        (3, 224, 224),
    )
    red, blue = data.test.batch(np.array([0, 1]))
    assert np.allclose(blue[:, 100, 100], (np.array([0, 0, 1]) - MEAN) / DEVIATION, atol=1e-5)
    # a JPEG is near to what was saved
    assert np.allclose(red[:, 0, 0], (np.array([1, 0, 0]) - MEAN) / DEVIATION, atol=0.03)
    varied = data.train.batch(np.array([1, 1, 3]), np.random.default_rng(0))
    assert varied.shape == (3, 3, 224, 224)
    assert np.allclose(varied[0][:, 5, 5], blue[:, 5, 5])


def test_the_crop_is_the_middle(folder: Path) -> None:
    pixels = np.zeros((256, 512, 3), np.uint8)
    pixels[:, 144:368] = 255
    Image.fromarray(pixels).save(folder / "val" / "n01" / "b.png")
    found = load_dataset("imagenet", folder).test.batch(np.array([1]))[0]
    assert np.allclose(found, ((1 - MEAN) / DEVIATION)[:, None, None], atol=1e-5)


def test_what_is_missing_is_said(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(DatasetError, match=r"train/CLASS/IMAGE\.JPEG"):
        load_dataset("imagenet", tmp_path_factory.mktemp("empty"))
    draw(folder / "train" / "n03" / "a.png", (9, 9), (0, 0, 0))
    with pytest.raises(DatasetError, match="only one of them has n03"):
        load_dataset("imagenet", folder)
    (folder / "val" / "n03").mkdir()
    with pytest.raises(DatasetError, match="has no images"):
        load_dataset("imagenet", folder)
    (folder / "val" / "n03" / "a.png").write_bytes(b"no image")
    with pytest.raises(DatasetError, match="is not an image"):
        load_dataset("imagenet", folder).test.batch(np.array([4]))
