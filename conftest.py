"""Modules whose library is not installed are not looked through for examples."""

from importlib.util import find_spec

NEEDS = {
    "torch": ("src/afcm/*/torch_*.py", "src/afcm/neighbors/torch.py", "src/afcm/compiled/cuda_*.py"),
    "triton": ("src/afcm/compiled/cuda_*.py",),
    "dask": ("src/afcm/arrays/dask_*.py",),
    "numba": ("src/afcm/compiled/centers.py", "src/afcm/compiled/tiles.py"),
}
collect_ignore_glob = [glob for library, globs in NEEDS.items() if find_spec(library) is None for glob in globs]
