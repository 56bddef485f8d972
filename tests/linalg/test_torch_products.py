"""Products, tall blocks and filtered subspaces of tensors against dense linear algebra (PyTorch's CPU device)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from afcm.arrays import to_device_of, to_host  # noqa: E402
from afcm.arrays.torch_arrays import SparseTensor, whole_products  # noqa: E402
from afcm.graph.affinity import normalize_graph  # noqa: E402
from afcm.linalg import filtered_subspace as fs  # noqa: E402
from afcm.linalg import products, tall, torch_products  # noqa: E402

N = 400


def clusters(n_groups=6):
    """A graph of groups with few edges between them, whose nodes come in any order; one node has no edge."""
    rng = np.random.default_rng(0)
    labels = np.arange(N) % n_groups
    dense = (rng.random((N, N)) < np.where(labels[:, None] == labels, 0.15, 0.01)) * rng.random((N, N))
    dense[3] = dense[:, 3] = 0
    host = normalize_graph(sp.csr_array(np.triu(dense, 1) + np.triu(dense, 1).T)).affinity
    return host.toarray(), SparseTensor.from_scipy(host, "cpu")


def draw(*shape, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_and_the_recurrence_by_their_formulas(dtype):
    dense, graph = clusters()
    matrix, block = torch_products.DeviceSparse.from_tensor(graph, dtype), draw(N, 5, dtype=dtype)
    before, result = draw(N, 6, dtype=dtype)[:, :5].contiguous(), torch.empty_like(block)
    image, close = torch.as_tensor(dense).to(dtype) @ block, 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(matrix @ block, image, rtol=close, atol=close)
    matrix.recur(block, before, (0.7, -0.2, 1.5), result)
    torch.testing.assert_close(result, 0.7 * image - 0.2 * block + 1.5 * before, rtol=close, atol=close)


def test_a_matrix_of_tensors_is_ready_for_products_and_one_on_the_host_has_its_order():
    _, graph = clusters()
    ready = products.parallelize(graph)
    assert isinstance(ready, torch_products.DeviceSparse)
    assert ready.data is graph.data
    assert products.arrange_rows(graph, 4) == (graph, None)
    assert products.arrange_rows(sp.eye_array(3, format="csr"), 4)[1] is None
    assert products.to_single_precision(graph, 3).data.dtype == torch.float32


def test_arranged_rows_are_a_permutation_of_the_matrix():
    dense, graph = clusters()
    arranged, order = torch_products.arrange_rows(graph)
    assert sorted(order.tolist()) == list(range(N))
    np.testing.assert_allclose(arranged.toarray(), dense[order][:, order], rtol=1e-6)


def test_cells_join_rows_that_hang_together(monkeypatch):
    """Two chains whose rows alternate: each cell holds rows of one chain, and neighbors in it."""
    chain = sp.diags_array([np.ones(N - 2), np.ones(N - 2)], offsets=[-2, 2], shape=(N, N), format="csr")
    monkeypatch.setattr(torch_products, "N_CELLS", 10)
    monkeypatch.setattr(torch_products, "CELL_ROUNDS", N)
    cells = torch_products.grow_cells(SparseTensor.from_scipy(chain, "cpu"))
    assert cells.max() < 10
    for cell in range(10):
        assert (torch.diff(torch.nonzero(cells == cell).ravel()) == 2).all()


def test_tall_blocks_of_tensors_are_those_of_arrays():
    left, right = draw(N, 4), draw(N + 1, 3)[1:]
    np.testing.assert_allclose(tall.inner_products(left, right), left.T @ right, rtol=1e-12)
    np.testing.assert_allclose(tall.column_lengths(left), np.linalg.norm(left.numpy(), axis=0), rtol=1e-12)
    single = left.float()
    assert tall.combine_columns(single, np.eye(4)).dtype == torch.float32
    exact = single.double().T @ single.double()
    np.testing.assert_allclose(tall.inner_products(single, single), exact, rtol=1e-12)
    left[:, 3] = left[:, 0] - 2 * left[:, 1]
    found = tall.orthonormalize(left)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found @ (found.T @ left), left, atol=1e-12)


def test_whole_products_give_the_setting_back():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with whole_products():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_leading_eigenvectors_of_tensors():
    dense, graph = clusters()
    start = draw(N, fs.block_width(6))
    pairs = fs.filter_subspace(graph, start, lambda found: found.norms[:6] / 1e-4)
    values, vectors = np.linalg.eigh(dense)
    assert isinstance(pairs.vectors, torch.Tensor)
    np.testing.assert_allclose(pairs.values[:6], values[:-7:-1], atol=1e-6)
    assert np.linalg.svd(vectors[:, -6:].T @ pairs.vectors[:, :6].double().numpy())[1].min() > 1 - 1e-6
    eigen = fs.to_eigenpairs(pairs, graph, 6, converged=True)
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(eigen.graph_image, dense @ eigen.vectors.numpy(), atol=1e-12)
    np.testing.assert_allclose(eigen.values, values[:-7:-1], atol=1e-8)


def test_columns_that_depend_on_each_other_are_drawn_anew():
    dense, graph = clusters()
    same = draw(N, 1).repeat(1, 12)
    pairs = fs.filter_subspace(graph, same, lambda found: found.norms[:6] / 1e-4)
    np.testing.assert_allclose(pairs.values[:6], np.linalg.eigvalsh(dense)[:-7:-1], atol=1e-6)


def test_the_spectrum_is_probed_as_on_the_host():
    pytest.importorskip("numba")
    dense, graph = clusters(20)
    single, host = (products.to_single_precision(matrix, 4) for matrix in (graph, sp.csr_array(dense)))
    for ours, theirs in zip(fs.probe_spectrum(single), fs.probe_spectrum(host), strict=True):
        np.testing.assert_allclose(ours[:, :6], theirs[:, :6], rtol=1e-4)  # later steps magnify rounding
    assert fs.estimate_eigenvalue(single, 40) == pytest.approx(fs.estimate_eigenvalue(host, 40), rel=0.05)


def test_matrices_travel():
    dense, graph = clusters()
    ready = products.parallelize(graph)
    np.testing.assert_array_equal(to_host(ready).toarray(), dense)
    np.testing.assert_array_equal(to_device_of(ready, None).toarray(), dense)
