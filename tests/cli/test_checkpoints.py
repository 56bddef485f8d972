"""``afcm fit --checkpoint``: run again, it goes on."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
from afcm.checkpoints.files import read

PLAIN = ["fit", "iris.csv", "--clusters", 3, "--drop", "species", "--method", "PlainAFCM"]


def test_a_fit_that_was_stopped_goes_on(afcm, folder, monkeypatch):
    from afcm.cli.progress import Stages

    whole = afcm(*PLAIN, "--out", "whole.csv")
    assert whole.code == 0, whole.err
    sweeps, seen = Stages.follow_sweeps, []

    def impatient(*given):
        look = sweeps(*given)

        def stop(iteration):
            seen.append(iteration.index)
            if len(seen) == 20:
                raise KeyboardInterrupt
            look(iteration)

        return stop

    monkeypatch.setattr(Stages, "follow_sweeps", impatient)
    assert afcm(*PLAIN, "--checkpoint", "fit.ckpt", "--out", "stopped.csv").code != 0
    assert not read(folder / "fit.ckpt").finished
    assert not (folder / "stopped.csv").exists()
    again = afcm(*PLAIN, "--checkpoint", "fit.ckpt", "--out", "again.csv")
    assert again.code == 0, again.err
    assert (folder / "again.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert read(folder / "fit.ckpt").finished


def test_a_checkpoint_of_another_fit_is_an_error_in_one_line(afcm):
    assert afcm(*PLAIN, "--checkpoint", "fit.ckpt").code == 0
    other = afcm(*PLAIN, "--seed", 1, "--checkpoint", "fit.ckpt")
    assert other.code != 0
    assert "random_state is 0 there and 1 here" in " ".join(other.err.split())


def test_methods_that_write_none_say_so(afcm):
    done = afcm(
        "fit", "iris.csv", "--clusters", 3, "--drop", "species", "--method", "SpectralBaseline", "--checkpoint", "c"
    )
    assert done.code != 0
    assert "SpectralBaseline does not write checkpoints" in " ".join(done.err.split())


def test_the_summary_is_the_same_when_the_result_is_read(afcm):
    first = json.loads(afcm(*PLAIN, "--checkpoint", "fit.ckpt", "--json").out)
    again = json.loads(afcm(*PLAIN, "--checkpoint", "fit.ckpt", "--json").out)
    for found in (first, again):
        del found["seconds"], found["fit_seconds"]
    assert first == again
