import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from afcm.datasets import Dataset, dataset_info, list_datasets, load_dataset
from afcm.datasets.registry import _normalize_name

NAMES = [info.name for info in list_datasets()]
PAPER_TABLE = {
    "Iris": (150, 4, 3),
    "Breast": (699, 10, 2),
    "Vehicle": (846, 18, 4),
    "UPPS": (1854, 256, 10),
    "Jaffe50": (213, 1024, 10),
    "warpPIE10P": (210, 2420, 10),
    "Olivetti": (900, 2500, 10),
    "ORL64x64": (400, 4096, 40),
    "Pose07": (1629, 4096, 68),
    "Pose29": (1632, 4096, 68),
}
SHAPES_THAT_DIFFER = {"breast", "pose07", "pose29"}


@pytest.mark.parametrize("printed", PAPER_TABLE)
def test_the_papers_table_is_in_the_registry(printed):
    info = dataset_info(printed)
    assert (*info.paper_shape, info.n_clusters) == PAPER_TABLE[printed]
    assert (info.shape != info.paper_shape) == (info.name in SHAPES_THAT_DIFFER)


@pytest.mark.parametrize("info", list_datasets(), ids=NAMES)
def test_every_line_is_complete(info):
    assert info.source
    assert info.license
    assert (info.archive is None) == (info.name == "iris")
    if info.archive:
        assert re.fullmatch(r"[0-9a-f]{64}", info.archive.sha256)
        assert re.fullmatch(r"\w+\.npz", info.archive.file)
    if info.shape != info.paper_shape:
        assert info.notes


def test_no_two_sets_share_a_name():
    names = [_normalize_name(name) for info in list_datasets() for name in (info.name, *info.aliases)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("spelling", ["pose07", "Pose07", "POSE-07", " pose_07 ", "Pose 07"])
def test_case_blanks_and_dashes_do_not_matter(spelling):
    assert dataset_info(spelling).name == "pose07"


def test_an_unknown_name_gets_the_closest_one_and_the_list():
    with pytest.raises(ValueError, match=r"name='jafe50' .*did you mean 'jaffe50'\? Known: iris, breast, .*pose29"):
        dataset_info("jafe50")
    with pytest.raises(ValueError, match=r"name='zzzz' is not a known data set\. Known: iris"):
        dataset_info("zzzz")


def test_registry_lines_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        list_datasets()[0].name = "other"


@pytest.mark.parametrize("info", list_datasets(), ids=NAMES)
def test_the_real_archives_are_what_the_registry_says(info, real_folder):
    data = load_dataset(info.name, folder=real_folder, download=False)
    assert isinstance(data, Dataset)
    assert data.X.shape == info.shape
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert (np.bincount(data.y) > 0).sum() == data.n_clusters == info.n_clusters
    assert np.isfinite(data.X).all()


def test_breast_with_and_without_the_patient_number(real_folder):
    features, table = (load_dataset(name, folder=real_folder) for name in ("breast", "breast-id"))
    np.testing.assert_array_equal(table.X[:, 1:], features.X)
    assert table.X[:, 0].max() > 1e6  # no feature: the others are 0 to 10
    assert features.X.max() == 10
    for data in (features, table):
        assert len(data.missing) == 16
        assert (data.X[tuple(data.missing.T)] == 0).all()
        assert (data.X == 0).sum() == 16 + (data.X[:, 0] == 0).sum()
    assert np.bincount(features.y).tolist() == [458, 241]


def test_usps_has_its_original_floats(real_folder):
    X = load_dataset("usps", folder=real_folder).X
    assert X.min() == -1
    assert 0.9 < X.max() <= 1
