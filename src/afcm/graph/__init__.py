"""From neighbors to a normalized graph, its eigenvectors, and what is learned from it."""
