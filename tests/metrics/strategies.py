"""Random labellings and membership matrices, small enough for brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

seeds = st.integers(0, 2**32 - 1)


def for_all(*args, **kwargs):
    """Like `given`, with few examples and no clock: the machines that run this are shared."""
    return lambda test: settings(max_examples=30, deadline=None)(given(*args, **kwargs)(test))


def labellings(n_samples, max_clusters=4):
    return st.lists(st.integers(0, max_clusters - 1), min_size=n_samples, max_size=n_samples)


@st.composite
def labelling_pairs(draw, max_samples=12):
    n_samples = draw(st.integers(1, max_samples))
    return draw(labellings(n_samples)), draw(labellings(n_samples))


def soft_partitions(n_samples, max_clusters=4):
    """Dirichlet memberships, from mostly hard (0.3) to nearly uniform (50)."""
    return st.builds(
        lambda seed, n_clusters, softness: np.random.default_rng(seed).dirichlet(
            np.full(n_clusters, softness), n_samples
        ),
        seeds,
        st.integers(1, max_clusters),
        st.sampled_from([0.3, 1.0, 5.0, 50.0]),
    )


memberships = st.integers(1, 12).flatmap(soft_partitions)


@st.composite
def soft_pairs(draw, min_samples=1, max_samples=12):
    n_samples = draw(st.integers(min_samples, max_samples))
    return draw(soft_partitions(n_samples)), draw(soft_partitions(n_samples))


@st.composite
def fits(draw, min_clusters=2):
    """Samples, memberships and centres that fit together in shape."""
    n_samples, n_features, n_clusters = (
        draw(st.integers(3, 12)),
        draw(st.integers(1, 3)),
        draw(st.integers(min_clusters, 4)),
    )
    rng = np.random.default_rng(draw(seeds))
    return (
        rng.normal(size=(n_samples, n_features)),
        rng.dirichlet(np.full(n_clusters, 0.5), n_samples),
        rng.normal(size=(n_clusters, n_features)),
    )


def one_hot(labels, n_clusters=None):
    labels = np.asarray(labels)
    return np.eye(n_clusters or labels.max() + 1)[labels]
