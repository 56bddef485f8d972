"""Tensors in, tensors out, and the same answers as from NumPy arrays (PyTorch's CPU device)."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons

from afcm import AFCM, FCM, EntropyFCM, PlainAFCM, align, arrays
from afcm.datasets import make_rings
from afcm.fitting import starts
from afcm.graph import density
from afcm.graph.affinity import normalize_graph
from afcm.metrics import adjusted_rand
from afcm.neighbors import find_neighbors

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torch_neighbors = pytest.importorskip("afcm.compiled.torch_neighbors", reason="PyTorch is not installed")
SparseTensor = pytest.importorskip("afcm.arrays.torch_arrays", reason="PyTorch is not installed").SparseTensor
torch_k_means = pytest.importorskip("afcm.fitting.torch_k_means", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")

MODELS = [PlainAFCM, FCM, EntropyFCM, AFCM]
KERNELS = ["sharpened", "adaptive", "local", "binary"]


def blobs(dtype=np.float64, n=600, d=8):
    return make_blobs(n, d, centers=4, cluster_std=2.0, random_state=0)[0].astype(dtype)


def made(model, **changes):
    """One run: the best of several equal ones is a matter of rounding."""
    return model(4, n_init=1, random_state=0, **changes)


def agree(ours, theirs):
    """Share of equal labels."""
    return float(np.mean(np.asarray(ours) == np.asarray(theirs)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tensors_give_the_same_as_arrays(model, dtype):
    X = blobs(dtype)
    host, tensor = (made(model).fit(data) for data in (X, torch.as_tensor(X)))
    assert agree(tensor.labels_, host.labels_) >= 0.999
    assert tensor.objective_ == pytest.approx(host.objective_, rel=1e-5)
    for name in ("memberships_", "labels_", "cluster_centers_"):
        assert isinstance(getattr(tensor, name), torch.Tensor), name
    assert str(tensor.memberships_.dtype) == f"torch.{np.dtype(dtype)}"
    np.testing.assert_allclose(tensor.memberships_, host.memberships_, atol=2e-3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("given", "working"), [("float16", "float32"), ("int64", "float64"), ("uint8", "float64")])
def test_half_precision_and_integers_are_widened(model, given, working):
    X = torch.as_tensor(np.round(5 * (blobs() + 20)) % 250).to(getattr(torch, given))
    ours, theirs = (made(model).fit(data) for data in (X, X.to(getattr(torch, working))))
    assert str(ours.memberships_.dtype) == f"torch.{working}"
    assert torch.equal(ours.memberships_, theirs.memberships_)
    assert torch.equal(ours.predict(X), ours.labels_)


@pytest.mark.parametrize("model", MODELS)
def test_the_answer_is_of_the_kind_that_was_asked(model):
    X = blobs()
    new, fitted = X[:50] + 0.1, [made(model).fit(data) for data in (X, torch.as_tensor(X))]
    expected = fitted[0].predict_proba(new)
    for one in fitted:
        assert isinstance(one.predict_proba(new), np.ndarray)
        answer = one.predict_proba(torch.as_tensor(new))
        assert isinstance(answer, torch.Tensor)
        np.testing.assert_allclose(one.predict_proba(new), expected, atol=1e-6)
        np.testing.assert_allclose(answer, expected, atol=1e-6)
        np.testing.assert_allclose(one.transform(torch.as_tensor(new)), one.transform(new), atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_a_device_for_arrays_gives_arrays_back(model):
    X = blobs(np.float32)
    on_device, host = made(model, device="cpu").fit(X), made(model).fit(X)
    for name in ("memberships_", "labels_", "cluster_centers_"):
        assert isinstance(getattr(on_device, name), np.ndarray), name
    assert agree(on_device.labels_, host.labels_) >= 0.999
    assert isinstance(on_device.predict(X), np.ndarray)
    np.testing.assert_array_equal(on_device.predict(X), on_device.labels_)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", ["moons", "rings", "digits"])
def test_every_kernel_agrees_with_the_host(kernel, data):
    X, c = {
        "moons": lambda: (make_moons(900, noise=0.07, random_state=0)[0], 2),
        "rings": lambda: (make_rings(random_state=0)[0], 3),
        "digits": lambda: (load_digits().data[:900], 10),
    }[data]()
    setting = AFCM(c, kernel=kernel, n_views=0, random_state=0)  # votes of views change by steps
    host, tensor = clone(setting).fit(X), clone(setting).fit(torch.as_tensor(X))
    assert agree(tensor.labels_, host.labels_) >= 0.999
    assert tensor.objective_ == pytest.approx(host.objective_, rel=1e-5)
    assert tensor.normalized_cut_ == pytest.approx(host.normalized_cut_, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(tensor.calibrated_memberships(), host.calibrated_memberships(), atol=1e-4)


def test_the_search_for_eigenvectors_runs_on_tensors():
    X, _ = make_blobs(7000, 10, centers=6, cluster_std=4.0, random_state=0)  # too large for a dense solve
    host, tensor = (AFCM(6, kernel="local", n_neighbors=8, random_state=0).fit(x) for x in (X, torch.as_tensor(X)))
    assert agree(tensor.labels_, host.labels_) >= 0.999
    assert tensor.objective_ == pytest.approx(host.objective_, rel=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_weights_and_duplicates(model):
    X, weights = np.repeat(blobs(n=150), 2, axis=0), np.tile([1.0, 2.0], 150)
    host = made(model).fit(X, sample_weight=weights)
    tensor = made(model).fit(torch.as_tensor(X), sample_weight=torch.as_tensor(weights))
    assert agree(tensor.labels_, host.labels_) >= 0.999
    assert tensor.objective_ == pytest.approx(host.objective_, rel=1e-6)


def test_samples_of_weight_zero_are_predicted():
    X, weights = blobs(), np.ones(600)
    weights[:20] = 0
    host, tensor = (AFCM(4, random_state=0).fit(x, sample_weight=weights) for x in (X, torch.as_tensor(X)))
    np.testing.assert_allclose(tensor.embedding_, host.embedding_ * signs(tensor, host), atol=1e-5)


def signs(tensor, host):
    """Eigenvectors have no sign of their own."""
    return np.sign(np.sum(np.asarray(tensor.embedding_) * host.embedding_, axis=0))


@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_other_starts(init):
    X = blobs()
    host, tensor = (AFCM(4, init=init, random_state=0).fit(x) for x in (X, torch.as_tensor(X)))
    assert agree(tensor.labels_, host.labels_) >= 0.999


@pytest.mark.filterwarnings("ignore::afcm.exceptions.NotConvergedWarning")
def test_a_second_fit_goes_on_from_the_first():
    X, setting = torch.as_tensor(blobs()), {"init": "random", "tol": 0.0, "graph_weight": 1e5}
    long = made(AFCM, max_iter=7, **setting).fit(X)
    model = made(AFCM, max_iter=3, warm_start=True, **setting).fit(X)
    model.set_params(max_iter=4).fit(X)
    np.testing.assert_allclose(model.history_["objective"], long.history_["objective"][3:], rtol=1e-10)
    long = align(long, model).model  # clusters are numbered by size, and a further fit keeps the numbers of the first
    np.testing.assert_allclose(model.memberships_, long.memberships_, atol=1e-8)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.NotConvergedWarning")
def test_given_starts():
    X = blobs()
    for init in (X[:4], np.full((600, 4), 0.25) + 0.01 * np.eye(4)[np.arange(600) % 4] - 0.0025):
        for model in (AFCM, PlainAFCM):
            host = model(4, init=init, max_iter=3, tol=1e-2).fit(X)
            tensor = model(4, init=torch.as_tensor(init), max_iter=3, tol=1e-2).fit(torch.as_tensor(X))
            np.testing.assert_allclose(tensor.memberships_, host.memberships_, atol=1e-5)


def test_clusters_are_counted():
    X = make_moons(500, noise=0.05, random_state=0)[0]
    assert AFCM("auto", random_state=0).fit(torch.as_tensor(X)).n_clusters_ == 2


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.zeros(5), "X has 1 dimensions"),
        (torch.zeros(0, 3), "at least 1 sample"),
        (torch.tensor([[1.0, float("nan")], [0.0, 1.0]]), "X contains NaN"),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_bad_tensors_are_told_so(model, X, message):
    with pytest.raises(ValueError, match=message):
        model(2).fit(X)


def test_the_wrong_number_of_features_and_unknown_devices():
    model = PlainAFCM(4, random_state=0).fit(blobs())
    with pytest.raises(ValueError, match="X has 3 features, but PlainAFCM is expecting 8"):
        model.predict(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="device='nowhere' cannot be used"):
        PlainAFCM(4, device="nowhere").fit(blobs())
    with pytest.raises(ValueError, match="X is sparse; device='cpu' needs dense X"):
        AFCM(4, device="cpu").fit(sp.csr_array(blobs()))
    with pytest.raises(ValueError, match="affinity='precomputed' needs NumPy or SciPy"):
        AFCM(4, affinity="precomputed").fit(torch.eye(10))


@pytest.mark.parametrize("d", [2, 20])
def test_neighbours(d):
    X = blobs(np.float32, d=d)
    for queries in (None, X[:30] + 0.1):
        ours = find_neighbors(torch.as_tensor(X), 7, None if queries is None else torch.as_tensor(queries))
        theirs = find_neighbors(X, 7, queries)
        np.testing.assert_array_equal(ours.indices, theirs.indices)
        np.testing.assert_allclose(ours.squared, theirs.squared, rtol=1e-12)


def test_sparse_tensors_do_what_scipy_does():
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.06), 1)
    dense += dense.T
    reference = torch.zeros(1, dtype=torch.float64)
    matrix, tensor = sp.csr_array(dense), arrays.to_device_of(sp.csr_array(dense), reference)
    block = rng.standard_normal((30, 4))
    np.testing.assert_allclose(tensor @ torch.as_tensor(block), matrix @ block)
    np.testing.assert_allclose(tensor.toarray(), dense)
    host, device = normalize_graph(matrix), normalize_graph(tensor)
    np.testing.assert_allclose(device.affinity.toarray(), host.affinity.toarray())
    assert device.components[0] == host.components[0]
    np.testing.assert_array_equal(device.components[1], host.components[1])


def random_edges(n, n_edges, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(n, size=(2, n_edges)), rng.random(n_edges)


def test_entries_at_the_same_place_are_added():
    ends, data = random_edges(12, 200)
    tensor = SparseTensor.from_edges(*torch.as_tensor(ends), torch.as_tensor(data), (12, 12))
    np.testing.assert_allclose(tensor.toarray(), sp.coo_array((data, tuple(ends)), shape=(12, 12)).toarray())
    none = SparseTensor.from_edges(*torch.zeros((2, 0), dtype=torch.int64), torch.zeros(0), (3, 3))
    assert none.nnz == 0
    assert none.indptr.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("n_edges", [0, 50, 150, 260, 2000])
def test_components_are_those_of_scipy(n_edges):
    """From no edges over many pieces to one."""
    ends, data = random_edges(300, n_edges)
    matrix = sp.csr_array(sp.coo_array((data, tuple(ends)), shape=(300, 300)))
    host = normalize_graph(sp.csr_array(matrix + matrix.T))
    device = normalize_graph(arrays.to_device_of(sp.csr_array(matrix + matrix.T), torch.zeros(1)))
    assert device.components[0] == host.components[0]
    np.testing.assert_array_equal(device.components[1], host.components[1])


def test_edges_are_multiplied_as_on_the_host_and_the_diagonal_goes():
    ends, data = random_edges(20, 80)
    matrix = sp.csr_array(sp.coo_array((data, tuple(ends)), shape=(20, 20)))
    matrix = sp.csr_array(matrix + matrix.T)
    tensor = arrays.to_device_of(matrix, torch.zeros(1))
    host, device = (arrays.backend_of(x).multiply_edges(x, lambda i, j: 1.0 / (1 + i + j)) for x in (matrix, tensor))
    np.testing.assert_allclose(device.toarray(), host.toarray())
    assert (host.toarray().diagonal() == 0).all()
    assert (host.toarray() != matrix.toarray()).any()


def test_draws_of_tensors_on_the_host_are_those_of_arrays():
    for dtype in ("float32", "float64"):
        host, tensor = (arrays.backend_of(x).draw_normal((7, 3), 5, x, dtype) for x in (np.ones(1), torch.ones(1)))
        np.testing.assert_array_equal(tensor, host)
        assert str(host.dtype) == dtype
    signs = arrays.backend_of(torch.ones(1)).draw_signs((50, 2), 0, torch.ones(1))
    np.testing.assert_array_equal(signs, arrays.backend_of(np.ones(1)).draw_signs((50, 2), 0, None))
    assert set(signs.unique().tolist()) == {-1.0, 1.0}


@pytest.mark.parametrize("whole", [False, True], ids=["numbers", "ties"])
def test_surroundings_are_those_of_the_host(whole, monkeypatch):
    rng = np.random.default_rng(0)
    points = rng.integers(0, 17, (900, 9)).astype(float) if whole else rng.standard_normal((900, 9))
    values = rng.standard_normal(900)
    monkeypatch.setattr(torch_neighbors, "ENTRIES", 900 * 100)
    for n_clusters in (2, 20):
        host = density.average_surroundings(points, values, n_clusters)
        tensor = density.average_surroundings(torch.as_tensor(points), torch.as_tensor(values), n_clusters)
        np.testing.assert_allclose(tensor, host, rtol=1e-10, atol=1e-12)


def test_default_fits_of_many_tensors_have_the_labels_of_the_host():
    X, _ = make_blobs(8000, 10, centers=12, cluster_std=3.5, random_state=0)  # enough to filter eigenvectors
    host, tensor = (AFCM(12, random_state=0).fit(x) for x in (X, torch.as_tensor(X)))
    assert adjusted_rand(host.labels_, tensor.labels_) >= 0.99
    assert tensor.membership_method_ == host.membership_method_
    assert tensor.objective_ == pytest.approx(host.objective_, rel=1e-3)


@pytest.mark.parametrize(
    "array", [np.array(2.5), np.float32(1.5), np.ones(0), np.arange(6.0), np.arange(12).reshape(3, 4)[::-1, ::2].T]
)
def test_arrays_on_the_device_keep_their_shape_and_values(array):
    tensor = arrays.from_host(array, torch.zeros(1))
    assert tuple(tensor.shape) == array.shape
    assert str(tensor.dtype) == f"torch.{array.dtype}"
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_k_means_on_tensors_finds_the_clusters():
    X, y = make_blobs(3000, 4, centers=5, cluster_std=0.5, random_state=3)
    labels = starts.k_means(torch.as_tensor(X), 5, None, np.random.RandomState(0))
    assert len({(a, b) for a, b in zip(labels.tolist(), y, strict=True)}) == 5


@pytest.mark.parametrize("weights", [None, np.arange(600) % 3 + 1.0])
def test_large_fits_start_from_k_means_on_tensors(monkeypatch, weights):
    X = make_blobs(600, 8, centers=4, random_state=0)[0]
    calls, k_means = [], torch_k_means.k_means
    monkeypatch.setattr(torch_k_means, "HOST_KMEANS", 0)
    monkeypatch.setattr(torch_k_means, "k_means", lambda *a: calls.append(a) or k_means(*a))
    tensor = AFCM(4, kernel="local", n_neighbors=200, random_state=0).fit(torch.as_tensor(X), sample_weight=weights)
    host = AFCM(4, kernel="local", n_neighbors=200, random_state=0).fit(X, sample_weight=weights)
    assert calls
    assert adjusted_rand(host.labels_, tensor.labels_) == 1
    assert tensor.objective_ == pytest.approx(host.objective_, rel=1e-6)


def test_models_of_tensors_are_not_saved_and_those_of_arrays_on_a_device_are(tmp_path):
    from afcm import PlainAFCM, load_model, save_model

    X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    with pytest.raises(ValueError, match="cannot hold a tensor; fit NumPy arrays instead, with device="):
        save_model(PlainAFCM(2, random_state=0).fit(torch.as_tensor(X)), tmp_path / "m.afcm")
    model = PlainAFCM(2, random_state=0, device="cpu").fit(X)
    loaded = load_model(save_model(model, tmp_path / "m.afcm"))
    assert np.array_equal(loaded.predict(X), model.labels_)
