"""Tables to read: Iris in every format, and files that are broken in one way each."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_iris

from tests.damage import rezipped

SPECIES = ("setosa", "versicolor", "virginica")
NAMES = ("sepal length", "sepal width", "petal length", "petal width")


def iris() -> pa.Table:
    data = load_iris()
    columns = {"id": np.arange(1, 151)} | dict(zip(NAMES, data.data.T.copy(), strict=True))
    return pa.table(columns | {"species": [SPECIES[i] for i in data.target]})


def csv_bytes(delimiter: str = ",") -> bytes:
    table = iris()
    lines = [delimiter.join(table.column_names)]
    lines += [delimiter.join(str(value) for value in row.values()) for row in table.to_pylist()]
    return ("\n".join(lines) + "\n").encode()


def parquet_bytes() -> bytes:
    stream = io.BytesIO()
    pq.write_table(iris(), stream)
    return stream.getvalue()


def npy_bytes(array, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def npz_bytes(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


MANY = b"".join(b"%d,%d\n" % (i, i * i) for i in range(50))

# file name → content, what the one line of error must hold
BROKEN: dict[str, tuple[bytes, list[str]]] = {
    "empty.csv": (b"", ["empty.csv is empty"]),
    "blank.csv": (b"\n\n", ["blank.csv is empty"]),
    "header.csv": (b"a,b\n", ["no rows", "a, b"]),
    "short-row.csv": (b"a,b\n1,2\n3,4\n5\n6,7\n", ["row 3 has 1 fields", "header has 2", "'5'"]),
    "long-row.csv": (b"a,b\n1,2\n3,4,9\n", ["row 2 has 3 fields"]),
    "mixed.csv": (b"a,b\n" + MANY + b"7,oops\n", ["column 'b'", "row 51", "'oops'", "--drop b"]),
    "latin-1.csv": ("a,b,c\n1,2,ö\n3,4,ü\n".encode("latin-1"), ["not utf-8", "column 3 ('c')", "--encoding"]),
    "latin-1-header.csv": ("a,ö\n1,2\n3,4\n".encode("latin-1"), ["not utf-8", "names", "--encoding"]),
    "latin-1-decimals.csv": ("a,ö\n1.5,2.5\n3,4\n".encode("latin-1"), ["not utf-8", "0xf6", "--encoding"]),
    "utf-16.csv": (csv_bytes().decode().encode("utf-16"), ["UTF-16", "--encoding utf-16"]),
    "twice.csv": (b"a,b,a\n1,2,3\n4,5,6\n", ["'a'", "columns 1, 3"]),
    "huge.csv": (b"a,b\n1,2\n1e308,4\n3,5\n", ["column 'a'", "1e+308", "row 2", "--drop a"]),
    "infinite.csv": (b"a,b\n1,2\n3,4\n-inf,5\n", ["column 'a'", "-inf", "row 3"]),
    "constant.csv": (b"a,b\n1,2\n1,4\n1,5\n", ["column 'a'", "one value", "--drop a"]),
    "missing.csv": (b"a,b\n1,2\n,4\n5,6\n", ["column 'a'", "row 2", "--missing"]),
    "semicolons.csv": (csv_bytes(";"), ["';'", "--delimiter ';'"]),
    "no-header.csv": (b"1,2\n3,4\n5,6\n", ["begins with numbers", "--no-header"]),
    "words.csv": (b"a,b\nx,y\nz,w\n", ["no column of numbers", "a (text)"]),
    "really.parquet.csv": (parquet_bytes(), ["Parquet", "--format parquet"]),
    "truncated.parquet": (parquet_bytes()[:-200], ["truncated.parquet", "parquet"]),
    "not.parquet": (b"PAR1 no", ["not.parquet", "parquet"]),
    "pickle.npy": (pickle.dumps({"a": 1}), ["Python objects"]),
    "objects.npy": (npy_bytes(np.array([{}, 1], dtype=object), allow_pickle=True), ["Python objects"]),
    "truncated.npy": (npy_bytes(np.ones((9, 2)))[:-10], ["truncated.npy", "npy"]),
    "vector.npy": (npy_bytes(np.ones(9)), ["shape (9,)", "row per sample"]),
    "text.npy": (npy_bytes(np.array([["a", "b"]])), ["type <U1"]),
    "names.npz": (npz_bytes(A=np.ones((3, 2)), B=np.ones(3)), ["A, B", "call the samples X"]),
    "bomb.npz": (npz_bytes(X=np.zeros((4_000_000, 2))), ["would grow"]),
    "objects.npz": (rezipped({"X.npy": npy_bytes(np.array([[{}]]), allow_pickle=True)}), ["type object"]),
    "text.npz": (npz_bytes(X=np.array([["a", "b"]])), ["type <U1", "row per sample"]),
    "fields.npz": (npz_bytes(X=np.zeros((2, 2), dtype=[("a", "<f8")])), ["X.npy", "no array of plain numbers"]),
    "vector.npz": (npz_bytes(X=np.ones(9)), ["shape (9,)", "row per sample"]),
    "cut.npz": (rezipped({"X.npy": npy_bytes(np.ones((9, 2)))[:-10]}), ["cut.npz", "declares another size for X.npy"]),
    "bzip2.npz": (rezipped({"X.npy": npy_bytes(np.ones((9, 2)))}, zipfile.ZIP_BZIP2), ["packed by method 12"]),
    "twice.npz": (rezipped([("X.npy", npy_bytes(np.ones((9, 2))))] * 2), ["2 entries", "some twice"]),
    "junk.npz": (b"PK\x03\x04junk", ["junk.npz", "npz"]),
    "not-an-array.npz": (rezipped({"X": b"plain bytes"}), ["no array"]),
    "archive.npy": (npz_bytes(X=np.ones((3, 2))), ["archive of arrays", ".npz"]),
    "almost.npy": (b"PK\x03\x04" + npy_bytes(np.ones((3, 2)))[4:], ["archive of arrays", ".npz"]),
    "bracket.npy": (b"\x93NUMPY\x01\x00" + bytes([20, 0]) + b"{'descr': ('<f8',   ", ["bracket.npy", "npy"]),
    "thrift.parquet": (b"PAR1" + b"\xff" * 80 + b"\x28\x00\x00\x00PAR1", ["thrift.parquet", "parquet"]),
    "names.parquet": (parquet_bytes().replace(b"species", b"\xff\xfe\xfdcies"), ["names.parquet", "parquet"]),
    "values.parquet": (parquet_bytes().replace(b"setosa", b"\xff\xfe\xfdosa"), ["values.parquet", "parquet"]),
    "damaged.csv.gz": (gzip.compress(csv_bytes())[:-400], ["damaged.csv.gz", "csv"]),
    "bytes.csv": (b"a,b\n1,2\n\xff\xfe3\n4,5\n", ["row 2 has 1 fields"]),
    "table.xyz": (b"a,b\n1,2\n", ["'xyz'", "--format"]),
}
