"""Every list of clusterers is the catalogue."""

from __future__ import annotations

import pytest

import afcm
import afcm.baselines
from afcm.catalogue import BY_NAME, CATALOGUE
from afcm.modelfiles.registry import NAMES


def test_the_catalogue_lists_every_public_clusterer():
    public = [*afcm.__all__, *afcm.baselines.__all__]
    assert {name for name in public if hasattr(getattr(afcm, name, getattr(afcm.baselines, name, None)), "fit")} == set(
        BY_NAME
    )


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_an_entry_is_the_public_class_and_can_be_saved(entry):
    assert entry.cls is getattr(afcm.baselines if entry.is_baseline else afcm, entry.name)
    assert NAMES[entry.cls] == entry.name
    assert "n_clusters" in entry.parameters


def test_facts_are_those_of_the_classes():
    assert BY_NAME["AFCM"].takes_weights
    assert not BY_NAME["CDKM"].takes_weights
    assert BY_NAME["CDKM"].predicts
    assert not BY_NAME["SpectralBaseline"].predicts
