"""Linear algebra for graphs: sparse plus low rank, its leading eigenvectors, parallel products."""
