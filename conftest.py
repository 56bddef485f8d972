"""Modules whose library is not installed are not looked through for examples."""

from importlib.util import find_spec

NEEDS = {
    "torch": ("src/afcm/arrays/torch_*.py", "src/afcm/compiled/torch_*.py", "src/afcm/fitting/torch_*.py"),
    "triton": ("src/afcm/compiled/cuda_*.py",),
    "dask": ("src/afcm/arrays/dask_*.py",),
    "numba": ("src/afcm/compiled/centers.py",),
}
collect_ignore_glob = [glob for library, globs in NEEDS.items() if find_spec(library) is None for glob in globs]
collect_ignore_glob += ["src/afcm/neighbors/torch.py"] if find_spec("torch") is None else []
