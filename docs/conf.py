"""How Sphinx builds the site: `make docs`, or `AFCM_DOCS=quick make docs` without the slow examples."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

from afcm import __version__

mpl.use("Agg")
ROOT = Path(__file__).parents[1]
QUICK = os.environ.get("AFCM_DOCS") == "quick"
# Examples that `AFCM_DOCS=quick` shows without running; all others run within seconds.
SLOW = ("comparing", "dask_arrays", "million_rows", "digits_", "known_labels", "convergence", "number_of_clusters")
SECTIONS = ("clusters", "memberships", "large", "work", "paper")

project = "afcm"
author = "The afcm developers"
copyright = "the afcm developers, BSD-3-Clause"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["**/GALLERY_HEADER.rst"]
nitpicky = True
default_role = "py:obj"
nitpick_ignore_regex = [
    ("py:obj", ".*"),  # single backticks in docstrings name parameters and internals, too; those are not pages
    ("py:class", "(optional|.* of .*)"),  # words of numpydoc
]
suppress_warnings = ["config.cache"]  # the gallery's settings hold objects that Sphinx cannot keep between builds

# ---- Markdown

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4

# ---- API

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# ---- pictures

plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]
plot_include_source = True
plot_rcparams = {"figure.constrained_layout.use": True, "font.size": 9.0}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/guide", "../examples/gallery"],
    "gallery_dirs": ["guide", "gallery"],
    "filename_pattern": rf"^(?!.*({'|'.join(SLOW)})).*\.py$" if QUICK else r"\.py$",
    "subsection_order": [f"../examples/gallery/{name}" for name in SECTIONS],
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "write_computation_times": False,
    "capture_repr": (),
    "reset_modules": ("matplotlib",),
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.rst",
}

# ---- HTML

html_theme = "pydata_sphinx_theme"
html_title = f"afcm {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": "afcm"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_center": ["navbar-nav", "questions"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "article_header_start": ["breadcrumbs"],
}
html_context = {"default_mode": "auto"}  # light or dark as the system is, until the reader chooses
html_sidebars = {"index": [], "get-started": []}


def skip_foreign_members(_app: Any, _what: str, name: str, obj: Any, skip: bool, _options: Any) -> bool:
    """Leave out what scikit-learn's base classes bring: its own pages describe that."""
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None) or "afcm"
    return skip or not module.startswith("afcm") or (name.startswith("set_") and name.endswith("_request"))


def adapt_source(_app: Any, docname: str, source: list[str]) -> None:
    """Links to folders, which a site has not, become words; tables of `make trust` get a title."""
    source[0] = re.sub(r"\n\n( *```)\n", r"\n\1\n", source[0])  # doctest wants the empty line, a reader does not
    source[0] = re.sub(r"\[([\w-]+/)\]\([\w-]+\)", r"`docs/\1`", source[0])
    folder, _, name = docname.rpartition("/")
    if folder == "trust":
        source[0] = f"# Trust: {name.replace('-', ' ')}\n\n{source[0]}"


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", adapt_source)
    app.connect("autodoc-skip-member", skip_foreign_members)
    sys.path.insert(0, str(ROOT))
