"""The anchor graph: m anchors stand for n samples, so that time and memory grow linearly with n.

`AnchorSimilarity` (weights)
    gives samples their weights on the nearest anchors: the rows of Q, n×m.
`CoarseGraph` (affinity)
    is the graph of the anchors themselves, ``Qᵀ M Q``, m×m.
`FactoredAffinity` (affinity)
    is the affinity of the samples, ``S = M^{1/2} Q Λ⁻¹ Qᵀ M^{1/2}``, multiplied with and never formed.

Anchors are found by functions of `learning`. `embedding` takes eigenvectors from the anchors to the samples.
"""
