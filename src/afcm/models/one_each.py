"""One density for each cluster: Gaussians with something in common, or with heavier tails, where BIC asks for it.

Clusters that a graph cut from each other have covariances of a displaced cut, and EM from there is slow and stops at
chance. With one covariance or one sphere for all clusters, few numbers are left to learn, and EM finds them from afar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from afcm._typing import Floats
from afcm._util.threads import map_in_threads, threads_if
from afcm.equations import local_mixture as equations
from afcm.equations.cluster_forms import COVARIANCES, Form
from afcm.models.cluster_gaussians import WORTH_THREADS
from afcm.models.cluster_mixture import Fit, Sample, Start

# Steps of EM: labels that cut across clusters need many.
STEPS = 100
# Degrees of freedom of the t-distributions: the first is tried with all covariances, the others with the best of them.
DEGREES = (6.0, 3.0, 12.0)
# The mean probability of another cluster from which on Gaussians have moved away from the labels.
MOVED = 0.02


class Candidate(NamedTuple):
    """A fit, and the form and the start that it has."""

    fit: Fit
    form: Form
    start: Start


def choose_form(sample: Sample, unit: Floats) -> Fit:
    """The best of all forms by BIC, each started from the labels; ``unit`` is what spheres are made of."""
    start = sample.start_one_each()
    gaussian = choose(fit_gaussians(sample, start, unit))
    best = choose([gaussian, *fit_heavy_tails(sample, start, gaussian, unit)])
    return choose([best, fit_form(sample, best.start, best.form._replace(balanced=True))]).fit


def choose(candidates: Sequence[Candidate]) -> Candidate:
    return min(candidates, key=lambda candidate: candidate.fit.criterion)


def fit_gaussians(sample: Sample, start: Start, unit: Floats) -> list[Candidate]:
    """Gaussians of all forms. Those with something in common start also from the answer of those without.

    Where that answer keeps the labels, both starts are the same.
    """
    free = fit_form(sample, start, Form())
    starts = [start]
    if sample.doubt(free.fit) >= MOVED:
        statistics, _ = equations.expected_statistics(
            sample.features, sample.box_densities, sample.masses, free.fit.parameters
        )
        starts.append(start._replace(statistics=statistics))
    forms = [Form(name, unit=unit) for name in COVARIANCES if name != "own"]
    return [free, *fit_all(sample, [(begin, form) for form in forms for begin in starts])]


def fit_heavy_tails(sample: Sample, start: Start, gaussian: Candidate, unit: Floats) -> list[Candidate]:
    """t-distributions of all forms, if that form that suits Gaussians best is better off with heavier tails."""
    form = Form(gaussian.form.covariances, DEGREES[0], unit)
    same = fit_form(sample, start, form)
    if same.fit.criterion >= gaussian.fit.criterion:
        return []
    others = [form._replace(covariances=name) for name in COVARIANCES if name != form.covariances]
    best = choose([same, *fit_all(sample, [(start, other) for other in others])])
    return [best, *fit_all(sample, [(start, best.form._replace(degrees=more)) for more in DEGREES[1:]])]


def fit_all(sample: Sample, problems: Sequence[tuple[Start, Form]]) -> list[Candidate]:
    with threads_if(sample.features.size >= WORTH_THREADS):
        return map_in_threads(lambda problem: fit_form(sample, *problem), problems)


def fit_form(sample: Sample, start: Start, form: Form) -> Candidate:
    return Candidate(sample.alternate(start, steps=STEPS, form=form), form, start)
