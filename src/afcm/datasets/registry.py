"""The registry of the paper's ten data sets: source, size, terms, and notes for comparing numbers."""

import difflib
from dataclasses import replace

from afcm.datasets.records import Archive, DatasetInfo

CC_BY = "CC BY 4.0, as listed by UCI"
RESEARCH = "research use only"
PIE = "https://www.ri.cmu.edu/publications/the-cmu-pose-illumination-and-expression-pie-database/"
STAND_IN = (
    "Stand-in: the paper's samples and labels, but 32×32 images that went through JPEG instead of its 64×64. "
    "Do not compare numbers with the paper's as if they were the same data."
)
BREAST = Archive("breast.npz", "acef3f7e17698f083c2af925842139e908e517c36496ea9e3b27144c6924ca78", extras=("missing",))
BREAST_UNKNOWN = "16 values of feature 'bare nuclei' are unknown: 0 here, listed in `missing`."

DATASETS = (
    DatasetInfo(
        name="iris",
        paper_name="Iris",
        shape=(150, 4),
        n_clusters=3,
        source="scikit-learn (sklearn.datasets.load_iris)",
        license=CC_BY,
        notes="UCI's file differs from scikit-learn's in a few cells.",
    ),
    DatasetInfo(
        name="breast",
        paper_name="Breast",
        shape=(699, 9),
        n_clusters=2,
        printed_features=10,
        source="https://archive.ics.uci.edu/dataset/15/breast+cancer+wisconsin+original",
        license=CC_BY,
        notes="Without the patient number, which the paper's 10 dimensions seem to include: see breast-id. "
        "The download (OpenML breast-w) has no such column either. " + BREAST_UNKNOWN,
        aliases=("breast-w", "wisconsin"),
        archive=replace(BREAST, skip_columns=1),
        openml=("breast-w", 1),
    ),
    DatasetInfo(
        name="breast-id",
        paper_name="Breast",
        shape=(699, 10),
        n_clusters=2,
        source="https://archive.ics.uci.edu/dataset/15/breast+cancer+wisconsin+original",
        license=CC_BY,
        notes="With the patient number as column 0, to match the size in the paper's table. " + BREAST_UNKNOWN,
        aliases=("breast10",),
        archive=BREAST,
    ),
    DatasetInfo(
        name="vehicle",
        paper_name="Vehicle",
        shape=(846, 18),
        n_clusters=4,
        source="https://archive.ics.uci.edu/dataset/149/statlog+vehicle+silhouettes",
        license=CC_BY,
        notes="Classes in alphabetical order: bus, opel, saab, van.",
        aliases=("statlog-vehicle",),
        archive=Archive("vehicle.npz", "dd2d0815dcc6477387c5de8c871b7d72a6b5bc4a251fb66272ead887645d49ec"),
        openml=("vehicle", 1),
    ),
    DatasetInfo(
        name="usps",
        paper_name="USPS",
        shape=(1854, 256),
        n_clusters=10,
        source="http://www.cad.zju.edu.cn/home/dengcai/Data/MLData.html",
        license="no licence stated by the source",
        notes='A subset of the usual 9298 digits, printed "UPPS" in the paper\'s table.',
        aliases=("upps",),
        archive=Archive(
            "usps.npz", "3fb514e7c3f23f559ce23363d48729a96113778df6d7d56aab0708b4bd1cf100", extras=("scale",)
        ),
    ),
    DatasetInfo(
        name="jaffe50",
        paper_name="Jaffe50",
        shape=(213, 1024),
        n_clusters=10,
        source="https://zenodo.org/records/3451524 (original images, on request)",
        license="non-commercial research, with citation",
        notes="Which crop of the faces the paper used is unknown.",
        aliases=("jaffe",),
        archive=Archive("jaffe50.npz", "72806813ba99104070ee63868eb39c753911246d2220d67bde9b4e5ec94aa9c1"),
    ),
    DatasetInfo(
        name="warppie10p",
        paper_name="warpPIE10P",
        shape=(210, 2420),
        n_clusters=10,
        source="https://jundongl.github.io/scikit-feature/datasets.html",
        license=RESEARCH,
        aliases=("warppie", "pie10p"),
        archive=Archive("warpPIE10P.npz", "98f818650eba74de6772b3dd29cf2296f22a56b0bedee409a84020710feb9f6b"),
    ),
    DatasetInfo(
        name="olivetti",
        paper_name="Olivetti",
        shape=(900, 2500),
        n_clusters=10,
        source="the authors of the paper, who cite https://archive.ics.uci.edu (not found there)",
        license=RESEARCH,
        notes="10 people × 90 images: not the 40 × 10 of scikit-learn's fetch_olivetti_faces.",
        archive=Archive("olivetti.npz", "3a0abdcca58d9324af6710b289c001be32712223e3549e81cf307d34e401354f"),
    ),
    DatasetInfo(
        name="orl64x64",
        paper_name="ORL64x64",
        shape=(400, 4096),
        n_clusters=40,
        source="http://www.cad.zju.edu.cn/home/dengcai/Data/FaceData.html",
        license=RESEARCH,
        aliases=("orl", "orl64"),
        archive=Archive("orl64x64.npz", "5247903acb977ee60ba8f72f766906ded5077b552e90788f6e57f1bd996e864f"),
    ),
    DatasetInfo(
        name="pose07",
        paper_name="Pose07",
        shape=(1629, 1024),
        n_clusters=68,
        printed_features=4096,
        source=PIE,
        license=RESEARCH,
        notes=STAND_IN,
        aliases=("pose07-32x32", "pie-pose07"),
        archive=Archive("pose07_32x32.npz", "dd4dee6a8f3779e0dab6940618f5d83935df06430ecc024368f0ba680b783492"),
    ),
    DatasetInfo(
        name="pose29",
        paper_name="Pose29",
        shape=(1632, 1024),
        n_clusters=68,
        printed_features=4096,
        source=PIE,
        license=RESEARCH,
        notes=STAND_IN,
        aliases=("pose29-32x32", "pie-pose29"),
        archive=Archive("pose29_32x32.npz", "b7c3024988caaae194a3a46b53439ef0fe06536540151b614e43732a17a7adf0"),
    ),
)


def list_datasets() -> tuple[DatasetInfo, ...]:
    """Return all known data sets, in the order of the paper's table.

    Returns
    -------
    tuple of DatasetInfo
        Name, size, source, terms and notes of each.

    Examples
    --------
    >>> from afcm.datasets import list_datasets
    >>> for info in list_datasets()[:3]:
    ...     print(info.name, info.shape, info.n_clusters)
    iris (150, 4) 3
    breast (699, 9) 2
    breast-id (699, 10) 2
    """
    return DATASETS


def dataset_info(name: str) -> DatasetInfo:
    """Look up a data set by name or alias.

    Parameters
    ----------
    name : str
        Case, blanks, dashes and underscores do not matter.

    Returns
    -------
    DatasetInfo
        Its line in the registry.

    Raises
    ------
    ValueError
        If no data set has that name; the message suggests the closest one.

    Examples
    --------
    >>> from afcm.datasets import dataset_info
    >>> dataset_info("UPPS").name
    'usps'
    """
    known = {_normalize_name(name): info for info in DATASETS for name in (info.name, *info.aliases)}
    key = _normalize_name(name)
    if key in known:
        return known[key]
    close = difflib.get_close_matches(key, known, n=1)
    guess = f"; did you mean {known[close[0]].name!r}?" if close else "."
    raise ValueError(f"name={name!r} is not a known data set{guess} Known: {', '.join(i.name for i in DATASETS)}")


def _normalize_name(name: object) -> str:
    return "".join(str(name).split()).replace("-", "").replace("_", "").casefold()
