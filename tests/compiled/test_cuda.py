"""Kernels against the plain array functions, and fits against the host, on a CUDA device."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_moons

from afcm import AFCM, FCM, EntropyFCM, PlainAFCM
from afcm._util.optional import is_usable
from afcm.equations import fuzzy_c_means, paper
from afcm.graph import sharpening
from afcm.metrics import adjusted_rand, clustering_accuracy
from afcm.neighbors import find_neighbors

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)
pytest.importorskip("triton", reason="Triton is not installed")
from afcm.arrays.torch_arrays import SparseTensor, symmetrize  # noqa: E402
from afcm.compiled import cuda_centers, cuda_neighbors, torch_neighbors  # noqa: E402
from afcm.linalg.torch_products import DeviceSparse  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")


def blobs(n, d, c, spread=3.0):
    X, _ = make_blobs(n, d, centers=c, cluster_std=spread, random_state=0)
    return torch.as_tensor(X.astype(np.float32), device="cuda")


@pytest.mark.parametrize(
    ("n", "d", "k"), [(20_000, 20, 11), (9000, 150, 5), (30_000, 2, 10), (4100, 784, 12), (5000, 64, 60)]
)
def test_fused_neighbours_are_exact(n, d, k):
    X = blobs(n, d, 5)
    for queries in (None, X[:777] + 0.1):
        indices, squared = cuda_neighbors.search_fused(X, k, queries)
        expected, distances = torch_neighbors.search_blocked(X, k, queries)
        assert (indices == expected).double().mean() > 0.9999
        torch.testing.assert_close(squared, distances, rtol=1e-4, atol=0)


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("d", [20, 128, 200])
def test_candidates_are_proven(precise, d):
    X = blobs(20_000, d, 5)
    table, own = cuda_neighbors.Table.of(X, 11), torch.arange(20_000, device="cuda")
    indices, _, doubtful = cuda_neighbors._search(table, X, own, 11, precise=precise)
    expected, _ = torch_neighbors.search_blocked(X, 11)
    assert doubtful.numel() < 2000
    proven = torch.ones(20_000, dtype=torch.bool, device="cuda")
    proven[doubtful] = False
    assert (indices == expected)[proven].double().mean() > 0.9999


def test_an_outlier_far_away_spoils_nothing():
    X = blobs(6000, 16, 4)
    X[0] = 1e6
    indices, _ = cuda_neighbors.search_fused(X, 5)
    expected, _ = torch_neighbors.search_blocked(X, 5)
    assert (indices == expected)[1:].double().mean() > 0.999


@pytest.mark.parametrize(("n", "d", "c"), [(1000, 20, 10), (100_003, 64, 100), (5000, 3, 3), (30_000, 128, 128)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fuzzy", [False, True])
def test_a_fused_look_is_the_expectation(n, d, c, weighted, fuzzy):
    X = blobs(n, d, c)
    masses = 5 * torch.rand(n, device="cuda") * (torch.arange(n, device="cuda") % 2) if weighted else None
    centers, before, gamma = X[:c] + 0.1, X[c : 2 * c] + 0.1, 1.0 / d

    def true(where, precision, weights=None):
        samples, places = X.double(), where.double()
        if fuzzy:
            return fuzzy_c_means.fuzzy_expectation(samples, places, 2.0, weights)
        return paper.expectation(samples, places, precision, weights)

    degrees, expected = true(centers, gamma, None if masses is None else masses.double())
    old, _ = true(before, gamma / 2)
    found, change = cuda_centers.TritonPass(X, masses, fuzzy)(centers, gamma, (before, gamma / 2))
    # Shares are rounded to half precision: centres made by a single sample would show it, sums over many do not.
    for ours, theirs, most in zip(found, expected, (5e-4, 5e-4, 1e-5, 1e-5), strict=True):
        wanted = torch.as_tensor(theirs, device="cuda").double()
        difference = torch.as_tensor(ours, device="cuda").double() - wanted
        assert difference.abs().max() < most * wanted.abs().max()
    present = (degrees - old)[1::2] if weighted else degrees - old
    step = max(1, len(present) // cuda_centers.WATCHED)
    assert change == pytest.approx(float(present[::step].abs().max()), abs=1e-4)


DATA = {
    "moons": (make_moons(2000, noise=0.07, random_state=0)[0], 2),
    "digits": (load_digits().data, 10),
    "blobs": (make_blobs(20_000, 16, centers=6, cluster_std=4.0, random_state=0)[0], 6),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("model", [PlainAFCM, FCM, EntropyFCM, AFCM])
def test_the_device_agrees_with_the_host(model, name, dtype):
    X, c = DATA[name]
    X = X.astype(dtype)
    how = {FCM: {"m": 1.2}, AFCM: {"neighbor_search": "exact"}}.get(model, {})  # the device searches exactly
    host, device = (model(c, n_init=1, random_state=0, device=place, **how).fit(X) for place in (None, "cuda"))
    assert isinstance(device.labels_, np.ndarray)
    assert clustering_accuracy(host.labels_, device.labels_) >= 0.999
    # Sharpened weights follow rough eigenvectors, which differ in the last digits of float32 or by the way of the host.
    close = 5e-5 if is_usable("numba", "fast") else 1e-3
    assert device.objective_ == pytest.approx(host.objective_, rel=close)


@pytest.mark.parametrize("kernel", ["sharpened", "adaptive", "local", "binary"])
def test_kernels_agree_with_the_host_and_tensors_stay(kernel):
    X, c = DATA["blobs"]
    host = AFCM(c, kernel=kernel, neighbor_search="exact", random_state=0).fit(X)
    device = AFCM(c, kernel=kernel, random_state=0).fit(torch.as_tensor(X, device="cuda"))
    for name in ("memberships_", "labels_", "cluster_centers_", "embedding_"):
        assert getattr(device, name).is_cuda, name
    assert clustering_accuracy(host.labels_, device.labels_.cpu()) >= 0.999
    new = torch.as_tensor(X[:100] + 0.01, device="cuda")
    assert device.predict_proba(new).is_cuda
    assert (device.predict(new).cpu().numpy() == device.predict(X[:100] + 0.01)).all()
    assert find_neighbors(new, 3).indices.is_cuda


def sparse(n=3000, k=9, dtype=torch.float64):
    """A symmetric matrix with rows of different lengths, an empty one among them."""
    random = torch.Generator(device="cuda").manual_seed(0)
    ends = torch.randint(n - 1, (2, n * k), generator=random, device="cuda")
    data = torch.rand(n * k, generator=random, device="cuda", dtype=dtype)
    return symmetrize(SparseTensor.from_edges(*ends, data, (n, n)))


@pytest.mark.parametrize("width", [1, 4, 16, 37, 128, 300])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.float64, 1e-13)])
def test_fused_products_are_those_of_the_dense_matrix(width, dtype, close):
    matrix = DeviceSparse.from_tensor(sparse(), dtype)
    dense = torch.as_tensor(matrix.toarray(), device="cuda").double()
    block, before = (torch.randn((3000, width), device="cuda", dtype=dtype) for _ in range(2))
    result = torch.full_like(block, float("nan"))
    torch.testing.assert_close((matrix @ block).double(), dense @ block.double(), rtol=close, atol=close)
    matrix.recur(block, before, (0.7, -0.2, 1.5), result)
    expected = 0.7 * (dense @ block.double()) - 0.2 * block.double() + 1.5 * before.double()
    torch.testing.assert_close(result.double(), expected, rtol=close, atol=10 * close)


@pytest.mark.parametrize(("width", "fewest"), [(2, 1), (20, 10), (100, 50), (130, 130)])
def test_fused_cosines_are_those_of_the_formula(width, fewest):
    vectors = torch.randn((3000, width + 5), device="cuda")[:, :width]
    vectors[7] = 0.0
    matrix = sparse()
    found = sharpening.coherence(vectors, (matrix.rows, matrix.indices), fewest)
    ends = vectors[matrix.rows].double(), vectors[matrix.indices].double()
    torch.testing.assert_close(found.double(), sharpening._coherence(*ends, fewest), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("n", "d", "c", "spread"), [(100_000, 16, 10, 4.0), (60_000, 8, 40, 1.5)])
def test_large_default_fits_have_the_labels_of_the_host(n, d, c, spread):
    """Large enough for random blocks that are drawn on the device."""
    X, _ = make_blobs(n, d, centers=c, cluster_std=spread, random_state=0)
    host = AFCM(c, neighbor_search="exact", random_state=0).fit(X)
    device = AFCM(c, random_state=0).fit(torch.as_tensor(X, device="cuda"))
    assert adjusted_rand(host.labels_, device.labels_.cpu().numpy()) >= 0.99
    assert device.membership_method_ == host.membership_method_
    # Labels agree, and the sharpened weights that the cut adds up follow rough eigenvectors: on the host, too, it
    # differs by so much between float32 and float64.
    assert device.normalized_cut_ == pytest.approx(host.normalized_cut_, rel=0.25)
    memberships = device.memberships_.cpu().numpy()
    order = (memberships.T @ host.memberships_).argmax(axis=0)  # numbers by size: of equal clusters chance decides
    assert np.abs(memberships[:, order] - host.memberships_).mean() < 1e-2
