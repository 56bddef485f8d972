"""The page: complete, small, safe with anybody's names, and written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from afcm._util import atomic_files
from afcm.report import Findings, write_report
from afcm.report.data import as_json, count_decimals, list_memberships, round_numbers
from afcm.report.page import cross_classes, render_page
from tests.report.built import drawn_memberships, grid, selection, soft

pytest.importorskip("jinja2")
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u2028{{7*7}}"


class Reader(HTMLParser):
    """Tags, attributes and the text of the script elements."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts, self.inside = [], [], {}, ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.inside = f"{tag}#{dict(attrs).get('id', len(self.tags))}"

    def handle_data(self, data):
        self.texts[self.inside] = self.texts.get(self.inside, "") + data


def findings(n_samples=12, n_clusters=2, **options):
    model = soft(drawn_memberships(n_samples, n_clusters))
    return Findings.of(model, options.pop("X", grid(n_samples)), **options)


def data_of(page):
    return json.loads(Reader(page).texts["script#data"])


def test_ten_thousand_samples_of_twenty_features_stay_below_five_megabytes(tmp_path):
    random = np.random.default_rng(0)
    model = soft(drawn_memberships(10_000, 12), noise_share=0.3, outlier_scores=random.uniform(size=10_000))
    many = Findings.of(model, random.normal(size=(10_000, 20)))
    path = write_report(many, tmp_path / "page.html")
    assert path.stat().st_size < 5e6
    assert len(data_of(path.read_text(encoding="utf-8"))["ids"]) == 10_000


def test_of_more_samples_a_part_is_shown_and_said(tmp_path):
    many = findings(30_000, 5, X=grid(30_000, 20))
    page = render_page(many)
    assert len(page.encode()) < 5e6
    assert "show 10,000 of 30,000 samples, drawn at random" in page
    data = data_of(page)
    assert set(data["labels"]) == set(range(5))
    assert len(data["ids"]) == 10_000


def test_nothing_of_the_users_becomes_markup():
    evil = findings(
        3, X=grid(3, 2), ids=[EVIL] * 3, id_name=EVIL, feature_names=[EVIL, "b"], classes=[EVIL, "b", "c"], title=EVIL,
        settings={EVIL: EVIL}, selection=selection(), model_file=EVIL,
    )  # fmt: skip
    page = render_page(evil)
    plain = render_page(
        findings(3, X=grid(3, 2), classes=["a", "b", "c"], settings={"a": "b"}, selection=selection(), model_file="m")
    )
    read = Reader(page)
    assert read.tags == Reader(plain).tags
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name == "style"]
    assert "{{7*7}}" in page
    assert data_of(page)["ids"][0] == EVIL
    assert "\u2028" not in read.texts["script#data"]


def test_the_policy_allows_this_pages_script_and_style_and_nothing_else():
    page = render_page(findings())
    policy = next(value for _, name, value in Reader(page).attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        for text in re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", page)


def test_text_that_no_encoding_knows_is_written(tmp_path):
    path = write_report(findings(2, ids=["\ud800", "\x00"], title="\ud800"), tmp_path / "page.html")
    assert data_of(path.read_text(encoding="utf-8"))["ids"] == ["\ud800", "\x00"]


@pytest.mark.filterwarnings("error")
def test_missing_and_infinite_values_leave_valid_json():
    values = grid(4)
    values[0] = math.nan, math.inf, -math.inf
    values[:, 2] = math.nan
    page = render_page(findings(4, features=values))
    assert data_of(page)["features"]["values"][0][0] is None


def test_sections_come_with_what_they_need():
    bare, full = (
        render_page(findings()),
        render_page(findings(selection=selection(), model_file="a.model", classes=["u"] * 12)),
    )
    for name in ("selection", "python", "classes"):
        assert f'<section id="{name}"' not in bare
        assert f'<section id="{name}"' in full
    assert "load_model(&#34;a.model&#34;)" in full
    assert "predict" not in full.split('<section id="python"')[1].split("</section>")[0]  # this model cannot


def test_background_is_on_the_page_where_there_is_some():
    scores = np.repeat([0.0, 0.49999, 0.5, 1.0], 3)
    stray = soft(drawn_memberships(12, 2), noise_share=0.25, outlier_scores=scores)
    page = render_page(Findings.of(stray, grid(12)))
    assert "<dt>background</dt><dd>25 %</dd>" in page
    assert "About 25 % of the samples look like background" in page
    assert "Only outliers (6)" in page
    data = data_of(page)
    assert [score >= data["outlierThreshold"] for score in data["outliers"]] == [False] * 6 + [True] * 6
    for clean in (soft(drawn_memberships(12, 2), noise_share=0.0, outlier_scores=np.zeros(12)), None):
        page = render_page(findings() if clean is None else Findings.of(clean, grid(12)))
        assert "Only outliers" not in page
        assert "like background" not in page
        assert data_of(page)["outliers"] is None


def test_a_selection_says_what_it_did_not_count():
    chosen = replace(selection(), background_share=0.1)
    assert "About 10 % of the samples look like background and were not counted." in render_page(
        findings(selection=chosen)
    )


def test_clusters_against_classes():
    four = Findings.of(soft([[1, 0], [1, 0], [0, 1], [0, 1]]), grid(4), classes=["10", "9", None, "x"])
    assert cross_classes(four) == {"classes": ["9", "10", "x"], "counts": [["1", "1", "0"], ["0", "0", "1"]]}
    assert cross_classes(findings()) is None


def test_headings_do_not_skip_and_ids_are_unique():
    read = Reader(render_page(findings(selection=selection(), model_file="m", classes=["u"] * 12)))
    levels = [int(tag[1]) for tag in read.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1
    ids = [value for _, name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value for _, name, value in read.attributes if name in ("aria-labelledby", "aria-describedby")} <= set(ids)
    assert {value[1:] for tag, name, value in read.attributes if tag == "a" and name == "href"} <= set(ids)


@pytest.mark.parametrize("n_clusters", [1, 2, 40])
def test_any_number_of_clusters(n_clusters):
    page = render_page(findings(200, n_clusters))
    assert page.count("data-cluster=") == n_clusters + page.count('[data-cluster="')
    assert len(data_of(page)["clusters"]) == n_clusters


def test_an_interrupt_leaves_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(findings(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_without_jinja_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=re.escape("the report page needs Jinja2: pip install 'afcm[report]'")):
        write_report(findings(), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_numbers_are_short():
    assert round_numbers([1.0, 0.123456789, 123456.7, math.nan, math.inf, -2.5e-9]) == [
        1,
        0.12346,
        123460,
        None,
        None,
        -2.5e-9,
    ]
    assert as_json("<&>") == '"\\u003c\\u0026\\u003e"'
    assert list_memberships(np.array([0.2, 0.7999998, 0.0000002])) == [1, 0.8, 0, 0.2]


@pytest.mark.parametrize(
    ("column", "places"),
    [([5.1, 4.9, None], 1), ([1, 2], 0), ([0.12346, 3.1416], 4), ([1e-9], None), ([1e12], None), ([None, 0], 0)],
)
def test_places_after_the_point(column, places):
    assert count_decimals(column) == places
