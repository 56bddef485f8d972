"""Modules whose library is not installed are not looked through for examples."""

from importlib.util import find_spec

NEEDS = {
    "torch": "src/afcm/backends/tensor*.py",
    "triton": "src/afcm/backends/cuda_*.py",
    "dask": "src/afcm/distributed/*.py",
    "numba": "src/afcm/backends/compiled.py",
}
collect_ignore_glob = [files for library, files in NEEDS.items() if find_spec(library) is None]
