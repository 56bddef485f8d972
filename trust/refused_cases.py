"""Cases without a right answer: missing values, no tables, impossible parameters, weights and new samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from trust.cases import Case, blobs, truth
from trust.data_cases import ENOUGH, SCALE
from trust.layout_cases import make_frame

MISSING = r"\bnan\b|missing|infinit|\binf\b|finite|mask"
TABLE = "dimension|1d|2d|3d|shape|sample|feature|column|row|array|convert|numeric|inhomogeneous|none"
KIND = "string|text|complex|date|time|numeric|number|convert|dtype|object|categor"


def cases() -> Iterator[Case]:
    yield from missing()
    yield from no_numbers()
    yield from no_table()
    yield from parameters()
    yield from starts()
    yield from weights()
    yield from new_samples()


def spoil_blobs(value: Any, where: Any = (3, 1), dtype: Any = np.float64) -> Any:
    """Blobs with something among them that is not a number."""
    X = blobs().astype(dtype)
    X[where] = value
    return X


def make_nullable() -> Any:
    """Pandas frame of nullable floats with one missing."""
    import pandas

    return make_frame(lambda table: table.astype("Float64").mask(table == table.iloc[3, 1], pandas.NA))


def missing() -> Iterator[Case]:
    makers: dict[str, Callable[[], Any]] = {
        "one NaN": partial(spoil_blobs, np.nan),
        "one infinity": partial(spoil_blobs, np.inf),
        "one −infinity": partial(spoil_blobs, -np.inf),
        "a row of NaN": partial(spoil_blobs, np.nan, 3),
        "a column of NaN": partial(spoil_blobs, np.nan, (slice(None), 1)),
        "nothing but NaN": partial(np.full, (90, 3), np.nan),
        "NaN in float32": partial(spoil_blobs, np.nan, dtype=np.float32),
        "None among numbers": partial(spoil_blobs, None, dtype=object),
        "masked array, one value masked": lambda: np.ma.masked_array(blobs(), blobs() == blobs()[3, 1]),
        "pandas with NaN": lambda: make_frame(lambda table: table.mask(table == table.iloc[3, 1])),
        "pandas with NA": make_nullable,
        "NaN in a sparse matrix": lambda: sp.csr_matrix(spoil_blobs(np.nan)),
    }
    for name, make in makers.items():
        yield Case(name, "missing", make, MISSING + "|sparse|instance of ndarray", refuse=True)


def no_numbers() -> Iterator[Case]:
    makers: dict[str, Callable[[], Any]] = {
        "words": lambda: np.array([["a", "b", "c"]] * 30),
        "a word among numbers": partial(spoil_blobs, "x", dtype=object),
        "complex numbers": lambda: blobs() * (1 + 1j),
        "dates": lambda: (1e9 * blobs()).astype("datetime64[s]"),
        "time spans": lambda: (1e9 * blobs()).astype("timedelta64[s]"),
        "records": lambda: np.array([tuple(row) for row in blobs()], dtype="f8,f8,f8"),
        "pandas with a column of words": lambda: make_frame(lambda table: table.assign(d="red")),
        "pandas with a column of dates": lambda: make_frame(lambda table: table.assign(d=np.datetime64("2024-05-01"))),
        "pandas with categories": lambda: make_frame(lambda table: table.assign(d="red").astype({"d": "category"})),
    }
    for name, make in makers.items():
        yield Case(name, "not numbers", make, f"{KIND}|{TABLE}", refuse=True)


def no_table() -> Iterator[Case]:
    makers: dict[str, Callable[[], Any]] = {
        "1-D": lambda: blobs()[:, 0],
        "3-D": lambda: blobs().reshape(30, 3, 3),
        "a scalar": lambda: np.float64(3.0),
        "no samples": lambda: np.empty((0, 3)),
        "no features": lambda: np.empty((60, 0)),
        "None": lambda: None,
        "a string": lambda: "X.csv",
        "rows of different lengths": lambda: [[1.0, 2.0], [3.0], [4.0, 5.0], [6.0]],
        "a dict": lambda: {"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, 3.0, 4.0]},
    }
    for name, make in makers.items():
        yield Case(name, "not a table", make, TABLE, refuse=True)


def parameters() -> Iterator[Case]:
    """Numbers of clusters and settings that cannot be."""
    kind = "parameters"
    for value in (0, -1, 2.5, None, np.nan, True):
        yield Case(f"n_clusters={value!r}", kind, blobs, r"cluster|\bc\b|\bk\b", n_clusters=value, refuse=True)
    yield Case("n_clusters='3'", kind, blobs, r"cluster|\bc\b|\bk\b", n_clusters="3", expected=truth())
    yield Case("n_clusters=numpy.int64(3)", kind, blobs, "cluster", n_clusters=np.int64(3), expected=truth())
    for name, values in {"max_iter": (0, -1, 2.5), "tol": (-1.0, np.nan), "random_state": (-1, "seed")}.items():
        for value in values:
            yield Case(
                f"{name}={value!r}",
                kind,
                blobs,
                "iter|tol|error|seed|state",
                options={name: value},
                only=name,
                refuse=True,
            )
    for value in (1.0, 0.5, -2.0, np.nan, np.inf):
        yield Case(f"m={value!r}", kind, blobs, r"\bm\b|fuzz|expon", options={"m": value}, only="m", refuse=True)
    for value in (1.01, 1.0001):
        yield Case(f"m={value!r}", kind, blobs, r"\bm\b", options={"m": value}, only="m", expected=truth())
    yield Case("m=1000.0", kind, blobs, r"\bm\b|fuzz", options={"m": 1000.0}, only="m")


def starts() -> Iterator[Case]:
    good = np.eye(3)[truth()]
    yield Case("init: memberships", "starts", blobs, "init", options={"init": good}, only="init", expected=truth())
    spoiled = {
        "words": np.where(good > 0, "one", "none"),
        "complex numbers": good + 0.5j,
        "rows of different lengths": [*good[:-1].tolist(), [1.0, 0.0]],
        "a NaN": np.where(good.cumsum(axis=0) == 7, np.nan, good),
        "a negative number": good - 0.1 * np.roll(good, 1, axis=1) + 0.1 * np.roll(good, 2, axis=1),
        "rows that sum to 2": 2 * good,
        "too few rows": good[1:],
        "too many clusters": np.eye(4)[truth()],
        "no array at all": {"a": 1},
    }
    words = r"init|shape|sum|negative|nan|number|length"
    for name, value in spoiled.items():
        yield Case(f"init: {name}", "starts", blobs, words, options={"init": value}, only="init", refuse=True)


def weights() -> Iterator[Case]:
    """Weights of samples that cannot be."""
    one = np.ones(90)
    makers: dict[str, Any] = {
        "negative weights": -one,
        "a NaN weight": np.where(np.arange(90) == 3, np.nan, 1.0),
        "an infinite weight": np.where(np.arange(90) == 3, np.inf, 1.0),
        "no weight at all": 0 * one,
        "one sample with weight, c = 3": np.eye(1, 90)[0],
        "too few weights": one[:7],
        "weights as a table": np.ones((90, 2)),
        "words as weights": np.array(["heavy"] * 90),
        "weights of 1e200": 1e200 * one,
        "weights of 1e20": 1e20 * one,
        "weights of 1e-14": 1e-14 * one,
        "weights of 1e-320": 1e-320 * one,
        "weights from 1e-150 to 1e150": 10.0 ** np.linspace(-150, 150, 90),
    }
    for name, value in makers.items():
        options = {"sample_weight": value}
        known = truth() if name.startswith("weights of ") else None
        refuse = not name.startswith("weights ") or name == "weights as a table"
        names = f"weight|{ENOUGH}"
        yield Case(name, "weights", blobs, names, options=options, only="sample_weight", expected=known, refuse=refuse)


def new_samples() -> Iterator[Case]:
    """Samples to predict after a good fit."""
    bad: dict[str, tuple[Callable[[], Any], str]] = {
        "predict: NaN": (partial(spoil_blobs, np.nan), MISSING),
        "predict: another number of features": (lambda: blobs()[:, :2], "feature|column|shape|dimension"),
        "predict: 1-D": (lambda: blobs()[0], TABLE),
        "predict: no samples": (lambda: np.empty((0, 3)), TABLE),
        "predict: words": (lambda: np.array([["a", "b", "c"]]), KIND),
    }
    for name, (make, names) in bad.items():
        yield Case(name, "new samples", blobs, names, new=make, refuse=True)
    for power in (8, 150, 200, 300):
        far = partial(np.full, (2, 3), 10.0**power)
        yield Case(f"predict: samples at 1e{power}", "new samples", blobs, SCALE, new=far)
    yield Case("predict: the centres of the blobs", "new samples", blobs, "nothing", new=lambda: 10 * np.eye(3))
