"""The page in a real browser: Debian's Chromium (or the one that AFCM_CHROMIUM names) through Playwright."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil

import numpy as np
import pytest

from afcm.report import Findings, write_report
from tests.report.built import grid, selection, soft

pytest.importorskip("jinja2")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
CHROMIUM = os.environ.get("AFCM_CHROMIUM") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the browser tests need chromium (or AFCM_CHROMIUM)")

SIZES = (30, 20, 10)
DOUBTFUL = 3  # samples, all in cluster 0
EVIL = '<img src=x onerror="window.broken=1">\'"</script><script>window.broken=1</script>'
FORMULA = "=SUM(A1:A9)"


def model():
    """Three blobs; the first three samples are ambiguous between clusters 0 and 1."""
    labels = np.repeat(np.arange(3), SIZES)
    memberships = np.eye(3)[labels] * 0.94 + 0.02
    memberships[:DOUBTFUL] = [0.55, 0.4, 0.05]
    history = {"objective": np.array([3.0, 2, 1]), "gamma": np.array([1.0, 10, 1e5]), "membership_change": np.ones(3)}
    X = grid(60, 4) + 12 * np.eye(4)[labels]
    return soft(memberships, n_iter=3, converged=True, embedding=np.eye(3)[labels], history=history), X


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    fitted, X = model()
    ids = [f"s{i}" for i in range(58)] + [EVIL, FORMULA]
    findings = Findings.of(
        fitted, X, ids=ids, id_name="specimen", feature_names=["a", "b", "<b>c</b>", "d"], title=f"Test {EVIL}",
        classes=np.repeat(["u", "v", "w"], SIZES), settings={"command": EVIL}, selection=selection(), model_file="m",
    )  # fmt: skip
    return write_report(findings, tmp_path_factory.mktemp("report") / "page.html")


@pytest.fixture(scope="module")  # only one may run at a time
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, report):
    """Opens the page; at the end nothing may have been said on the console or asked of the network."""
    complaints, contexts = [], []

    def opened(**options):
        options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: request.url == report.as_uri() or complaints.append(request.url))
        page.goto(report.as_uri())
        return page

    yield opened
    broken = [page.evaluate("window.broken") for context in contexts for page in context.pages]
    for context in contexts:
        context.close()
    assert not any(broken)
    assert [said for said in complaints if not said.startswith("blob:")] == []


def shown(page):
    return page.locator("#count").inner_text()


def column(page, k):
    return page.locator(f"#table tbody tr > :nth-child({k})").all_inner_texts()


def colors(page, selector="body"):
    return page.eval_on_selector(selector, "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")


def luminance(color):
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


# The pixels of a canvas, read from a copy: reading the page's own one twice makes Chromium give advice on its console.
PIXELS = """canvas => {
    const {width, height} = canvas;
    const copy = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    const alpha = copy.getImageData(0, 0, width, height).data.filter((_, k) => k % 4 === 3);
    const inked = [...alpha.keys()].filter((k) => alpha[k] > 0);
    const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
    return {share: inked.length / alpha.length, x: mean(inked.map((k) => k % width)), y: mean(inked) / width - 0.5};
}"""


def inked(page):
    """Share of the picture's pixels that are not empty."""
    return page.eval_on_selector("#points", PIXELS)["share"]


def test_the_page_shows_the_samples(visit):
    page = visit()
    assert shown(page) == "60 samples shown"
    assert len(column(page, 1)) == 20
    assert page.locator("#page").inner_text() == "Page 1 of 3"
    assert inked(page) > 0.002
    page.get_by_role("button", name="Next", exact=True).click()
    assert column(page, 1)[0] == "s20"


def test_names_of_the_users_stay_text(visit):
    page = visit()
    assert page.locator("h1").inner_text() == f"Test {EVIL}"
    page.get_by_label("Find specimen").fill("img")
    assert column(page, 1) == [EVIL]
    assert "<b>c</b>" in page.locator("#table thead").inner_text()
    page.locator("#table tbody button").click()
    assert EVIL in page.locator("#tip").inner_text()
    assert page.locator("img").count() == 0


def test_hovering_shows_a_sample(visit):
    page = visit()
    page.locator("#table tbody button").first.click()
    place = page.locator("#tip").inner_text()
    assert place.startswith("s0\n")
    assert "cluster 0, class u" in place
    assert "memberships 0: 0.55, 1: 0.40, 2: 0.05" in place
    assert "ambiguity 0.85" in place
    page.locator("#plot").focus()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    frame = page.locator("#plot").bounding_box()
    seen = False
    for step in range(0, 100, 2):  # across the picture until a sample is under the pointer
        page.mouse.move(frame["x"] + frame["width"] * step / 100, frame["y"] + frame["height"] * 0.88)
        seen = seen or page.locator("#tip").is_visible()
    assert seen


def test_a_cluster_filters_the_table(visit):
    page = visit()
    chosen = page.get_by_role("button", name="Cluster 1, 20 samples")
    chosen.click()
    assert chosen.get_attribute("aria-pressed") == "true"
    assert shown(page) == "20 samples shown of 60"
    assert {text.strip() for text in column(page, 2)} == {"1"}
    chosen.click()
    assert chosen.get_attribute("aria-pressed") == "false"
    assert shown(page) == "60 samples shown"


def test_only_ambiguous_and_find(visit):
    page = visit()
    page.get_by_label("Only ambiguous (3)").check()
    assert shown(page) == f"{DOUBTFUL} samples shown of 60"
    page.get_by_label("Find specimen").fill("S1")
    assert shown(page) == "1 sample shown of 60"
    page.get_by_role("button", name="Show all").click()
    assert shown(page) == "60 samples shown"
    assert not page.get_by_label("Only ambiguous (3)").is_checked()


def test_a_column_sorts(visit):
    page = visit()
    page.get_by_role("columnheader", name="membership", exact=True).get_by_role("button").click()
    head = page.get_by_role("columnheader", name="membership", exact=True)
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, 3)[:4] == ["0.55", "0.55", "0.55", "0.96"]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, 3)[0] == "0.96"
    page.get_by_role("columnheader", name="specimen").get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "none"
    assert [text for text in column(page, 1) if text.startswith("s")][:3] == ["s0", "s1", "s2"]  # 10 comes after 9


def test_the_keyboard_alone_finds_a_sample_and_a_rectangle(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#said").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#said").inner_text() != first
    page.keyboard.press("Enter")
    row = page.locator("#table tbody tr[aria-current=true]")
    assert row.count() == 1
    assert page.locator("#tip b").inner_text() == row.locator("th").inner_text()
    page.keyboard.press("Home")
    page.keyboard.press("b")
    page.keyboard.press("b")
    assert shown(page) == "1 sample shown of 60"
    page.keyboard.press("Escape")
    assert shown(page) == "60 samples shown"


def test_a_click_finds_the_row_on_its_page(visit):
    page = visit()
    page.get_by_role("button", name="Next", exact=True).click()
    page.locator("#table tbody button").nth(3).click()
    tip = page.locator("#tip").inner_text()
    page.get_by_role("button", name="Previous").click()
    page.locator("#plot").scroll_into_view_if_needed()
    frame = page.locator("#plot").bounding_box()
    ring = page.eval_on_selector("#marks", PIXELS)
    page.mouse.click(frame["x"] + 1 + ring["x"], frame["y"] + 1 + ring["y"])
    assert page.locator("#tip").inner_text() == tip
    assert page.locator("#page").inner_text() == "Page 2 of 3"
    assert page.locator("#table tbody tr[aria-current=true]").count() == 1


def test_a_rectangle_filters(visit):
    page = visit()
    frame = page.locator("#plot").bounding_box()
    page.mouse.move(frame["x"] + 3, frame["y"] + 3)
    page.mouse.down()
    page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] - 3, steps=4)
    page.mouse.up()
    count = int(shown(page).split()[0])
    assert 0 < count < 60
    assert shown(page).endswith("shown of 60")
    page.mouse.move(frame["x"] + 3, frame["y"] + 3)
    page.mouse.down()
    page.mouse.move(frame["x"] + 10, frame["y"] + 10, steps=3)
    page.mouse.up()
    assert shown(page) == "0 samples shown of 60"
    page.locator("#plot").focus()
    page.keyboard.press("ArrowUp")  # nothing to go to, nothing breaks


def test_views_and_jitter(visit):
    page = visit()
    assert not page.get_by_label("Jitter").is_checked()
    page.get_by_label("Model's embedding").check()
    assert page.get_by_label("Jitter").is_checked()
    assert page.locator("#axes").inner_text().startswith("→ embedding, first direction")
    spread = inked(page)
    page.get_by_label("Jitter").uncheck()
    assert inked(page) < spread / 2


def test_the_list_of_ambiguous_samples_leads_to_the_picture(visit):
    page = visit()
    page.locator("#ambiguous-samples").get_by_role("button", name="s1", exact=True).click()
    assert page.locator("#tip b").inner_text() == "s1"
    assert page.evaluate("document.activeElement.id") == "plot"


def test_the_shown_rows_are_downloaded(visit):
    page = visit()
    page.get_by_label("Find specimen").fill("sum")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download CSV").click()
    text = started.value.path().read_text(encoding="utf-8-sig")
    assert started.value.suggested_filename.startswith("Test-img")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == [
        "specimen",
        "cluster",
        "membership",
        "next cluster",
        "ambiguity",
        "class",
        "a",
        "b",
        "<b>c</b>",
        "d",
    ]
    assert rows[1][:6] == [f"'{FORMULA}", "2", "0.96", "0", "0.06", "w"]
    assert rows[1][6:] == [str(value) for value in model()[1][59].round(4)]


def test_colours_follow_the_system_and_the_switch(visit):
    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    switch = light.get_by_role("button", name="Dark mode")
    assert colors(light)[1] == "rgb(255, 255, 255)"
    assert luminance(colors(dark)[1]) < 0.05
    assert dark.get_by_role("button", name="Dark mode").get_attribute("aria-pressed") == "true"
    switch.click()
    assert colors(light) == colors(dark)
    assert switch.get_attribute("aria-pressed") == "true"
    assert light.evaluate("localStorage.getItem('afcm-theme')") == "dark"
    light.get_by_role("button", name="Dark mode").click()
    assert colors(light)[1] == "rgb(255, 255, 255)"


def test_the_switch_is_remembered(visit):
    page = visit(color_scheme="light")
    page.context.add_init_script("localStorage.setItem('afcm-theme', 'dark')")  # as an earlier visit left it
    page.reload()
    assert luminance(colors(page)[1]) < 0.05


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(visit, scheme):
    page = visit(color_scheme=scheme)
    _, ground = colors(page)
    for selector in (
        "body",
        ".note",
        "figcaption",
        "nav a",
        "#table tbody button",
        "tr.doubt td:nth-child(5)",
        ".kind",
    ):
        assert contrast(colors(page, selector)[0], ground) >= 4.5, selector
    raised = colors(page, ".figures div")[1]
    assert contrast(colors(page, ".figures dt")[0], raised) >= 4.5


@pytest.mark.parametrize("width", [360, 768, 2000])
def test_no_window_scrolls_sideways(visit, width):
    page = visit(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#plot").bounding_box()["width"] <= width


def test_paper_is_light_and_complete(visit):
    page = visit(color_scheme="dark")
    page.emulate_media(media="print")
    assert colors(page)[1] == "rgb(255, 255, 255)"
    assert page.locator("#theme").is_hidden()
    assert page.locator(".controls").is_hidden()
    assert page.locator("#points").is_visible()
    assert page.locator("#ambiguous-samples tbody tr").count() == DOUBTFUL
    assert page.locator(".profiles").first.is_visible()
    overflow = page.eval_on_selector_all(".scroll", "all => all.map((e) => getComputedStyle(e).overflowX)")
    assert set(overflow) == {"visible"}
    assert len(page.pdf()) > 10_000


def test_nothing_moves_while_the_page_loads(visit):
    page = visit()
    page.wait_for_timeout(200)
    shifts = page.evaluate(
        """() => new Promise((done) => {
            new PerformanceObserver((list) => done(list.getEntries().map((entry) => entry.value)))
                .observe({type: "layout-shift", buffered: true});
            setTimeout(() => done([]), 200);
        })"""
    )
    assert sum(shifts) < 0.02


def test_nothing_global_is_left(visit, browser, tmp_path):
    (tmp_path / "empty.html").write_text("<!DOCTYPE html>")
    empty = browser.new_page()
    empty.goto((tmp_path / "empty.html").as_uri())
    names = "Object.getOwnPropertyNames(window)"
    assert set(visit().evaluate(names)) <= set(empty.evaluate(names))
    empty.close()


@pytest.fixture
def stray_page(browser, tmp_path):
    """The page of a model that holds the last six samples of 60 for background."""
    fitted, X = model()
    fitted.with_(noise_share=0.1, outlier_scores=np.repeat([0.1, 0.4999, 0.5, 0.93], [50, 4, 5, 1]))
    path = write_report(Findings.of(fitted, X, classes=np.repeat(["u", "v", "w"], SIZES)), tmp_path / "stray.html")
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert errors == []


def test_outliers_are_shown_hidden_or_alone(stray_page):
    page = stray_page
    assert shown(page) == "60 samples shown"
    assert page.get_by_label("Show outliers").is_checked()
    page.get_by_label("Hide outliers").check()
    assert shown(page) == "54 samples shown of 60"
    page.keyboard.press("ArrowRight")  # the next radio button
    assert page.get_by_label("Only outliers (6)").is_checked()
    assert shown(page) == "6 samples shown of 60"
    assert column(page, 1) == [str(i) for i in range(54, 60)]
    page.get_by_role("button", name="Show all").click()
    assert shown(page) == "60 samples shown"
    assert page.get_by_label("Show outliers").is_checked()


def test_scores_are_in_the_table_and_told_of_a_sample(stray_page):
    page = stray_page
    head = page.get_by_role("columnheader", name="outlier score").get_by_role("button")
    head.click()
    head.click()
    assert column(page, 6)[:7] == ["0.93", *["0.50"] * 6]
    assert page.locator("#table .strong").count() == 6
    page.locator("#table tbody button").first.click()
    tip = page.locator("#tip").inner_text()
    assert "cluster 2, class w, outlier\n" in tip
    assert "outlier score 0.93" in tip
    assert "class w, outlier," in page.locator("#said").inner_text()
    page.locator("#table tbody tr[data-row='50'] button").click()  # 0.4999 is below 0.5
    assert "cluster 2, class w\n" in page.locator("#tip").inner_text()


def test_outliers_are_hollow(stray_page):
    """The middle of an outlier has the color of the page, that of another sample its own."""
    page = stray_page
    page.get_by_label("Only outliers (6)").check()
    read = """i => {
        const [picture, marks] = ["points", "marks"].map((id) => {
            const canvas = document.getElementById(id);
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
            copy.drawImage(canvas, 0, 0);
            return copy.getImageData(0, 0, canvas.width, canvas.height);
        });
        const inked = [...marks.data.keys()].filter((k) => k % 4 === 3 && marks.data[k] > 0).map((k) => (k - 3) / 4);
        const mean = (list) => Math.round(list.reduce((a, b) => a + b, 0) / list.length);
        const [x, y] = [mean(inked.map((k) => k % marks.width)), mean(inked.map((k) => Math.floor(k / marks.width)))];
        return [...picture.data.slice(4 * (y * marks.width + x), 4 * (y * marks.width + x) + 3)];
    }"""
    page.locator("#table tbody tr[data-row='59'] button").click()
    assert min(page.evaluate(read)) > 250
    page.get_by_label("Hide outliers").check()
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("button", name="Next", exact=True).click()
    page.locator("#table tbody tr[data-row='53'] button").click()
    assert min(page.evaluate(read)) < 250


def test_without_background_there_is_nothing_to_filter(visit):
    page = visit()
    assert page.get_by_label("Hide outliers").count() == 0
    assert page.get_by_role("columnheader", name="outlier score").count() == 0


def test_one_cluster(browser, tmp_path):
    findings = Findings.of(soft(np.ones((5, 1))), grid(5, 1))
    path = write_report(findings, tmp_path / "one.html")
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    assert shown(page) == "5 samples shown"
    assert page.get_by_role("columnheader").all_inner_texts()[:3] == ["sample", "cluster", "x0"]
    page.close()
    assert errors == []
