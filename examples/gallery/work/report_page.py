"""
A page for those who do not program
===================================

`afcm.report` writes one HTML file about a fit: a summary in words, a picture to hover over, a
table to sort and filter, the samples in doubt, the profile of each cluster. It opens without
network, in light and dark. The command line writes the same page:
``afcm fit data.csv --report report.html``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from afcm import AFCM, plots
from afcm.report import Findings, write_report

iris = load_iris(as_frame=True)
model = AFCM(3, random_state=0).fit(iris.data)

findings = Findings.of(
    model,
    iris.data,
    classes=iris.target_names[iris.target],
    title="Iris: three species",
    id_name="flower",
)
page = write_report(findings, Path(tempfile.mkdtemp()) / "report.html")
print(f"{page.name}: {page.stat().st_size // 1024} kB")

# %%
# The page holds what these pictures hold, and more. This is how it looks:
#
# .. image:: /images/report.png
#    :alt: The report page: a summary in words, the samples in a plane beside their table
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plots.EmbeddingDisplay.from_estimator(model, ax=axes[0])
plots.ProfilesDisplay.from_estimator(model, iris.data, ax=axes[1])
