"""The paper's toy sets, and loaders for its ten real data sets.

No data travels with the package. Iris comes with scikit-learn, Breast and Vehicle can be downloaded, and the
others are read from a folder of yours; `list_datasets` says where each one comes from.
"""

from afcm.datasets.loaders import load_dataset
from afcm.datasets.records import Dataset, DatasetCorrupt, DatasetInfo, DatasetNotFound
from afcm.datasets.registry import dataset_info, list_datasets
from afcm.datasets.toys import make_rings, make_spirals

__all__ = [
    "Dataset",
    "DatasetCorrupt",
    "DatasetInfo",
    "DatasetNotFound",
    "dataset_info",
    "list_datasets",
    "load_dataset",
    "make_rings",
    "make_spirals",
]
