"""The site: pages name what exists, examples run, it builds without a warning and is accessible in a browser."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("*/*.py"))
# Rooms whose ``__all__`` is for users; names that only authors of estimators need have no page.
ROOMS = ("baselines", "checkpoints", "datasets", "metrics", "modelfiles", "plots", "report", "selection", "tables")
FOR_AUTHORS = {"__version__", "check_checkpoint_early", "open_journal"}
PACKAGES = ("sphinx", "myst_parser", "pydata_sphinx_theme", "numpydoc", "sphinx_gallery", "sphinx_design", "matplotlib")


def names_in_the_reference():
    lines = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if re.fullmatch(r"   [A-Za-z_.]+", line)}


@pytest.mark.parametrize("room", ["afcm", *(f"afcm.{room}" for room in ROOMS)])
def test_every_public_name_has_a_page(room):
    prefix = room.removeprefix("afcm").removeprefix(".")
    names = set(importlib.import_module(room).__all__) - FOR_AUTHORS
    listed = names_in_the_reference()
    assert not {name for name in names if name not in listed and f"{prefix}.{name}".lstrip(".") not in listed}


def test_every_warning_and_error_has_a_page_and_every_warning_an_answer():
    from afcm import exceptions

    ours = exceptions.__name__
    names = {name for name, found in vars(exceptions).items() if getattr(found, "__module__", "") == ours}
    assert {f"exceptions.{name}" for name in names} <= names_in_the_reference()
    answers = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in answers for name in names if name.endswith("Warning") and name != "AFCMWarning")


def test_the_reference_names_what_exists():
    import afcm

    for name in names_in_the_reference():
        parent, _, last = f"afcm.{name}".rpartition(".")
        assert hasattr(importlib.import_module(parent) if "." in name else afcm, last), name


@pytest.mark.parametrize("name", sorted(names_in_the_reference()))
def test_what_the_reference_describes_has_an_example(name):
    parent, _, last = f"afcm.{name}".rpartition(".")
    assert ">>>" in getattr(importlib.import_module(parent), last).__doc__


@pytest.mark.parametrize(
    ("page", "said", "source", "stands"),
    [
        ("paper.md", "accuracy of 69.3 on the ten sets", "label-free.md", "| **69.3** |"),
        ("paper.md", "the paper prints 65.5", "label-free.md", "| **65.5** |"),
        ("paper.md", "85.9 against 88.3", "label-free.md", "85.9 against 88.3 for local k = 10"),
        ("paper.md", "sharpening the graph +1.8", "label-free.md", "sharpening most (+1.8)"),
        ("paper.md", "the sweeps added −0.2 points", "label-free.md", "add nothing to the labels** (−0.2)"),
        ("paper.md", "100 % where 69 % is true", "label-free.md", "100 % where 69 % is true"),
        (
            "paper.md",
            "accuracy on **5 of 10** sets",
            "reproduction/report.md",
            "reproduced on 5 of 10 data sets, better on 1",
        ),
        ("paper.md", "stays at 0.98 to 0.99", "noise-results.md", "| 0.991 | 0.985 | 0.981 | 0.990 |"),
        ("paper.md", "between 0.62 and 0.87", "noise-results.md", "| 0.991 | 0.866 | 0.710 | 0.620 |"),
        ("memberships.md", "14 points in the mean, against 31", "label-free.md", "| 71.8 | 14.3 |"),
        ("memberships.md", "its error rises from 5 to 24", "label-free.md", "USPS 24, with the walk 5"),
        ("choosing-parameters.md", "moved by 0.5 points", "label-free.md", "the mean ACC moves by 0.5"),
        ("counting.md", "none in 97.1 %", "label-free.md", "| 240 | 97.1 |"),
        ("faq.md", "about 2.3 GB for a million rows", "performance.md", "| 33.8 | 14.0 | 2.4 | 2,257 |"),
        ("large-data.md", "a million rows in about half a minute", "performance.md", "| 1,000,000 | 33.8 |"),
        ("large-data.md", "some 15 milliseconds a sweep", "performance.md", "| PlainAFCM | 14.1 |"),
    ],
)
def test_a_number_that_a_page_repeats_stands_where_it_was_measured(page, said, source, stands):
    texts = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in (page, source)]
    assert said in " ".join(texts[0].split())
    assert stands in " ".join(texts[1].split())


def test_questions_are_counted_right():
    questions = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8").count("\n## ")
    words = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen")
    for page, named in (("docs/index.md", 1), ("SUPPORT.md", 3)):
        more = re.search(r"and (\w+) more\.", (ROOT / page).read_text(encoding="utf-8")).group(1)
        assert words.index(more) + 10 + named == questions, page


def test_there_are_enough_examples():
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_begins_with_a_title_and_says_what_it_is_about(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    title, line, *rest = text.splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert len(" ".join(rest).split()) >= 8


# ---- built


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The whole site, with every example run; built from copies, since the gallery writes beside its sources."""
    for package in PACKAGES:
        pytest.importorskip(package, reason="the site needs afcm[docs]")
    folder = tmp_path_factory.mktemp("site")
    written = shutil.ignore_patterns("gallery", "guide", "api")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=written)
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-n", "-q", "docs", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.mark.slow
def test_the_site_builds_and_every_link_leads_somewhere(site):
    command = [sys.executable, ROOT / "docs" / "check_links.py", site]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_links_that_lead_nowhere_are_noticed(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html">b</a><a href="#there">c</a><img src="//cdn/x.png">')
    command = [sys.executable, ROOT / "docs" / "check_links.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["a.html: loads //cdn/x.png", "a.html: #there", "a.html: b.html"]


# ---- in a browser

MAIN_PAGES = ("index", "get-started", "guide/how_it_works", "gallery/index", "api/afcm.AFCM", "faq")
CHROMIUM = os.environ.get("AFCM_CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="module")  # only one may run at a time
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if CHROMIUM is None:
        pytest.skip("the browser tests need chromium (or AFCM_CHROMIUM)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_page(browser, file, **options):
    """The page, and the addresses that it asked for beyond the disk."""
    page, asked = browser.new_context(reduced_motion="reduce", **options).new_page(), []
    page.on("request", lambda request: request.url.startswith(("file:", "data:")) or asked.append(request.url))
    page.goto(file.as_uri())
    return page, asked


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", MAIN_PAGES)
def test_a_main_page_is_accessible_and_asks_nothing_of_the_network(name, scheme, site, browser):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page, asked = open_page(browser, site / f"{name}.html", color_scheme=scheme)
    result = axe.Axe().run(page)
    page.context.close()
    assert result.violations_count == 0, result.generate_report()
    assert not asked


@pytest.mark.slow
def test_every_page_fits_a_phone(site, browser):
    pages = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 400, "height": 800})
    page, too_wide = context.new_page(), {}
    for path in pages:
        page.goto(path.as_uri())
        too_wide[str(path.relative_to(site))] = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    context.close()
    assert len(pages) > 100
    assert not {name: excess for name, excess in too_wide.items() if excess > 0}
