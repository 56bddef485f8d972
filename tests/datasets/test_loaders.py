import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.datasets import load_iris

from afcm.datasets import DatasetCorrupt, DatasetNotFound, load_dataset
from afcm.datasets.loaders import DOWNLOAD_ERRORS, download_samples, find_cache_folder, scale_to_unit
from tests.datasets.openml_site import no_network, site

OPENML = "sklearn.datasets._openml.urlopen"


def save_vehicle(folder, value):
    """An archive with the shapes of Vehicle, every value the same."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "vehicle.npz", X=np.full((846, 18), value), y=np.arange(846) % 4)


def breast_like():
    rng = np.random.default_rng(0)
    points = rng.integers(1, 11, size=(699, 9)).astype(float)
    points[[4, 40], 5] = np.nan
    return points, np.where(np.arange(699) < 458, "malignant", "benign")


def test_iris_needs_no_folder_and_no_network(monkeypatch):
    monkeypatch.setattr(OPENML, no_network)
    X, y = load_iris(return_X_y=True)
    iris = load_dataset("iris", folder="/nowhere")
    np.testing.assert_array_equal(iris.X, X)
    np.testing.assert_array_equal(iris.y, y)
    assert (iris.name, iris.n_clusters, len(iris.missing)) == ("iris", 3, 0)
    assert repr(iris) == "Dataset(name='iris', n_clusters=3)"


@given(arrays.arrays(float, arrays.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1e9, 1e9)))
def test_minmax_fills_the_unit_interval_and_keeps_the_order(X):
    scaled = scale_to_unit(X)
    constant = np.ptp(X, axis=0) == 0
    assert (scaled.min(axis=0) == 0).all()
    np.testing.assert_array_equal(scaled.max(axis=0), np.where(constant, 0.0, 1.0))
    for column, values in zip(scaled.T, X.T, strict=True):
        assert (np.diff(column[np.argsort(values)]) >= 0).all()


def test_scaling_is_off_unless_asked_for():
    raw, scaled = load_dataset("iris"), load_dataset("iris", scale="minmax")
    assert raw.X.max() > 1
    np.testing.assert_array_equal(scaled.X, scale_to_unit(raw.X))
    with pytest.raises(ValueError, match="scale='standard' is unknown; use \"minmax\", or None"):
        load_dataset("iris", scale="standard")


def test_the_argument_comes_before_the_variable_before_the_cache(tmp_path, cache, monkeypatch):
    def found(**options):
        return load_dataset("vehicle", verify=False, download=False, **options).X[0, 0]

    save_vehicle(cache, 3)
    assert found() == 3
    monkeypatch.setenv("AFCM_DATA", str(tmp_path / "variable"))
    assert found() == 3
    save_vehicle(tmp_path / "variable", 2)
    assert found() == 2
    assert found(folder=tmp_path / "empty") == 2
    save_vehicle(tmp_path / "argument", 1)
    assert found(folder=str(tmp_path / "argument")) == 1


@pytest.mark.parametrize(
    ("platform", "variable", "place"),
    [
        ("linux", "XDG_CACHE_HOME", "~/.cache/afcm"),
        ("darwin", "XDG_CACHE_HOME", "~/Library/Caches/afcm"),
        ("win32", "LOCALAPPDATA", "~/AppData/Local/afcm"),
    ],
)
def test_the_cache_is_where_the_platform_wants_it(monkeypatch, platform, variable, place):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, "")
    assert find_cache_folder() == Path(place).expanduser()


def test_a_wrong_file_is_refused_rather_than_passed_over(tmp_path):
    save_vehicle(tmp_path, 1)
    with pytest.raises(DatasetCorrupt, match="SHA-256"):
        load_dataset("vehicle", folder=tmp_path)


def test_a_missing_file_says_where_it_was_looked_for_and_where_to_get_it(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("AFCM_DATA", str(tmp_path / "variable"))
    with pytest.raises(FileNotFoundError) as caught:
        load_dataset("ORL64x64", folder=tmp_path / "argument")
    assert isinstance(caught.value, DatasetNotFound)
    message = str(caught.value)
    for part in (
        "'orl64x64.npz'",
        f"{tmp_path / 'argument'} (folder)",
        f"{tmp_path / 'variable'} (AFCM_DATA)",
        f"{cache} (cache)",
        "http://www.cad.zju.edu.cn/home/dengcai/Data/FaceData.html",
    ):
        assert part in message


def test_nothing_is_downloaded_when_told_not_to(monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: pytest.fail("asked openml.org"))
    with pytest.raises(DatasetNotFound, match="or pass download=True"):
        load_dataset("breast", download=False)
    with pytest.raises(DatasetNotFound, match=r"AFCM_DATA\.$"):
        load_dataset("breast-id")


def test_a_set_without_a_download_is_not_asked_for(tiny, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: pytest.fail("asked openml.org"))
    with pytest.raises(DOWNLOAD_ERRORS, match="tiny has no public download that scikit-learn knows"):
        download_samples(tiny)


def test_a_download_is_cached_and_used_from_then_on(cache, monkeypatch):
    points, labels = breast_like()
    urlopen, asked = site(points, labels)
    monkeypatch.setattr(OPENML, urlopen)
    first = load_dataset("breast")
    np.testing.assert_array_equal(first.X, np.nan_to_num(points))
    np.testing.assert_array_equal(first.y, labels == "malignant")
    assert first.missing.tolist() == [[4, 5], [40, 5]]
    assert "data_name/breast-w/" in asked[0]
    assert os.listdir(cache) == ["breast-openml.npz"]

    monkeypatch.setattr(OPENML, no_network)
    again = load_dataset("breast", download=False)
    for name in ("X", "y", "missing"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))


def test_no_network_is_a_missing_file_with_the_reason(cache, monkeypatch):
    monkeypatch.setattr(OPENML, no_network)
    with pytest.raises(DatasetNotFound, match=r"(?s)'vehicle\.npz'.*The download failed: .*service not known"):
        load_dataset("vehicle")
    assert not cache.exists()


def test_a_download_of_another_size_is_refused_and_not_cached(cache, monkeypatch):
    points, labels = breast_like()
    monkeypatch.setattr(OPENML, site(points[:-1], labels[:-1])[0])
    with pytest.raises(DatasetNotFound, match=r"the shape of X is \(698, 9\), expected \(699, 9\)"):
        load_dataset("breast")
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_costs_a_warning_not_the_data(cache, monkeypatch):
    monkeypatch.setattr(OPENML, site(*breast_like())[0])
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="the download was not kept in .*breast-openml.npz") as caught:
        data = load_dataset("breast")
    assert data.X.shape == (699, 9)
    assert caught[0].filename == __file__
