"""What holds for every display: pipelines, new figures, errors, and that nothing heavy is loaded early."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import AFCM, PlainAFCM, plots
from afcm.baselines import SpectralBaseline
from afcm.exceptions import AFCMWarning
from afcm.plots import colors

FITTED = ["EmbeddingDisplay", "ConvergenceDisplay", "MembershipDisplay", "BandsDisplay", "AmbiguityDisplay"]
FITTED += ["ProfilesDisplay"]


def test_importing_the_displays_loads_no_matplotlib():
    code = (
        "import sys, afcm.plots; assert 'sklearn' not in sys.modules\n"
        "[getattr(afcm.plots, name) for name in afcm.plots.__all__]; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'PieDisplay'"):
        plots.PieDisplay  # noqa: B018
    assert set(dir(plots)) == set(plots.__all__)


@pytest.mark.parametrize("name", FITTED)
def test_an_unfitted_model_is_refused(name, iris):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(plots, name).from_estimator(AFCM(3), iris)


def test_a_graph_without_a_fit_is_not_a_fit(iris):
    model = AFCM(3)
    model.prepare(iris)  # leaves n_features_in_ behind
    with pytest.raises(NotFittedError):
        plots.MembershipDisplay.from_estimator(model)


def test_a_model_without_memberships_is_refused(iris):
    model = KMeans(3, n_init=1).fit(iris)
    with pytest.raises(ValueError, match="estimator=KMeans has no memberships_; give a fitted clusterer"):
        plots.MembershipDisplay.from_estimator(model)


def test_a_model_that_cannot_place_new_samples_says_so(iris, ax):
    model = SpectralBaseline(3, random_state=0).fit(iris)
    assert len(plots.EmbeddingDisplay.from_estimator(model, ax=ax).positions) == 150
    with pytest.raises(ValueError, match="X was given, but SpectralBaseline has no predict_proba"):
        plots.EmbeddingDisplay.from_estimator(model, iris)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, soft):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot in (plots.MembershipDisplay(soft).plot, plots.ConvergenceDisplay({"objective": [1.0]}).plot):
        with pytest.raises(ImportError, match=r"plotting needs matplotlib: pip install 'afcm\[plot\]'"):
            plot()


def test_plot_returns_the_axes_and_remembers_them(soft, ax):
    display = plots.BandsDisplay(soft)
    assert display.plot(ax) is ax is display.ax_
    assert display.figure_ is ax.figure
    assert display.plot() is display.ax_ is not ax


def test_new_figures_belong_to_pyplot(plain_model):
    import matplotlib.pyplot as plt

    display = plots.MembershipDisplay.from_estimator(plain_model)
    assert plt.gcf() is display.figure_


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("kind", [AFCM, PlainAFCM])
def test_a_pipeline_is_drawn_as_its_last_step_on_prepared_samples(name, kind, iris):
    frame = pd.DataFrame(iris, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), kind(3, random_state=0)).fit(frame)
    scaled = StandardScaler().fit_transform(frame)
    whole = getattr(plots, name).from_estimator(pipeline, frame)
    last = getattr(plots, name).from_estimator(pipeline[-1], iris if name == "ProfilesDisplay" else scaled)
    for key in ("positions", "memberships", "deviations"):
        if hasattr(whole, key):
            np.testing.assert_allclose(getattr(whole, key), getattr(last, key))


def test_a_pipeline_of_one_step(iris, ax):
    pipeline = make_pipeline(PlainAFCM(3, random_state=0)).fit(iris)
    assert len(plots.BandsDisplay.from_estimator(pipeline, iris, ax=ax).memberships) == 150


@pytest.mark.parametrize("n_clusters", [1, 2, 20])
@pytest.mark.parametrize("kind", [AFCM, PlainAFCM])
@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
def test_few_and_many_clusters_in_float32(n_clusters, kind, iris):
    X = iris.astype(np.float32)
    model = kind(n_clusters, random_state=0, max_iter=5).fit(X)
    for name in FITTED:
        display = getattr(plots, name).from_estimator(model, X)
        display.figure_.canvas.draw()


def test_two_samples():
    X = np.array([[0.0], [1.0]])
    with pytest.warns(AFCMWarning):
        model = PlainAFCM(2, random_state=0).fit(X)
    for name in FITTED:
        getattr(plots, name).from_estimator(model, X).figure_.canvas.draw()


def test_the_title_says_what_the_memberships_are(iris, ax):
    blobs = make_blobs(60, centers=[[0, 0], [0, 9]], random_state=0)[0]
    for model, X, note in (
        (AFCM(3), iris, "probabilities by a mixture inside the clusters"),
        (AFCM(2), np.c_[blobs, np.arange(60) % 2], "probabilities by the agreement of several graphs, all 0 or 1"),
        (AFCM(2, memberships="paper"), blobs, "the paper's own, all 0 or 1"),
    ):
        model.set_params(random_state=0).fit(X)
        for display in (plots.BandsDisplay, plots.EmbeddingDisplay, plots.AmbiguityDisplay):
            drawn = display.from_estimator(model, ax=ax)
            np.testing.assert_array_equal(drawn.memberships, model.memberships_)
            assert drawn.note == f"memberships: {note}"
            assert ax.get_title().endswith(note)
            some = display.from_estimator(model, X[:9], ax=ax)
            np.testing.assert_array_equal(some.memberships, model.predict_proba(X[:9]))


def test_memberships_of_one_kind_need_no_note(plain_model, ax):
    display = plots.MembershipDisplay.from_estimator(plain_model, ax=ax)
    np.testing.assert_array_equal(display.memberships, plain_model.memberships_)
    assert display.note == ""


def test_colour_and_marker_together_tell_sixty_clusters_apart():
    codes = colors.cluster_colors(63)
    assert len({(codes[j], colors.marker(j)) for j in range(63)}) == 63
    assert len({(codes[j], colors.hatch(j)) for j in range(63)}) == 63


def test_mixed_colours():
    codes = colors.cluster_colors(3)
    sure = colors.mix_colors(np.eye(3), codes)
    np.testing.assert_allclose(sure, colors.to_rgb(codes))
    np.testing.assert_allclose(colors.mix_colors([[0.5, 0.5, 0]], codes)[0] ** 2, (sure[0] ** 2 + sure[1] ** 2) / 2)
    np.testing.assert_allclose(colors.to_rgb(["#ff0080"]), [[1, 0, 128 / 255]])


def test_opacity():
    np.testing.assert_allclose(colors.opacity([[1, 0], [0.5, 0.5], [0.75, 0.25]]), [1, 0.15, 0.575])
    assert colors.opacity([[1.0]]) == 1
