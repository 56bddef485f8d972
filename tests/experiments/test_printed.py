"""The paper's numbers as data: complete, as printed, and the errata point at cells that exist."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from afcm.datasets import list_datasets
from afcm.experiments.printed import (
    PRINTED_AS,
    Score,
    cell_errata,
    dataset_errata,
    printed_score,
    printed_scores,
    read_errata,
    read_remarks,
)
from afcm.experiments.record import METRICS

NAMES = {info.name for info in list_datasets()}
CELLS = [
    (erratum, cells, method, metric)
    for erratum in read_errata()
    for cells in erratum.cells
    for method in cells.methods
    for metric in cells.metrics
]


@pytest.mark.parametrize("name", ["results.csv", "ablation.csv", "errata.toml", "remarks.toml"])
def test_the_data_files_travel_with_the_package(name):
    assert files("afcm").joinpath("experiments", "published", name).is_file()


@pytest.mark.parametrize(("table", "n_datasets", "n_methods"), [("results", 10, 8), ("ablation", 8, 3)])
def test_every_cell_of_a_table_is_there_under_our_names(table, n_datasets, n_methods):
    scores = printed_scores(table)
    datasets, methods = {dataset for dataset, _, _ in scores}, {method for _, method, _ in scores}
    assert (len(datasets), len(methods)) == (n_datasets, n_methods)
    assert datasets <= NAMES
    assert set(scores) == {(d, m, metric) for d in datasets for m in methods for metric in METRICS}
    assert all(0 < score.mean < 100 and 0 <= score.std < 10 for score in scores.values())


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        (("results", "iris", "FCM", "ACC"), Score(88.73, 0.20)),
        (("results", "usps", "FCAG", "ACC"), Score(74.02, 2.48)),
        (("results", "usps", "AFCM", "ARI"), Score(65.67, 4.21)),
        (("ablation", "usps", "AFCM", "ARI"), Score(66.57, 4.21)),
        (("results", "jaffe50", "FCAG", "ARI"), Score(84.96, 4.589)),
        (("results", "orl64x64", "RSFKM", "ARI"), Score(45.956, 2.20)),
        (("results", "pose29", "AFCM", "NMI"), Score(59.15, 1.11)),
        (("ablation", "warppie10p", "Ablation-2", "NMI"), Score(62.52, 1.27)),
        (("ablation", "pose07", "Ablation-1", "ARI"), Score(10.84, 1.40)),
    ],
)
def test_some_numbers_as_printed(cell, score):
    assert printed_score(*cell) == score


def test_the_two_tables_agree_on_afcm_but_for_one_cell():
    first, second = printed_scores("results"), printed_scores("ablation")
    different = [key for key, score in second.items() if key[1] == "AFCM" and first[key] != score]
    assert different == [("usps", "AFCM", "ARI")]


@pytest.mark.parametrize(
    ("dataset", "n_samples"), [(info.name, info.n_samples) for info in list_datasets() if info.name not in PRINTED_AS]
)
def test_means_of_accuracy_without_spread_are_whole_numbers_of_samples(dataset, n_samples):
    """The cells that are not are errata; a digit lost on the way from the paper would be caught here."""
    for (name, method, metric), score in printed_scores("results").items():
        if (name, metric, score.std) == (dataset, "ACC", 0.0):
            hits = round(score.mean * n_samples / 100)
            whole = abs(100 * hits / n_samples - score.mean) < 0.00501
            assert whole or set(cell_errata("results", dataset, method, "ACC")) & {"T8", "T10"}, (method, score)


def test_breast_with_the_patient_number_is_the_papers_breast():
    assert printed_score("results", "breast-id", "AFCM", "ACC") == printed_score("results", "breast", "AFCM", "ACC")
    assert cell_errata("results", "breast-id", "FKPS", "ARI") == ("T9",)
    assert dataset_errata("results", "breast-id") == dataset_errata("results", "breast") == ("D3",)


def test_what_the_paper_has_not_is_none():
    assert printed_score("ablation", "jaffe50", "AFCM", "ACC") is None
    assert printed_score("results", "spirals", "AFCM", "ACC") is None


@pytest.mark.parametrize(("erratum", "cells", "method", "metric"), CELLS, ids=lambda value: str(value)[:30])
def test_errata_point_at_printed_cells(erratum, cells, method, metric):
    assert printed_score(cells.table, cells.dataset, method, metric) is not None
    assert erratum.id in cell_errata(cells.table, cells.dataset, method, metric)


def test_errata_about_data_sets_point_at_data_sets_of_the_table():
    whole = [(erratum, cells) for erratum in read_errata() for cells in erratum.cells if not cells.methods]
    assert {erratum.id for erratum, _ in whole} == {"D1", "D2", "D3", "D4", "S1"}
    for erratum, cells in whole:
        assert printed_score(cells.table, cells.dataset, "AFCM", "ACC") is not None
        assert erratum.id in dataset_errata(cells.table, cells.dataset)


def test_all_errata_of_the_tables_are_listed_once():
    ids = [erratum.id for erratum in read_errata()]
    assert ids == [*(f"T{n}" for n in range(1, 15)), *(f"D{n}" for n in range(1, 5)), "S1"]


@pytest.mark.parametrize("erratum", read_errata(), ids=lambda erratum: erratum.id)
def test_numbers_an_erratum_quotes_from_its_cells_are_the_printed_ones(erratum):
    """At least one number of the note (if it has any with two decimals) is in a cell it points at."""
    quoted = {float(number) for number in re.findall(r"\d+\.\d{2,3}", erratum.note)}
    scores = [printed_score(c.table, c.dataset, m, k) for c in erratum.cells for m in c.methods for k in c.metrics]
    assert not quoted or not scores or quoted & {x for score in scores for x in (score.mean, score.std)}


def test_an_erratum_marks_its_cell_and_no_other():
    assert cell_errata("results", "iris", "RSFKM", "ACC") == ("T4",)
    assert cell_errata("results", "iris", "RSFKM", "ARI") == ()
    assert cell_errata("results", "iris", "SC", "ARI") == ("T3", "T11")
    assert cell_errata("ablation", "iris", "SC", "ARI") == ()


def test_remarks_are_about_known_data_sets():
    assert read_remarks().keys() <= NAMES
    assert {"warppie10p", "pose07", "pose29", "jaffe50", "breast", "breast-id"} <= read_remarks().keys()
    assert all("\n" not in text and text.endswith(".") for text in read_remarks().values())
