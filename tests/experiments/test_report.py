"""The report: what is in it, what is not, and that it is the same every time."""

from __future__ import annotations

import csv
import errno
import os
import random
import re
import sys
from dataclasses import replace

import pytest

from afcm.experiments import figures
from afcm.experiments.printed import Score, read_errata
from afcm.experiments.record import Row, StoreError
from afcm.experiments.report import write_report
from afcm.experiments.sections import (
    count_marks,
    count_rises,
    list_versions,
    write_comparison,
    write_flat,
    write_remarks,
)
from afcm.experiments.summary import summarize
from afcm.experiments.tables import (
    compare_table1,
    compare_table2,
    compare_with_afcm,
    format_comparison,
    format_params,
    format_score,
    to_table_cell,
)
from tests.experiments.synthetic import as_printed, row, trace, whole_run

COMMAND = "afcm reproduce --data DATA --out FOLDER"
CSV_FILES = ["table1.csv", "table2.csv", "ours.csv", "rows-summary.csv", "timing.csv"]


def written(rows, folder, **more):
    write_report(rows, folder, command=COMMAND, **more)
    return (folder / "report.md").read_text(encoding="utf-8")


def parsed(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def section(text, title):
    return text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def lines_of(text, start):
    return [line for line in text.splitlines() if line.startswith(start)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "new" / "folder"
    write_report(whole_run(), target, command=COMMAND)
    return target


@pytest.fixture(scope="module")
def report(folder):
    return (folder / "report.md").read_text(encoding="utf-8")


def test_all_files_are_written_and_named(tmp_path):
    paths = write_report(whole_run(("iris",)), tmp_path, command=COMMAND)
    assert [path.name for path in paths] == ["report.md", *CSV_FILES, "accuracy.png", "convergence.png"]
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths)  # nothing else is left behind
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths if path.suffix == ".png")


def test_the_header_says_what_was_run(report):
    head = report.split("\n## ")[0]
    assert f"`{COMMAND}`." in head
    n_rows = len(whole_run())
    assert f"{n_rows} runs: {n_rows} ok, 0 failed, 0 skipped" in head
    assert "afcm 0.1.0, numpy 2.4.0" in head
    assert "*Oracle* means chosen with the labels" in head
    assert "not run: flat, toys." in head


def test_a_cell_shows_ours_the_papers_the_mark_and_the_errata(report):
    line = lines_of(section(report, "Table 1"), "| iris [D4]")[2]  # ARI
    assert line == (
        "| iris [D4] | 71.64 ± 0.00 / 71.64 ± 0.41 = | 78.29 ± 0.00 / 78.29 ± 0.02 = [T3] [T11] "
        "| 89.07 ± 0.00 / 89.07 ± 3.93 = |"
    )


@pytest.mark.parametrize(("lift", "mark"), [(0.0, "="), (5.0, "+"), (-5.0, "≠")])
def test_marks(lift, mark):
    (first, *_) = compare_table1(summarize(as_printed("results", "iris", "AFCM", lift=lift)))
    assert format_comparison(first).endswith(f" {mark}")


def test_every_reference_has_its_erratum_in_the_same_section(report):
    for title in ("Table 1", "Table 2 (ablation)"):
        text = section(report, title)
        cited = {name for line in lines_of(text, "|") for name in re.findall(r"\[([TDS]\d+)\]", line)}
        listed = set(re.findall(r"^- \*\*([TDS]\d+)\*\*", text, re.MULTILINE))
        assert cited == listed
        assert cited <= {erratum.id for erratum in read_errata()}
        assert "D3" in cited


def test_marks_are_counted_per_method_and_overall():
    rows = as_printed("results", "iris", "AFCM") + as_printed("results", "usps", "AFCM", lift=-20)
    rows += [*as_printed("results", "iris", "FCM", lift=3), row("usps", "FCM", status="failed")]
    lines = count_marks(compare_table1(summarize(rows))).splitlines()
    assert lines[2:] == [
        "| FCM | 0 / 1 / 0 | 0 / 1 / 0 | 0 / 1 / 0 | 0 / 3 / 0 |",
        "| AFCM | 1 / 0 / 1 | 1 / 0 / 1 | 1 / 0 / 1 | 3 / 0 / 3 |",
        "| **all** | 1 / 1 / 1 | 1 / 1 / 1 | 1 / 1 / 1 | 3 / 3 / 3 |",
    ]


def test_table_2_takes_afcm_from_table_1_and_compares_with_the_second_print():
    comparisons = compare_table2(summarize(whole_run(("usps",))))
    assert [c.cell.method for c in comparisons] == ["Ablation-1"] * 3 + ["Ablation-2"] * 3 + ["AFCM"] * 3
    last = comparisons[-1]
    assert (last.ours.mean, last.printed.mean, last.errata) == (65.67, 66.57, ("T1",))


def test_the_chosen_grid_point_and_the_size_of_the_grid_are_shown(report):
    assert lines_of(section(report, "Table 1"), "| usps |")[-1].count("k=3, λ=1e3 (of 2)") == 3
    assert lines_of(section(report, "Ours"), "| iris |")[-1].endswith("| as it comes (of 1) | as it comes (of 1) |")


def test_ours_says_what_used_the_labels_and_counts_breast_once(report):
    text = section(report, "Ours")
    assert (
        "| data | paper's AFCM (oracle) | AFCM-ours (oracle) | SC-ours (oracle) | AFCM-default (label-free) |" in text
    )
    accuracy = (96.13 + 96.57 + 72.07) / 3  # Iris, Breast, USPS
    expected = [f"{accuracy + lift:.2f}" for lift in (0, 2, 1, -2, -3)]
    assert lines_of(text, "| mean over")[0] == f"| mean over 3 | {' | '.join(expected)} |"
    assert "| iris | 96.13 ± 1.60 | **98.13 ± 0.00** | 97.13 ± 0.00 | 94.13 ± 0.00 | 93.13 ± 0.00 |" in text


def test_ours_sets_afcm_and_spectral_clustering_head_to_head(report):
    text = section(report, "Ours")
    assert "| AFCM-ours against SC-ours | 3 / 0 / 0 | 3 / 0 / 0 | 3 / 0 / 0 |" in text
    assert "| AFCM-default against paper's AFCM | 0 / 0 / 3 | 0 / 0 / 3 | 0 / 0 / 3 |" in text


def test_a_fixed_setting_that_was_tried_twice_is_no_longer_label_free(tmp_path):
    rows = as_printed("results", "iris", "AFCM", experiment="ours", under="AFCM-default", params=({"k": 1}, {"k": 2}))
    assert "AFCM-default (oracle)" in written(rows, tmp_path)


def test_remarks_come_only_where_afcm_is_below_the_print():
    low = as_printed("results", "warppie10p", "AFCM", lift=-5) + as_printed("results", "vehicle", "AFCM", lift=-5)
    text = write_remarks(compare_table1(summarize(low + as_printed("results", "pose07", "AFCM", lift=9))))
    assert "- **warppie10p** (ACC, NMI, ARI): σ = 2 is narrow" in text
    assert "- **vehicle** (ACC, NMI, ARI): no explanation is known." in text
    assert "pose07" not in text
    assert "nowhere below" in write_remarks(compare_table1(summarize(as_printed("results", "iris", "AFCM"))))
    assert "Not in this run" in write_remarks([])


def test_failures_are_grouped_counted_and_kept_on_one_line(tmp_path):
    rows = [row(seed=seed, status="failed", reason="ValueError: a | b\n  second") for seed in range(3)]
    rows += [row(method=method, status="skipped", reason="too few anchors") for method in ("FCAG", "AFCM-x", "FCM")]
    rows += [row(params={"k": 1}), row(method="FCM", params={"m": 2.0}, seed=1)]
    text = written(rows, tmp_path)
    lost = section(text, "Failed, skipped and missing runs")
    assert "| table1 | iris | AFCM | failed | ValueError: a \\| b second | 3 |" in lost
    assert "| table1 | iris | FCM, FCAG, AFCM-x | skipped | too few anchors | 3 |" in lost
    assert lines_of(lost, "- ") == ["- table1, FCM: 2", "- table1, AFCM: 2"]
    assert "90.00 ± 0.00 / 96.13 ± 1.60 ≠ (1 of 3 runs)" in lines_of(text, "| iris [D4]")[0]


def test_a_data_set_that_could_not_be_read_is_absent_from_the_tables(tmp_path):
    rows = as_printed("results", "iris", "AFCM")
    rows += [row("usps", status="skipped", reason="usps.npz was not found", seed=seed) for seed in (0, 1)]
    rows += [row("rings", experiment="toys", status="skipped", reason="no")]
    text = written(rows, tmp_path)
    assert not lines_of(section(text, "Table 1"), "| usps")
    assert "without the data sets breast, vehicle, usps" in text
    assert "| table1 | usps | AFCM | skipped | usps.npz was not found | 2 |" in text
    assert section(text, "Toys").strip() == "Not in this run."


def test_a_run_without_failures_says_so(report):
    assert section(report, "Failed, skipped and missing runs").strip() == "None."


def test_a_cell_whose_runs_all_failed_shows_the_print_alone():
    (first, *_) = compare_table1(summarize([row(status="failed", reason="no")]))
    assert format_comparison(first) == "– / 96.13 ± 1.60"


def test_convergence_counts_rises_of_the_objective(report):
    assert count_rises([3.0, 2.0, 2.0, 2.0 + 1e-12, -1.0]) == 0
    assert count_rises([3.0, 2.0, 2.1, 2.2, 1.0]) == 2
    assert count_rises([-3.0, -3.0, -4.0, -3.9]) == 1
    assert "| iris | k=3, λ=1e3 | 4 | 5 | 2 | 0 | 3 | 63.00 |" in section(report, "Convergence")


@pytest.mark.parametrize("keep", ["table1", "table2", "ours", "convergence"])
def test_a_partial_run_has_what_it_has_and_names_the_rest(tmp_path, keep):
    rows = [r for r in whole_run(("iris",)) if r.experiment == keep]
    text = written(rows, tmp_path)
    sections = {"table1": "Table 1", "table2": "Table 2 (ablation)", "ours": "Ours", "convergence": "Convergence"}
    for name, title in sections.items():
        assert (section(text, title).strip() == "Not in this run.") == (name != keep)
    assert all(name in re.search(r"not run: (.*)\.", text)[1] for name in sections if name != keep)


def test_a_partial_table_names_the_data_sets_and_methods_it_lacks():
    rows = as_printed("results", "breast-id", "AFCM")
    text = write_comparison("Table 1", compare_table1(summarize(rows)), "results")
    assert (
        "without the data sets iris, vehicle, usps, jaffe50, warppie10p, olivetti, orl64x64, pose07, pose29 and the "
        "methods FCM, FCM-ER, SC, RSFKM, CDKM, FKPS, FCAG." in text
    )


def test_no_rows_at_all_give_an_empty_report(tmp_path):
    text = written([], tmp_path)
    assert "0 runs: 0 ok" in text
    assert [parsed(tmp_path / name) for name in CSV_FILES] == [[]] * len(CSV_FILES)
    assert not list(tmp_path.glob("*.png"))


def test_the_same_rows_in_any_order_give_the_same_bytes(tmp_path, folder):
    rows = whole_run()
    random.Random(3).shuffle(rows)
    write_report(iter(rows), tmp_path, command=COMMAND)
    names = sorted(os.listdir(folder))
    assert names == sorted(os.listdir(tmp_path))
    assert {name: (tmp_path / name).read_bytes() for name in names} == {
        name: (folder / name).read_bytes() for name in names
    }


def test_a_run_that_is_there_twice_is_reported_once(tmp_path, report):
    rows = whole_run()
    assert written([*rows, *rows[:7]], tmp_path) == report


def test_the_csv_tables_hold_what_the_report_shows(folder):
    cells = {(line["dataset"], line["method"], line["metric"]): line for line in parsed(folder / "table1.csv")}
    assert len(cells) == 4 * 3 * 3
    line = cells["usps", "AFCM", "ARI"]
    assert (float(line["ours"]), float(line["paper"]), float(line["paper_std"])) == (65.67, 65.67, 4.21)
    assert (line["verdict"], line["errata"], line["oracle"], line["grid_points"]) == ("reproduced", "T1", "yes", "2")
    assert line["params"] == '{"graph_weight": 1000.0, "n_neighbors": 3}'
    assert len(parsed(folder / "table2.csv")) == 4 * 3 * 3
    assert {line["oracle"] for line in parsed(folder / "ours.csv") if "default" in line["method"]} == {"no"}


def test_the_grid_file_has_every_grid_point_and_one_choice_per_cell(folder):
    lines = parsed(folder / "rows-summary.csv")
    points = {(r.experiment, r.dataset, r.method, str(r.params)) for r in whole_run()}
    assert len(lines) == len(points)
    chosen = [line for line in lines if line["chosen"] == "yes"]
    cells = {(line["experiment"], line["dataset"], line["method"]) for line in lines}
    assert len(chosen) == len(cells)
    assert sum(int(line["ok"]) for line in lines) == len(whole_run())
    first = lines[0]
    assert (first["acc"], first["acc_std"]) == ("88.7300", "0.0000")


def test_seconds_are_in_a_file_of_their_own(folder):
    lines = parsed(folder / "timing.csv")
    assert float(lines[0]["seconds"]) == pytest.approx(0.25 * int(lines[0]["runs"]))
    assert sum(int(line["runs"]) for line in lines) == len(whole_run())


def test_toys_are_listed_and_drawn(tmp_path, monkeypatch):
    drawn = figures.draw_convergence([trace()])
    monkeypatch.setattr(figures, "draw_toys", lambda: drawn)
    rows = [row("rings", "AFCM", experiment="toys", acc=100.0), row("spirals", "FCM", experiment="toys")]
    text = section(written(rows, tmp_path), "Toys")
    assert [line.split(" | ")[:2] for line in lines_of(text, "| ")[2:]] == [["| spirals", "FCM"], ["| rings", "AFCM"]]
    assert "(toys.png)" in text
    assert (tmp_path / "toys.png").exists()


def test_without_matplotlib_the_report_says_so_and_is_whole_otherwise(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    text = written(whole_run(("iris",)), tmp_path)
    assert "Figures were left out; figures need matplotlib: pip install 'afcm[plot]'." in text
    assert ".png" not in text
    assert sorted(os.listdir(tmp_path)) == sorted(["report.md", *CSV_FILES])


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot write report.md to .*file/out: .*; give another folder with --out"):
        write_report([row()], tmp_path / "file" / "out", command=COMMAND)


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC])
def test_a_failed_write_leaves_the_old_report_and_no_scraps(tmp_path, monkeypatch, code):
    before = written([row()], tmp_path)
    files = sorted(os.listdir(tmp_path))

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StoreError, match=os.strerror(code)):
        write_report([row(acc=10.0)], tmp_path, command=COMMAND)
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == before
    assert sorted(os.listdir(tmp_path)) == files


def test_versions_of_a_run_that_was_resumed_after_an_update():
    rows = [row(versions={"numpy": "2.4.1"}), row(versions={"numpy": "2.4.0", "afcm": "1"}), row(versions={})]
    assert list_versions(rows) == "afcm 1, numpy 2.4.0 and 2.4.1"
    assert list_versions([row(versions={})]) == "not recorded"


def test_small_pieces_of_markdown():
    assert format_params({"graph_weight": 1e5, "n_neighbors": 3, "a|b": None}) == "k=3, λ=1e5, a\\|b=None"
    assert format_params({"gamma": 0.1, "tau": float("inf"), "m": 300000.0}) == "γ=0.1, m=300000, tau=inf"
    assert format_params({}) == "as it comes"
    assert format_score(Score(-0.001, 0.0)) == "0.00 ± 0.00"
    assert len(to_table_cell("x" * 500)) == 200


def test_a_flat_kernel_stands_against_the_papers_afcm():
    rows = [
        Row(
            experiment="flat",
            dataset="orl64x64",
            method="AFCM-flat",
            params={"n_neighbors": k, "graph_weight": 1e4},
            seed=seed,
            metrics={"ACC": 60.0 + k, "NMI": 80.0, "ARI": 50.0},
        )
        for k in (3, 5)
        for seed in range(2)
    ]
    first = [replace(row, experiment="table1", method="AFCM", dataset="iris") for row in rows]
    text = write_flat(compare_with_afcm(summarize(rows), "flat"), compare_table1(summarize(first)))
    assert "ACC is reproduced on 1 of 2 data sets, better on 0, below on 1." in text
    assert "| orl64x64 | 65.00 ± 0.00 / 62.90 ± 2.65 = |" in text
    assert "k=5, λ=1e4 (of 2)" in text
    assert "Not in this run." in write_flat([], [])
