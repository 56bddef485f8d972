"""The studies of benchmark sets, overlap, counting and small clusters: what they read, how they judge, their page."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
from studies import benchmarks, counting, overlap, small, suite, suite_page
from studies.benchmarks import Benchmark

from afcm.datasets import make_rings

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]])


def write_text_set(folder, name, X, *labellings):
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{name}.data.gz", "wt") as file:
        np.savetxt(file, X)
    for number, y in enumerate(labellings):
        with gzip.open(folder / f"{name}.labels{number}.gz", "wt") as file:
            np.savetxt(file, y, fmt="%d")


def test_both_formats_and_batteries_are_read(tmp_path):
    write_text_set(tmp_path / "fcps", "square", SQUARE, [1, 1, 2, 2], [1, 2, 3, 0])
    np.savez(tmp_path / "line.npz", X=SQUARE[:, :1], y0=[1, 1, 2, 2])
    np.savez(tmp_path / "other.npz", X=SQUARE, y=[1, 1, 2, 2])  # no benchmark
    square, line = benchmarks.load_benchmarks(tmp_path)
    assert (line.name, line.X.shape, line.counts) == ("line", (4, 1), [2])
    assert (square.name, square.counts) == ("fcps-square", [2, 3])
    np.testing.assert_array_equal(square.X, SQUARE)
    assert [y.tolist() for y in square.labellings] == [[1, 1, 2, 2], [1, 2, 3, 0]]


def test_without_sets_the_message_says_what_to_give(tmp_path):
    for data in (None, tmp_path, tmp_path / "missing"):
        with pytest.raises(SystemExit, match=r"DATA=FOLDER.*NAME\.data\.gz"):
            suite.main(data, tmp_path)


def test_a_folder_of_shapes_within_is_found(tmp_path):
    write_text_set(tmp_path / "shapes", "square", SQUARE, [1, 1, 2, 2])
    assert benchmarks.find_folder(tmp_path) == tmp_path / "shapes"
    assert benchmarks.find_folder(tmp_path / "shapes") == tmp_path / "shapes"


def test_the_best_labelling_counts_and_noise_does_not():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2], [4.0]])
    right, wrong = np.array([1, 1, 1, 2, 2, 2, 0]), np.array([1, 2, 3, 1, 2, 3, 1])
    asked = []

    def halve(X, n_clusters):
        asked.append(n_clusters)
        return (X[:, 0] > 5).astype(int)

    assert benchmarks.score_benchmark(halve, Benchmark("a", X, [wrong, right])) == 1
    assert asked == [2, 3]
    assert benchmarks.score_benchmark(halve, Benchmark("a", X, [wrong])) < 0.1


def test_a_count_is_right_for_any_reference():
    X, _ = make_rings(random_state=0)
    found = suite.count_clusters(X, [3, 9])
    assert (found["counted"], found["exact"], found["within 1"], found["in range"]) == (3, 1, 1, 1)
    near = suite.count_clusters(X, [4])
    assert (near["exact"], near["within 1"]) == (0, 1)
    assert near["in range"] == (near["fewest"] <= 4 <= near["most"])


@pytest.mark.filterwarnings("ignore")
def test_a_folder_becomes_a_page_with_published_results(tmp_path, monkeypatch, capsys):
    X, y = make_rings(random_state=0)
    write_text_set(tmp_path / "data", "rings", X, y + 1)
    np.savez(tmp_path / "data" / "large.npz", X=np.zeros((1000, 2)), y0=np.ones(1000))
    (tmp_path / "data" / "published.csv").write_text("set,n,d,Theirs\nrings,900,2,0.625\n")
    monkeypatch.setattr(suite, "MOST_SAMPLES", 950)
    suite.main(tmp_path / "data", tmp_path)
    page = (tmp_path / "suite-results.md").read_text()
    assert "make study NAME=suite DATA=FOLDER" in page
    assert "About 45 settings" in page
    assert "| rings | 900 | 2 | 3 | 1.000 |" in page
    assert "| rings | 1.000 | 0.625 |" in page
    assert "exact on 1 of 1 (100 %)" in page
    assert "large left out" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_the_other_studies_share_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(overlap, "FAMILIES", {"rings 0.07": overlap.FAMILIES["rings 0.07"]})
    monkeypatch.setattr(counting, "FAMILIES", overlap.FAMILIES)
    monkeypatch.setattr(counting, "SHAPES", {"bars": counting.SHAPES["bars"]})
    overlap.main(None, tmp_path, (0,), 400)
    counting.main(None, tmp_path, (0,), 400, 2)
    small.main(None, tmp_path, ((5, 1.0),), (0,), 12)
    page = (tmp_path / "suite-results.md").read_text()
    for title in ("Clusters that overlap", "Counting", "Many small clusters"):
        assert f"## {title}" in page
    assert "Public shapes\n" not in page
    with (tmp_path / "suite" / "small.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 9


@pytest.mark.parametrize("name", overlap.FAMILIES)
def test_families_can_be_told_apart(name):
    known = overlap.FAMILIES[name].draw(2000, 0)
    right = (known.posterior.argmax(axis=1) == known.y).mean()
    assert 0.85 < right <= 1


def test_draws_without_clusters():
    draws = [counting.draw_null(seed) for seed in range(60)]
    assert {draw.name for draw in draws} == {"uniform", "Gaussian"}
    assert {draw.X.shape[1] for draw in draws} == set(range(2, 11))
    assert all(150 <= len(draw.X) <= 2000 and draw.n_clusters == 1 for draw in draws)


def test_the_best_fixed_graph_is_named():
    rows = [
        {"columns": 10.0, "spread": 1.7, "seed": 0.0, "graph": name, "ACC": acc, "ARI": ari}
        for name, acc, ari in (("AFCM", 90.0, 80.0), ("adaptive k=6", 91.0, 70.0), ("local k=6", 89.0, 82.0))
    ]
    (table,) = suite_page.describe_small(rows)
    assert table.lines == [["10 columns, spread 1.7", 90.0, 91.0, "adaptive k=6", -1.0, 80.0, 82.0, "local k=6", -2.0]]
